//! Key-value data of gates, in its own database.
//!
//! Reads ignore expired values immediately; the next write deletes their rows.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use async_trait::async_trait;
use gatehouse_core::{
    names,
    outcome::Fault,
    ports::{
        Clock, KvStore,
        kv::{KvQuota, MAX_KEY, MAX_KEYS, MAX_LISTED, MAX_STORED_KEY, MAX_VALUE},
    },
};
use rusqlite::{Connection, params};

use super::{copy::DataFile, db::Database, error::Result, statements::CachedStatements as _};

pub struct SqliteKv {
    db: Database,
    clock: Arc<dyn Clock>,
}

impl SqliteKv {
    pub fn new(path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { db: Database::new(DataFile::Kv, path), clock }
    }

    /// Closes the store permanently and checkpoints the file.
    pub async fn close(&self) {
        self.db.close().await;
    }

    pub fn path(&self) -> &Path {
        self.db.path()
    }

    /// Returns all principals that own values, sorted.
    pub async fn owners(&self) -> Result<Vec<String>, Fault> {
        if !self.db.exists().await {
            return Ok(Vec::new());
        }
        let sql = "SELECT DISTINCT owner FROM entry WHERE owner IS NOT NULL ORDER BY owner";
        self.db.read(move |db| db.column(sql, [])).await
    }

    /// Deletes all values of an owner, and those of older versions under keys with one of these prefixes. Returns their
    /// number.
    pub async fn erase(&self, owner: &str, prefixes: Vec<String>) -> Result<u64, Fault> {
        if !self.db.exists().await {
            return Ok(0);
        }
        let owner = owner.to_owned();
        let write = move |db: &rusqlite::Transaction<'_>| {
            let mut erased = db.run("DELETE FROM entry WHERE owner = ?1", [&owner])?;
            for prefix in &prefixes {
                let sql = "DELETE FROM entry WHERE owner IS NULL AND substr(key, 1, length(?1)) = ?1";
                erased += db.run(sql, [prefix])?;
            }
            Ok(erased as u64)
        };
        self.db.write(write).await
    }

    fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }
}

#[async_trait]
impl KvStore for SqliteKv {
    async fn get(&self, gate: &str, key: &str) -> Result<Option<Vec<u8>>, Fault> {
        check_key(key)?;
        let (gate, key, now) = (gate.to_owned(), key.to_owned(), self.now());
        let sql = "SELECT value FROM entry
             WHERE gate = ?1 AND key = ?2 AND (expires_at IS NULL OR expires_at > ?3)";
        self.db.read(move |db| db.find(sql, params![gate, key, now])).await
    }

    async fn set(
        &self,
        gate: &str,
        key: &str,
        value: Vec<u8>,
        ttl_ms: Option<u64>,
        quota: KvQuota<'_>,
    ) -> Result<(), Fault> {
        check_key(key)?;
        if value.len() > MAX_VALUE {
            return Err(Fault::exhausted(format!(
                "value for '{}' is {} bytes; the limit is {MAX_VALUE}",
                names::quoted(key, 80),
                value.len()
            ))
            .hint("Split it over several keys."));
        }
        let (now, gate, key) = (self.now(), gate.to_owned(), key.to_owned());
        let quota = OwnedQuota::from(quota);
        let write = move |db: &rusqlite::Transaction<'_>| {
            sweep(db, now)?;
            put(db, (&gate, &key), &value, expiry(now, ttl_ms), &quota)
        };
        self.db.write(write).await
    }

    async fn add(
        &self,
        gate: &str,
        key: &str,
        delta: i64,
        ttl_ms: Option<u64>,
        quota: KvQuota<'_>,
    ) -> Result<i64, Fault> {
        check_key(key)?;
        let (now, gate, key) = (self.now(), gate.to_owned(), key.to_owned());
        let quota = OwnedQuota::from(quota);
        let write = move |db: &rusqlite::Transaction<'_>| {
            sweep(db, now)?;
            let value: Option<Vec<u8>> =
                db.find("SELECT value FROM entry WHERE gate = ?1 AND key = ?2", [&gate, &key])?;
            let sum = sum(&key, value.as_deref(), delta)?;
            put(db, (&gate, &key), sum.to_string().as_bytes(), expiry(now, ttl_ms), &quota)?;
            Ok(sum)
        };
        self.db.write(write).await
    }

    async fn delete(&self, gate: &str, key: &str) -> Result<bool, Fault> {
        check_key(key)?;
        let (gate, key, now) = (gate.to_owned(), key.to_owned(), self.now());
        let write = move |db: &rusqlite::Transaction<'_>| {
            sweep(db, now)?;
            Ok(db.run("DELETE FROM entry WHERE gate = ?1 AND key = ?2", [gate, key])? > 0)
        };
        self.db.write(write).await
    }

    async fn owner_bytes(&self, owner: &str) -> Result<u64, Fault> {
        if !self.db.exists().await {
            return Ok(0);
        }
        let (owner, now) = (owner.to_owned(), self.now());
        let sql = "SELECT coalesce(sum(size), 0) FROM entry
             WHERE owner = ?1 AND (expires_at IS NULL OR expires_at > ?2)";
        self.db.read(move |db| db.value::<i64>(sql, params![owner, now])).await.map(i64::unsigned_abs)
    }

    async fn keys(&self, gate: &str, prefix: &str) -> Result<Vec<String>, Fault> {
        let (gate, prefix, now) = (gate.to_owned(), prefix.to_owned(), self.now());
        let work = move |db: &Connection| {
            // Keys compare by bytes, so those with the prefix are consecutive.
            let mut statement = db.prepare_cached(
                "SELECT key FROM entry
                 WHERE gate = ?1 AND key >= ?2 AND (expires_at IS NULL OR expires_at > ?3) ORDER BY key",
            )?;
            let mut rows = statement.query(params![gate, prefix, now])?;
            let mut keys = Vec::new();
            while let Some(row) = rows.next()? {
                let key: String = row.get(0)?;
                if keys.len() == MAX_LISTED || !key.starts_with(&prefix) {
                    break;
                }
                keys.push(key);
            }
            Ok(keys)
        };
        self.db.read(work).await
    }
}

/// Returns the expiry of a value set now. `None` if it does not expire.
fn expiry(now: i64, ttl_ms: Option<u64>) -> Option<i64> {
    ttl_ms.map(|ttl| now.saturating_add(i64::try_from(ttl).unwrap_or(i64::MAX)))
}

fn put(
    db: &Connection,
    (gate, key): (&str, &str),
    value: &[u8],
    expires_at: Option<i64>,
    quota: &OwnedQuota,
) -> Result<()> {
    let size = key.len() as u64 + value.len() as u64;
    within_quota(db, gate, key, size, quota)?;
    let sql = "INSERT OR REPLACE INTO entry (gate, key, size, expires_at, value, owner)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
    db.run(sql, params![gate, key, size as i64, expires_at, value, quota.owner])?;
    Ok(())
}

fn sum(key: &str, value: Option<&[u8]>, delta: i64) -> Result<i64, Fault> {
    let key = || names::quoted(key, 80);
    let stored: i64 = match value {
        None => 0,
        Some(value) => std::str::from_utf8(value)
            .ok()
            .filter(|digits| !digits.starts_with('+'))
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| {
                Fault::invalid(format!("value for '{}' is not a decimal integer", key()))
                    .hint("Set it to an integer, or delete the key.")
            })?,
    };
    stored.checked_add(delta).ok_or_else(|| {
        Fault::invalid(format!("value for '{}' plus {delta} does not fit in 64 bits", key()))
            .hint("Set it to a smaller integer.")
    })
}

fn sweep(db: &Connection, now: i64) -> Result<()> {
    db.run("DELETE FROM entry WHERE expires_at IS NOT NULL AND expires_at <= ?1", [now])?;
    Ok(())
}

/// A [`KvQuota`] for the writer thread.
struct OwnedQuota {
    bytes: u64,
    owner: Option<String>,
    owner_bytes: Option<u64>,
}

impl From<KvQuota<'_>> for OwnedQuota {
    fn from(quota: KvQuota<'_>) -> Self {
        let KvQuota { bytes, owner, owner_bytes } = quota;
        Self { bytes, owner: owner.map(str::to_owned), owner_bytes }
    }
}

/// Checks that the gate, or the owner within the gate, may store `size` bytes under `key` in addition to its other
/// keys.
fn within_quota(db: &Connection, gate: &str, key: &str, size: u64, quota: &OwnedQuota) -> Result<()> {
    let usage_sql = "SELECT count(*), coalesce(sum(size), 0) FROM entry WHERE gate = ?1 AND owner IS ?2";
    let (keys, bytes): (i64, i64) =
        db.first(usage_sql, params![gate, quota.owner], |row| row.try_into())?.unwrap_or_default();
    let size_sql = "SELECT size FROM entry WHERE gate = ?1 AND key = ?2 AND owner IS ?3";
    let replaced: Option<i64> = db.find(size_sql, params![gate, key, quota.owner])?;
    let keys = keys as u64 + u64::from(replaced.is_none());
    let bytes = (bytes - replaced.unwrap_or(0)) as u64 + size;
    let for_owner = if quota.owner.is_some() { " for this caller" } else { "" };
    if bytes > quota.bytes {
        let max_bytes = quota.bytes;
        return Err(Fault::exhausted(format!(
            "gate '{gate}' would store {bytes} bytes{for_owner}; its quota is {max_bytes}"
        ))
        .hint(format!(
            "Delete keys that it no longer needs, or raise limits.kv under [gates.{gate}] in presets.toml."
        ))
        .into());
    }
    if keys > MAX_KEYS {
        return Err(Fault::exhausted(format!(
            "gate '{gate}' already has {MAX_KEYS} keys{for_owner}, the limit for a gate"
        ))
        .hint("Delete keys that it no longer needs, or store several values under one key.")
        .into());
    }
    let (Some(owner), Some(max_owner_bytes)) = (&quota.owner, quota.owner_bytes) else { return Ok(()) };
    let total: i64 = db.value("SELECT coalesce(sum(size), 0) FROM entry WHERE owner = ?1", [owner])?;
    let bytes = (total - replaced.unwrap_or(0)).unsigned_abs() + size;
    if bytes > max_owner_bytes {
        return Err(Fault::exhausted(format!(
            "this caller would store {bytes} bytes of kv; its quota leaves {max_owner_bytes}"
        ))
        .hint("Delete artifacts and values that are no longer needed, or ask the host's operator for more.")
        .into());
    }
    Ok(())
}

fn check_key(key: &str) -> Result<(), Fault> {
    let wrong = if key.is_empty() {
        "is empty"
    } else if key.len() > MAX_STORED_KEY {
        "is too long"
    } else if key.contains('\0') {
        "contains NUL"
    } else {
        return Ok(());
    };
    Err(Fault::invalid(format!("key '{}' {wrong}", names::quoted(key, 80)))
        .hint(format!("A key is 1 to {MAX_KEY} bytes of text without NUL.")))
}

#[cfg(test)]
mod tests;
