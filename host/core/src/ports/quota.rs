//! Storage of the use that quotas count, so that a restart does not reset a window.

use std::sync::Arc;

use async_trait::async_trait;

use crate::{Fault, Principal};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct WindowUsage {
    /// Beginning of the window in milliseconds since 1970.
    pub start: u64,
    pub used: u64,
}

/// Use of one quota by one principal.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredUsage {
    pub quota: Arc<str>,
    pub principal: Principal,
    pub calls: WindowUsage,
    pub tokens: WindowUsage,
}

#[async_trait]
pub trait QuotaStore: Send + Sync {
    /// Returns the use in windows that began at `since` or later.
    async fn load(&self, since: u64) -> Result<Vec<StoredUsage>, Fault>;

    /// Replaces the stored use of these principals in these quotas. Deletes windows that began before `since`.
    async fn save(&self, usage: Vec<StoredUsage>, since: u64) -> Result<(), Fault>;
}
