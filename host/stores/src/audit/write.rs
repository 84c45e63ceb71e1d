//! Writes entries, erases principals and deletes old entries. Every function runs in a transaction of the caller.

use std::collections::HashMap;

use gatehouse_core::{
    Principal,
    hash::hmac_sha256,
    ports::{
        audit::{AuditEntry, AuditKind},
        quota::{StoredUsage, WindowUsage},
    },
};

use super::{
    chain::{AuditRow, RowDigest, pseudonym, seal},
    read::digest_of,
};
use crate::{
    random::random_bytes,
    sql::{Result, Session, SqlRow, SqlValue, StoreError, value::storable, values},
};

/// Maximum number of entries that one transaction deletes.
const MAX_DELETED: i64 = 10_000;

/// An entry with the time when it was passed.
#[derive(Clone)]
pub(super) struct TimedEntry {
    pub(super) at: i64,
    pub(super) entry: AuditEntry,
}

/// Key and pseudonym of a principal.
pub(super) struct PrincipalKey {
    pub(super) key: Vec<u8>,
    pub(super) pseudonym: Vec<u8>,
}

pub(super) async fn find_key(db: Session<'_>, name: &str) -> Result<Option<PrincipalKey>> {
    let sql = "SELECT key, pseudonym FROM audit_principal WHERE name = ?1";
    db.first(sql, values![name], |row| Ok(PrincipalKey { key: row.get(0)?, pseudonym: row.get(1)? })).await
}

/// Returns the key of a principal, created if missing. It is read in each transaction, because another process may
/// have erased it.
pub(super) async fn key_of(db: Session<'_>, name: &str, now: i64) -> Result<PrincipalKey> {
    if let Some(known) = find_key(db, name).await? {
        return Ok(known);
    }
    let key = random_bytes::<32>()?.to_vec();
    // Of the name as stored, which verification compares.
    let pseudonym = pseudonym(&key, &storable(name)).to_vec();
    let insert = "INSERT INTO audit_principal (name, key, pseudonym, first) VALUES (?1, ?2, ?3, ?4)";
    db.run(insert, values![name, key, pseudonym, now]).await?;
    Ok(PrincipalKey { key, pseudonym })
}

/// Appends entries to the chain.
pub(super) async fn append(db: Session<'_>, entries: &[TimedEntry]) -> Result<()> {
    let secret: Vec<u8> = db.value("SELECT key FROM audit_secret", &[]).await?;
    let (mut seq, mut last) = head(db, "audit_head").await?;
    let mut keys: HashMap<&str, PrincipalKey> = HashMap::new();
    let mut rows = Vec::with_capacity(entries.len());
    for TimedEntry { at, entry } in entries {
        let name = entry.principal.as_str();
        if !keys.contains_key(name) {
            keys.insert(name, key_of(db, name, *at).await?);
        }
        seq += 1;
        let row = row((seq, *at), entry, &keys[name], &secret)?;
        last = row.digest(&last);
        rows.push((row, last));
    }
    let values: Vec<_> = rows.iter().map(|(row, digest)| columns(row, digest)).collect();
    let insert = "INSERT INTO audit_entry
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    db.run_each(insert, &values).await?;
    if !entries.is_empty() {
        db.run("UPDATE audit_head SET seq = ?1, digest = ?2", values![seq, last[..]]).await?;
    }
    Ok(())
}

/// Returns number and digest of the entry in `audit_head` or `audit_anchor`.
pub(super) async fn head(db: Session<'_>, table: &str) -> Result<(i64, RowDigest)> {
    let sql = format!("SELECT seq, digest FROM {table}");
    let head = db.first(&sql, &[], |row| Ok((row.get(0)?, digest_of(&row.get::<Vec<u8>>(1)?)?))).await?;
    head.ok_or_else(|| StoreError::invalid("the end of the audit is missing"))
}

fn row(
    (seq, at): (i64, i64),
    entry: &AuditEntry,
    PrincipalKey { key, pseudonym }: &PrincipalKey,
    secret: &[u8],
) -> Result<AuditRow> {
    let address = entry.address.map(|address| address.to_string());
    let person = [&*entry.credential, &entry.client, address.as_deref().unwrap_or_default()];
    let sealed = seal(key, seq, &serde_json::to_vec(&person).map_err(StoreError::invalid)?)?;
    let bounded = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    // A digest covers what is stored.
    let stored = |text: &str| storable(text).into_owned();
    Ok(AuditRow {
        seq,
        at,
        kind: entry.kind.as_str().to_owned(),
        principal: pseudonym.clone(),
        sealed,
        preset: entry.preset.as_deref().map(stored),
        tool: entry.tool.as_deref().map(stored),
        rule: entry.rule.as_deref().map(stored),
        approval: entry.approval.map(str::to_owned),
        outcome: entry.outcome.to_owned(),
        took_us: bounded(entry.took_us),
        tokens_in: bounded(entry.tokens_in),
        tokens_out: bounded(entry.tokens_out),
        arguments: entry.arguments.map(|digest| hmac_sha256(secret, &digest).to_vec()),
        details: entry.details.as_deref().map(stored),
    })
}

fn columns<'a>(row: &'a AuditRow, digest: &'a RowDigest) -> Vec<SqlValue<'a>> {
    values![
        row.seq,
        row.at,
        row.kind,
        row.principal,
        row.sealed,
        row.preset,
        row.tool,
        row.rule,
        row.approval,
        row.outcome,
        row.took_us,
        row.tokens_in,
        row.tokens_out,
        row.arguments,
        row.details,
        digest[..],
    ]
    .to_vec()
}

/// Returns the time of the first entry.
pub(super) async fn oldest(db: Session<'_>) -> Result<Option<i64>> {
    db.find("SELECT at FROM audit_entry ORDER BY seq LIMIT 1", &[]).await
}

/// Returns the details of the entry about a retention that ended with the entry `end`.
pub(super) fn retention_details(end: i64) -> String {
    format!("deleted the entries up to {end}")
}

/// Deletes some entries from before `before`, and records that. Returns true if there may be more.
pub(super) async fn delete_old(db: Session<'_>, before: i64, now: i64) -> Result<bool> {
    let (anchor, _) = head(db, "audit_anchor").await?;
    let (last, _) = head(db, "audit_head").await?;
    // Entries are in the order of their numbers; a clock that was set back must not leave a gap.
    let first_kept = "SELECT seq FROM audit_entry WHERE at >= ?1 ORDER BY seq LIMIT 1";
    let first_kept: Option<i64> = db.find(first_kept, values![before]).await?;
    let end = first_kept.map_or(last, |seq| seq - 1).min(anchor + MAX_DELETED);
    if end <= anchor {
        return Ok(false);
    }
    let digest: Vec<u8> = db.value("SELECT digest FROM audit_entry WHERE seq = ?1", values![end]).await?;
    db.run("UPDATE audit_anchor SET seq = ?1, digest = ?2", values![end, digest]).await?;
    db.run("DELETE FROM audit_entry WHERE seq <= ?1", values![end]).await?;
    let details = retention_details(end);
    let entry = AuditEntry::event(AuditKind::Retention, &Principal::Local, "ok", &details);
    append(db, &[TimedEntry { at: now, entry }]).await?;
    Ok(end == anchor + MAX_DELETED)
}

/// Deletes the key and the use of quotas of a principal, and records that. Returns false if it had no key.
pub(super) async fn erase(db: Session<'_>, name: &str, now: i64, details: &str) -> Result<bool> {
    let existed = db.run("DELETE FROM audit_principal WHERE name = ?1", values![name]).await? > 0;
    db.run("DELETE FROM quota_usage WHERE principal = ?1", values![name]).await?;
    let entry = AuditEntry::event(AuditKind::Erasure, &Principal::Local, "ok", details);
    append(db, &[TimedEntry { at: now, entry }]).await?;
    Ok(existed)
}

/// Keeps the larger count of a window, because other hosts store theirs, too.
const SAVE_USAGE: &str =
    "INSERT INTO quota_usage (principal, quota, calls_start, calls, tokens_start, tokens)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (principal, quota) DO UPDATE SET
        calls = CASE WHEN excluded.calls_start = quota_usage.calls_start THEN @max(quota_usage.calls, excluded.calls)
            WHEN excluded.calls_start > quota_usage.calls_start THEN excluded.calls ELSE quota_usage.calls END,
        tokens = CASE WHEN excluded.tokens_start = quota_usage.tokens_start THEN @max(quota_usage.tokens, excluded.tokens)
            WHEN excluded.tokens_start > quota_usage.tokens_start THEN excluded.tokens ELSE quota_usage.tokens END,
        calls_start = @max(quota_usage.calls_start, excluded.calls_start),
        tokens_start = @max(quota_usage.tokens_start, excluded.tokens_start)";

pub(super) async fn save_usage(db: Session<'_>, usage: &[StoredUsage], since: i64) -> Result<()> {
    let number = |number: u64| SqlValue::Integer(i64::try_from(number).unwrap_or(i64::MAX));
    let rows = usage.iter().map(|StoredUsage { principal, quota, calls, tokens }| {
        let mut row = vec![SqlValue::Text(principal.as_str()), SqlValue::Text(quota)];
        row.extend([calls.start, calls.used, tokens.start, tokens.used].map(number));
        row
    });
    db.run_each(SAVE_USAGE, &rows.collect::<Vec<_>>()).await?;
    let old = "DELETE FROM quota_usage WHERE calls_start < ?1 AND tokens_start < ?1";
    db.run(old, values![since]).await.map(drop)
}

pub(super) async fn load_usage(db: Session<'_>, since: i64) -> Result<Vec<StoredUsage>> {
    let sql = "SELECT principal, quota, calls_start, calls, tokens_start, tokens FROM quota_usage
         WHERE calls_start >= ?1 OR tokens_start >= ?1";
    let usage = |row: &SqlRow<'_>| {
        let (name, quota): (String, String) = (row.get(0)?, row.get(1)?);
        let number = |column: usize| row.get::<i64>(column).map(i64::unsigned_abs);
        Ok(StoredUsage {
            principal: if name == "local" { Principal::Local } else { Principal::Named(name.into()) },
            quota: quota.into(),
            calls: WindowUsage { start: number(2)?, used: number(3)? },
            tokens: WindowUsage { start: number(4)?, used: number(5)? },
        })
    };
    db.rows(sql, values![since], usage).await
}
