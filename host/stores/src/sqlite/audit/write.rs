//! Writes entries, erases principals and deletes old entries. Every function runs in a transaction of the caller.

use gatehouse_core::{
    Principal,
    hash::hmac_sha256,
    ports::{
        audit::{AuditEntry, AuditKind},
        quota::{StoredUsage, WindowUsage},
    },
};
use rusqlite::{Connection, params};

use super::{
    chain::{AuditRow, RowDigest, pseudonym, seal},
    read::digest_of,
};
use crate::sqlite::{
    error::{Result, StoreError},
    statements::CachedStatements as _,
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

pub(super) fn find_key(db: &Connection, name: &str) -> Result<Option<PrincipalKey>> {
    let sql = "SELECT key, pseudonym FROM principal WHERE name = ?1";
    db.first(sql, [name], |row| Ok(PrincipalKey { key: row.get(0)?, pseudonym: row.get(1)? }))
}

/// Returns the key of a principal, created if missing. It is read in each transaction, because another process may
/// have erased it.
pub(super) fn key_of(db: &Connection, name: &str, now: i64) -> Result<PrincipalKey> {
    if let Some(known) = find_key(db, name)? {
        return Ok(known);
    }
    let key: Vec<u8> = db.value("SELECT randomblob(32)", [])?;
    let pseudonym = pseudonym(&key, name).to_vec();
    db.run("INSERT INTO principal VALUES (?1, ?2, ?3, ?4)", params![name, key, pseudonym, now])?;
    Ok(PrincipalKey { key, pseudonym })
}

/// Appends entries to the chain.
pub(super) fn append(db: &Connection, entries: &[TimedEntry]) -> Result<()> {
    let secret: Vec<u8> = db.value("SELECT key FROM secret", [])?;
    let (mut seq, mut last): (i64, RowDigest) = head(db, "head")?;
    for TimedEntry { at, entry } in entries {
        seq += 1;
        let row = row(db, (seq, *at), entry, &secret)?;
        last = row.digest(&last);
        insert(db, &row, &last)?;
    }
    if !entries.is_empty() {
        db.run("UPDATE head SET seq = ?1, digest = ?2", params![seq, last])?;
    }
    Ok(())
}

/// Returns number and digest of the entry in `head` or `anchor`.
pub(super) fn head(db: &Connection, table: &str) -> Result<(i64, RowDigest)> {
    let sql = format!("SELECT seq, digest FROM {table}");
    let (seq, digest): (i64, Vec<u8>) =
        db.first(&sql, [], |row| row.try_into())?.ok_or(rusqlite::Error::QueryReturnedNoRows)?;
    Ok((seq, digest_of(&digest)?))
}

fn row(db: &Connection, (seq, at): (i64, i64), entry: &AuditEntry, secret: &[u8]) -> Result<AuditRow> {
    let PrincipalKey { key, pseudonym } = key_of(db, entry.principal.as_str(), at)?;
    let address = entry.address.map(|address| address.to_string());
    let person = [&*entry.credential, &entry.client, address.as_deref().unwrap_or_default()];
    let sealed = seal(&key, seq, &serde_json::to_vec(&person).map_err(StoreError::invalid)?)?;
    let bounded = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
    Ok(AuditRow {
        seq,
        at,
        kind: entry.kind.as_str().to_owned(),
        principal: pseudonym,
        sealed,
        preset: entry.preset.as_deref().map(str::to_owned),
        tool: entry.tool.clone(),
        rule: entry.rule.as_deref().map(str::to_owned),
        approval: entry.approval.map(str::to_owned),
        outcome: entry.outcome.to_owned(),
        took_us: bounded(entry.took_us),
        tokens_in: bounded(entry.tokens_in),
        tokens_out: bounded(entry.tokens_out),
        arguments: entry.arguments.map(|digest| hmac_sha256(secret, &digest).to_vec()),
        details: entry.details.clone(),
    })
}

fn insert(db: &Connection, row: &AuditRow, digest: &RowDigest) -> Result<()> {
    let sql =
        "INSERT INTO entry VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)";
    let values = params![
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
        digest
    ];
    db.run(sql, values)?;
    Ok(())
}

/// Returns the time of the first entry.
pub(super) fn oldest(db: &Connection) -> Result<Option<i64>> {
    db.find("SELECT at FROM entry ORDER BY seq LIMIT 1", [])
}

/// Returns the details of the entry about a retention that ended with the entry `end`.
pub(super) fn retention_details(end: i64) -> String {
    format!("deleted the entries up to {end}")
}

/// Deletes some entries from before `before`, and records that. Returns true if there may be more.
pub(super) fn delete_old(db: &Connection, before: i64, now: i64) -> Result<bool> {
    let (anchor, _) = head(db, "anchor")?;
    // Entries are in the order of their numbers; a clock that was set back must not leave a gap.
    let first_kept = "SELECT seq FROM entry WHERE at >= ?1 ORDER BY seq LIMIT 1";
    let (last, _) = head(db, "head")?;
    let end = db.find::<i64>(first_kept, [before])?.map_or(last, |seq| seq - 1).min(anchor + MAX_DELETED);
    if end <= anchor {
        return Ok(false);
    }
    let digest: Vec<u8> = db.value("SELECT digest FROM entry WHERE seq = ?1", [end])?;
    db.run("UPDATE anchor SET seq = ?1, digest = ?2", params![end, digest])?;
    db.run("DELETE FROM entry WHERE seq <= ?1", [end])?;
    let details = retention_details(end);
    let entry = AuditEntry::event(AuditKind::Retention, &Principal::Local, "ok", &details);
    append(db, &[TimedEntry { at: now, entry }])?;
    Ok(end == anchor + MAX_DELETED)
}

/// Deletes the key and the use of quotas of a principal, and records that. Returns false if it had no key.
pub(super) fn erase(db: &Connection, name: &str, now: i64, details: &str) -> Result<bool> {
    let existed = db.run("DELETE FROM principal WHERE name = ?1", [name])? > 0;
    db.run("DELETE FROM quota_usage WHERE principal = ?1", [name])?;
    let entry = AuditEntry::event(AuditKind::Erasure, &Principal::Local, "ok", details);
    append(db, &[TimedEntry { at: now, entry }])?;
    Ok(existed)
}

/// Keeps the larger count of a window, because other hosts on this data directory store theirs, too.
const SAVE_USAGE: &str = "INSERT INTO quota_usage VALUES (?1, ?2, ?3, ?4, ?5, ?6) \
    ON CONFLICT (principal, quota) DO UPDATE SET \
    calls = iif(excluded.calls_start = calls_start, max(calls, excluded.calls), \
        iif(excluded.calls_start > calls_start, excluded.calls, calls)), \
    tokens = iif(excluded.tokens_start = tokens_start, max(tokens, excluded.tokens), \
        iif(excluded.tokens_start > tokens_start, excluded.tokens, tokens)), \
    calls_start = max(calls_start, excluded.calls_start), \
    tokens_start = max(tokens_start, excluded.tokens_start)";

pub(super) fn save_usage(db: &Connection, usage: &[StoredUsage], since: i64) -> Result<()> {
    for one in usage {
        let number = |number: u64| i64::try_from(number).unwrap_or(i64::MAX);
        let ((calls_start, calls), (tokens_start, tokens)) = (parts(one.calls), parts(one.tokens));
        db.run(
            SAVE_USAGE,
            params![
                stored_name(&one.principal),
                &*one.quota,
                number(calls_start),
                number(calls),
                number(tokens_start),
                number(tokens)
            ],
        )?;
    }
    db.run("DELETE FROM quota_usage WHERE calls_start < ?1 AND tokens_start < ?1", [since])?;
    Ok(())
}

fn parts(usage: WindowUsage) -> (u64, u64) {
    (usage.start, usage.used)
}

/// Returns the name under which the use of a principal is stored.
pub(super) fn stored_name(principal: &Principal) -> &str {
    principal.as_str()
}

pub(super) fn load_usage(db: &Connection, since: i64) -> Result<Vec<StoredUsage>> {
    let sql = "SELECT principal, quota, calls_start, calls, tokens_start, tokens FROM quota_usage
         WHERE calls_start >= ?1 OR tokens_start >= ?1";
    db.all(sql, [since], |row| {
        let (name, quota): (String, String) = (row.get(0)?, row.get(1)?);
        let number = |column: usize| row.get::<_, i64>(column).map(i64::unsigned_abs);
        Ok(StoredUsage {
            principal: if name == "local" { Principal::Local } else { Principal::Named(name.into()) },
            quota: quota.into(),
            calls: WindowUsage { start: number(2)?, used: number(3)? },
            tokens: WindowUsage { start: number(4)?, used: number(5)? },
        })
    })
}
