//! The use of quotas, and what they refused, in the database of the audit.

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::{QuotaStore, quota::StoredUsage},
};

use super::{AuditTables, DAY_MS, QUOTAS, QuotaRefusals, read, write};
use crate::sql::Session;

impl AuditTables {
    /// Returns the calls that quotas refused since a time in milliseconds since 1970.
    pub async fn quota_refusals(&self, since: i64) -> Result<Vec<QuotaRefusals>, Fault> {
        self.inner.db.read(async move |db: Session<'_>| read::quota_refusals(db, since).await).await
    }

    /// Returns the stored use of quotas of all principals, in windows that began today.
    pub async fn quota_usage(&self) -> Result<Vec<StoredUsage>, Fault> {
        self.load((self.inner.now() / DAY_MS * DAY_MS).unsigned_abs()).await
    }
}

#[async_trait]
impl QuotaStore for AuditTables {
    async fn load(&self, since: u64) -> Result<Vec<StoredUsage>, Fault> {
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        self.inner.db.read_existing(async move |db: Session<'_>| write::load_usage(db, since).await).await
    }

    async fn save(&self, usage: Vec<StoredUsage>, since: u64) -> Result<(), Fault> {
        let since = i64::try_from(since).unwrap_or(i64::MAX);
        let save = async move |db: Session<'_>| write::save_usage(db, &usage, since).await;
        self.inner.db.write(&[QUOTAS], save).await
    }
}
