//! The use of quotas, and what they refused, in the file of the audit.

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::{QuotaStore, quota::StoredUsage},
};

use super::{DAY_MS, QuotaRefusals, SqliteAudit, read, write};

impl SqliteAudit {
    /// Returns the calls that quotas refused since a time in milliseconds since 1970.
    pub async fn quota_refusals(&self, since: i64) -> Result<Vec<QuotaRefusals>, Fault> {
        self.inner.db.read(move |db| read::quota_refusals(db, since)).await
    }

    /// Returns the stored use of quotas of all principals, in windows that began today.
    pub async fn quota_usage(&self) -> Result<Vec<StoredUsage>, Fault> {
        self.load((self.inner.now() / DAY_MS * DAY_MS).unsigned_abs()).await
    }
}

#[async_trait]
impl QuotaStore for SqliteAudit {
    async fn load(&self, since: u64) -> Result<Vec<StoredUsage>, Fault> {
        if !self.inner.db.exists().await {
            return Ok(Vec::new());
        }
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        self.inner.db.read(move |db| write::load_usage(db, since)).await
    }

    async fn save(&self, usage: Vec<StoredUsage>, since: u64) -> Result<(), Fault> {
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        self.inner.db.write(move |db| write::save_usage(db, &usage, since)).await
    }
}
