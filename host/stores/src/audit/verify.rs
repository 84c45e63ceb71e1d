//! Verifies the chain.

use gatehouse_core::{hash::hex, names::quoted};
use serde::Serialize;

use super::{
    chain::pseudonym,
    read::{COLUMNS, MAX_READ, digest_of, from_row},
    write::{head, retention_details},
};
use crate::sql::{Result, Session, SqlRow, value::storable, values};

/// The state of the chain.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ChainReport {
    /// Number of entries that were checked.
    pub entries: u64,
    /// Number of the last intact entry.
    pub last: i64,
    /// Digest of that entry in hexadecimal. Kept elsewhere, it proves that the end was not replaced.
    pub digest: String,
    /// The first broken entry, and what is wrong with it. `None` if the chain is intact.
    pub broken: Option<BrokenEntry>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BrokenEntry {
    pub seq: i64,
    pub reason: String,
}

/// Walks the chain from its anchor to its head.
pub(super) async fn verify(db: Session<'_>) -> Result<ChainReport> {
    let (anchor, mut previous) = head(db, "audit_anchor").await?;
    let (head_seq, head_digest) = head(db, "audit_head").await?;
    let (mut last, mut entries, mut broken) = (anchor, 0, None);
    let sql = format!("SELECT {COLUMNS} FROM audit_entry WHERE seq > ?1 ORDER BY seq LIMIT ?2");
    // Entries before the anchor are damage, too.
    let mut after = i64::MIN;
    while broken.is_none() {
        // A value of another type than its column has is damage too.
        let row = |row: &SqlRow<'_>| Ok((row.get(0)?, from_row(row)));
        let rows: Vec<(i64, Result<_>)> = db.rows(&sql, values![after, MAX_READ], row).await?;
        let Some((end, _)) = rows.last() else { break };
        after = *end;
        for (seq, row) in rows {
            let damage = match row {
                _ if seq != last + 1 => Some((last + 1, "the entry is missing".to_owned())),
                Ok((entry, digest)) if digest == entry.digest(&previous) => {
                    previous = digest_of(&digest)?;
                    None
                }
                Ok(_) => Some((seq, "the entry does not match its digest".to_owned())),
                Err(error) => Some((seq, format!("the entry cannot be read: {error}"))),
            };
            if let Some((seq, reason)) = damage {
                broken = Some(BrokenEntry { seq, reason });
                break;
            }
            (last, entries) = (seq, entries + 1);
        }
    }
    if broken.is_none() && (last, previous) != (head_seq, head_digest) {
        let reason =
            if last < head_seq { "the entry is missing" } else { "the entry is not the recorded end" };
        broken = Some(BrokenEntry { seq: (last + 1).min(head_seq.max(1)), reason: reason.to_owned() });
    }
    if broken.is_none() {
        broken = uncovered_gap(db, anchor).await?;
    }
    if broken.is_none() {
        broken = exchanged_name(db).await?;
    }
    Ok(ChainReport { entries, last, digest: hex(previous), broken })
}

/// Finds a chain that begins later than its last retention entry says.
async fn uncovered_gap(db: Session<'_>, anchor: i64) -> Result<Option<BrokenEntry>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM audit_entry WHERE kind = 'retention' AND details = ?1)";
    let is_covered = anchor == 0 || db.value::<bool>(sql, values![retention_details(anchor)]).await?;
    let reason = "the entries up to this one are gone, and no retention entry says so".to_owned();
    Ok((!is_covered).then_some(BrokenEntry { seq: anchor, reason }))
}

/// Finds a principal whose name is not the one that its pseudonym was made of.
async fn exchanged_name(db: Session<'_>) -> Result<Option<BrokenEntry>> {
    let sql = "SELECT name, key, pseudonym,
            coalesce((SELECT min(seq) FROM audit_entry e WHERE e.principal = p.pseudonym), 0)
         FROM audit_principal p ORDER BY name";
    let principal = |row: &SqlRow<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?));
    let rows: Vec<(String, Vec<u8>, Vec<u8>, i64)> = db.rows(sql, &[], principal).await?;
    let exchanged =
        rows.into_iter().find(|(name, key, stored, _)| *stored != pseudonym(key, &storable(name)));
    Ok(exchanged.map(|(name, .., seq)| {
        let reason =
            format!("its principal is not '{}', the name that the audit has for it", quoted(&name, 64));
        BrokenEntry { seq, reason }
    }))
}
