//! Sources that must be started before they can be listed.

use std::sync::Arc;

use tokio::time::Instant;

#[derive(Debug, Clone)]
pub struct PendingListing {
    pub why: String,
    /// How long clients may wait for the listing. `None` if an attempt has failed.
    pub until: Option<Instant>,
    /// A token of interest: the source retries as long as any clone of it exists.
    pub wanted: Arc<()>,
}
