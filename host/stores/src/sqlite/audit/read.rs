//! Searches entries, and verifies the chain.

use std::collections::HashMap;

use gatehouse_core::names::quoted;
use rusqlite::{Connection, Row, params};
use serde::Serialize;

use super::{
    chain::{AuditRow, RowDigest, pseudonym, unseal},
    write::{find_key, head, retention_details},
};
use crate::sqlite::{
    error::{Result, StoreError},
    statements::CachedStatements as _,
};

const COLUMNS: &str =
    "seq, at, kind, principal, sealed, preset, tool, rule, approval, outcome, took_us, tokens_in,
    tokens_out, arguments, details, digest";

/// Selection of entries.
#[derive(Debug, Clone, Default)]
pub struct AuditFilter {
    /// Name of a principal, or at least eight digits of a pseudonym.
    pub principal: Option<String>,
    /// Glob over exposed names.
    pub tool: Option<String>,
    /// Earliest time in milliseconds since 1970.
    pub since: i64,
    pub outcome: Option<String>,
    /// Maximum number of entries; the newest ones count.
    pub limit: usize,
}

/// An entry as operators see it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct AuditRecord {
    pub seq: i64,
    /// Milliseconds since 1970.
    pub at: i64,
    pub kind: String,
    /// Name of the principal. `None` if it was erased.
    pub principal: Option<String>,
    /// Pseudonym in hexadecimal, which stays after an erasure.
    pub pseudonym: String,
    pub credential: String,
    pub client: String,
    pub address: String,
    pub preset: Option<String>,
    pub tool: Option<String>,
    pub rule: Option<String>,
    pub approval: Option<String>,
    pub outcome: String,
    pub took_us: i64,
    pub tokens_in: i64,
    pub tokens_out: i64,
    pub details: Option<String>,
}

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

/// A principal that the audit knows.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct KnownPrincipal {
    pub name: String,
    /// Pseudonym in hexadecimal.
    pub pseudonym: String,
    /// Time of its first entry, in milliseconds since 1970.
    pub first: i64,
    pub last: Option<i64>,
    pub entries: u64,
}

/// Calls of a principal that a quota refused.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuotaRefusals {
    pub principal: String,
    pub quota: String,
    pub calls: u64,
}

pub(super) fn digest_of(bytes: &[u8]) -> Result<RowDigest> {
    bytes
        .try_into()
        .map_err(|_| StoreError::InvalidValue("a digest of the audit has the wrong length".into()))
}

fn from_row(row: &Row<'_>) -> rusqlite::Result<(AuditRow, Vec<u8>)> {
    let entry = AuditRow {
        seq: row.get(0)?,
        at: row.get(1)?,
        kind: row.get(2)?,
        principal: row.get(3)?,
        sealed: row.get(4)?,
        preset: row.get(5)?,
        tool: row.get(6)?,
        rule: row.get(7)?,
        approval: row.get(8)?,
        outcome: row.get(9)?,
        took_us: row.get(10)?,
        tokens_in: row.get(11)?,
        tokens_out: row.get(12)?,
        arguments: row.get(13)?,
        details: row.get(14)?,
    };
    Ok((entry, row.get(15)?))
}

/// Walks the chain from its anchor to its head.
pub(super) fn verify(db: &Connection) -> Result<ChainReport> {
    let (anchor, mut previous) = head(db, "anchor")?;
    let (head_seq, head_digest) = head(db, "head")?;
    let (mut last, mut entries) = (anchor, 0);
    let mut statement = db.prepare(&format!("SELECT {COLUMNS} FROM entry ORDER BY seq"))?;
    let mut rows = statement.query([])?;
    let mut broken = None;
    while let Some(row) = rows.next()? {
        let seq: i64 = row.get(0)?;
        let damage = if seq != last + 1 {
            Some((last + 1, "the entry is missing".to_owned()))
        } else {
            // A value of another type than its column has is damage too.
            match from_row(row) {
                Ok((entry, digest)) if digest == entry.digest(&previous) => {
                    previous = digest_of(&digest)?;
                    None
                }
                Ok(_) => Some((seq, "the entry does not match its digest".to_owned())),
                Err(error) => Some((seq, format!("the entry cannot be read: {error}"))),
            }
        };
        if let Some((seq, reason)) = damage {
            broken = Some(BrokenEntry { seq, reason });
            break;
        }
        (last, entries) = (seq, entries + 1);
    }
    if broken.is_none() && (last, previous) != (head_seq, head_digest) {
        let reason =
            if last < head_seq { "the entry is missing" } else { "the entry is not the recorded end" };
        broken = Some(BrokenEntry { seq: (last + 1).min(head_seq.max(1)), reason: reason.to_owned() });
    }
    if broken.is_none() {
        broken = uncovered_gap(db, anchor)?.or(exchanged_name(db)?);
    }
    Ok(ChainReport { entries, last, digest: gatehouse_core::hash::hex(previous), broken })
}

/// Finds a chain that begins later than its last retention entry says.
fn uncovered_gap(db: &Connection, anchor: i64) -> Result<Option<BrokenEntry>> {
    let sql = "SELECT EXISTS (SELECT 1 FROM entry WHERE kind = 'retention' AND details = ?1)";
    let is_covered = anchor == 0 || db.value::<bool>(sql, [retention_details(anchor)])?;
    let reason = "the entries up to this one are gone, and no retention entry says so".to_owned();
    Ok((!is_covered).then_some(BrokenEntry { seq: anchor, reason }))
}

/// Finds a principal whose name is not the one that its pseudonym was made of.
fn exchanged_name(db: &Connection) -> Result<Option<BrokenEntry>> {
    let sql = "SELECT name, key, pseudonym,
            coalesce((SELECT min(seq) FROM entry e WHERE e.principal = p.pseudonym), 0) FROM principal p";
    let rows: Vec<(String, Vec<u8>, Vec<u8>, i64)> =
        db.all(sql, [], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?)))?;
    let exchanged = rows.into_iter().find(|(name, key, stored, _)| *stored != pseudonym(key, name));
    Ok(exchanged.map(|(name, .., seq)| {
        let reason =
            format!("its principal is not '{}', the name that the audit has for it", quoted(&name, 64));
        BrokenEntry { seq, reason }
    }))
}

/// Returns the last matching entries, oldest first.
pub(super) fn search(db: &Connection, filter: &AuditFilter) -> Result<Vec<AuditRecord>> {
    let pseudonym = match &filter.principal {
        None => None,
        Some(name) => Some(match find_key(db, name)? {
            Some(known) => known.pseudonym,
            None => return by_pseudonym(db, filter, name),
        }),
    };
    matching(db, filter, pseudonym.as_deref())
}

/// Searches the entries of a pseudonym, given by its first hexadecimal digits.
fn by_pseudonym(db: &Connection, filter: &AuditFilter, digits: &str) -> Result<Vec<AuditRecord>> {
    if digits.len() < 8 {
        return Ok(Vec::new());
    }
    let sql =
        "SELECT principal FROM entry WHERE substr(lower(hex(principal)), 1, length(?1)) = lower(?1) LIMIT 1";
    match db.find::<Vec<u8>>(sql, [digits])? {
        Some(pseudonym) => matching(db, filter, Some(&pseudonym)),
        None => Ok(Vec::new()),
    }
}

fn matching(db: &Connection, filter: &AuditFilter, principal: Option<&[u8]>) -> Result<Vec<AuditRecord>> {
    let sql = format!(
        "SELECT {COLUMNS} FROM entry
         WHERE (?1 IS NULL OR principal = ?1) AND (?2 IS NULL OR tool GLOB ?2) AND at >= ?3
            AND (?4 IS NULL OR outcome = ?4) ORDER BY seq DESC LIMIT ?5"
    );
    let values = params![principal, filter.tool, filter.since, filter.outcome, filter.limit as i64];
    let mut rows: Vec<(AuditRow, Vec<u8>)> = db.all(&sql, values, from_row)?;
    rows.reverse();
    let mut principals: HashMap<Vec<u8>, Option<(String, Vec<u8>)>> = HashMap::new();
    rows.into_iter()
        .map(|(row, _)| {
            if !principals.contains_key(&row.principal) {
                let sql = "SELECT name, key FROM principal WHERE pseudonym = ?1";
                let name_and_key = db.first(sql, [&row.principal], |row| Ok((row.get(0)?, row.get(1)?)))?;
                principals.insert(row.principal.clone(), name_and_key);
            }
            Ok(record(&row, principals[&row.principal].as_ref()))
        })
        .collect()
}

fn record(row: &AuditRow, known: Option<&(String, Vec<u8>)>) -> AuditRecord {
    let person = known
        .and_then(|(_, key)| serde_json::from_slice::<[String; 3]>(&unseal(key, row.seq, &row.sealed)?).ok());
    let [credential, client, address] = person.unwrap_or_default();
    let AuditRow { kind, preset, tool, rule, approval, outcome, details, .. } = row.clone();
    AuditRecord {
        seq: row.seq,
        at: row.at,
        kind,
        principal: known.map(|(name, _)| name.clone()),
        pseudonym: gatehouse_core::hash::hex(&row.principal),
        credential,
        client,
        address,
        preset,
        tool,
        rule,
        approval,
        outcome,
        took_us: row.took_us,
        tokens_in: row.tokens_in,
        tokens_out: row.tokens_out,
        details,
    }
}

/// Returns the calls that quotas refused since a time in milliseconds since 1970.
pub(super) fn quota_refusals(db: &Connection, since: i64) -> Result<Vec<QuotaRefusals>> {
    // The rule of such an entry begins with `quota 'NAME'`. Names have no quotes. Details begin with `(N refusals` if
    // entries before it were left out.
    let sql = "SELECT p.name, substr(e.rule, 8, instr(substr(e.rule, 8), '''') - 1),
            sum(1 + CASE WHEN e.details GLOB '([0-9]*' THEN CAST(substr(e.details, 2) AS INTEGER) ELSE 0 END)
         FROM entry e JOIN principal p ON p.pseudonym = e.principal
         WHERE e.at >= ?1 AND e.outcome = 'exhausted' AND e.rule GLOB 'quota ''*' GROUP BY 1, 2";
    db.all(sql, [since], |row| {
        Ok(QuotaRefusals {
            principal: row.get(0)?,
            quota: row.get(1)?,
            calls: row.get::<_, i64>(2)?.unsigned_abs(),
        })
    })
}

pub(super) fn principals(db: &Connection) -> Result<Vec<KnownPrincipal>> {
    let sql = "SELECT name, lower(hex(pseudonym)), first,
            (SELECT max(at) FROM entry e WHERE e.principal = p.pseudonym),
            (SELECT count(*) FROM entry e WHERE e.principal = p.pseudonym)
         FROM principal p ORDER BY name";
    db.all(sql, [], |row| {
        Ok(KnownPrincipal {
            name: row.get(0)?,
            pseudonym: row.get(1)?,
            first: row.get(2)?,
            last: row.get(3)?,
            entries: row.get::<_, i64>(4)?.unsigned_abs(),
        })
    })
}
