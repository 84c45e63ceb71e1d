//! A value to store, within the quotas of its gate and its owner.

use gatehouse_core::{
    outcome::Fault,
    ports::kv::{KvQuota, MAX_KEYS},
};

use super::LIVE;
use crate::sql::{Result, Session, values};

/// A value to store, and the limits of its space.
pub(super) struct Entry {
    pub(super) gate: String,
    pub(super) key: String,
    /// Empty for no owner.
    owner: String,
    max_bytes: u64,
    /// Maximum bytes of the owner in all gates.
    max_owner_bytes: Option<u64>,
}

impl Entry {
    pub(super) fn new(gate: &str, key: &str, quota: KvQuota<'_>) -> Self {
        let KvQuota { bytes, owner, owner_bytes } = quota;
        Self {
            gate: gate.to_owned(),
            key: key.to_owned(),
            owner: owner.unwrap_or_default().to_owned(),
            max_bytes: bytes,
            max_owner_bytes: owner_bytes.filter(|_| owner.is_some()),
        }
    }

    pub(super) async fn put(
        &self,
        db: Session<'_>,
        value: &[u8],
        now: i64,
        ttl_ms: Option<u64>,
    ) -> Result<()> {
        let Self { gate, key, owner, .. } = self;
        let size = key.len() as i64 + value.len() as i64;
        self.check_quota(db, size.unsigned_abs(), now).await?;
        let expires_at = ttl_ms.map(|ttl| now.saturating_add(i64::try_from(ttl).unwrap_or(i64::MAX)));
        let sql =
            "INSERT INTO kv_entry (gate, key, owner, size, expires_at, value) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (gate, key) DO UPDATE SET owner = excluded.owner, size = excluded.size,
                expires_at = excluded.expires_at, value = excluded.value";
        db.run(sql, values![gate, key, owner, size, expires_at, value]).await.map(drop)
    }

    /// Checks that the gate, or the owner within the gate, may store `size` bytes in addition to its other keys.
    async fn check_quota(&self, db: Session<'_>, size: u64, now: i64) -> Result<()> {
        let Self { gate, key, owner, max_bytes, max_owner_bytes } = self;
        let usage = format!(
            "SELECT count(*), CAST(coalesce(sum(size), 0) AS bigint) FROM kv_entry
             WHERE gate = ?2 AND owner = ?3 AND {LIVE}"
        );
        let usage = db.first(&usage, values![now, gate, owner], |row| Ok((row.get(0)?, row.get(1)?))).await?;
        let (keys, bytes): (i64, i64) = usage.unwrap_or_default();
        let replaced =
            format!("SELECT size FROM kv_entry WHERE gate = ?2 AND key = ?3 AND owner = ?4 AND {LIVE}");
        let replaced: Option<i64> = db.find(&replaced, values![now, gate, key, owner]).await?;
        let keys = keys as u64 + u64::from(replaced.is_none());
        let bytes = (bytes - replaced.unwrap_or(0)) as u64 + size;
        let for_owner = if owner.is_empty() { "" } else { " for this caller" };
        if bytes > *max_bytes {
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
        let Some(max_owner_bytes) = max_owner_bytes else { return Ok(()) };
        let total = owner_bytes(db, owner, now).await?;
        let bytes = (total - replaced.unwrap_or(0)).unsigned_abs() + size;
        if bytes > *max_owner_bytes {
            return Err(Fault::exhausted(format!(
                "this caller would store {bytes} bytes of kv; its quota leaves {max_owner_bytes}"
            ))
            .hint(
                "Delete artifacts and values that are no longer needed, or ask the host's operator for more.",
            )
            .into());
        }
        Ok(())
    }
}

pub(super) async fn owner_bytes(db: Session<'_>, owner: &str, now: i64) -> Result<i64> {
    let sql = format!(
        "SELECT CAST(coalesce(sum(size), 0) AS bigint) FROM kv_entry WHERE owner = ?2 AND owner <> '' AND {LIVE}"
    );
    db.value(&sql, values![now, owner]).await
}
