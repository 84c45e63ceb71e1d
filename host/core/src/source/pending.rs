//! Sources that have to be started before they can say what they offer.

use std::sync::Arc;

use tokio::time::Instant;

/// A source that has not listed anything yet, because it has to be started first.
#[derive(Debug, Clone)]
pub struct PendingListing {
    /// Why there is no listing, in one line.
    pub why: String,
    /// When clients are no longer kept waiting for it. `None` if an attempt has failed, so that there is nothing to wait for.
    pub until: Option<Instant>,
    /// Whoever holds this wants the listing: the source is asked again and again until nobody does.
    pub wanted: Arc<()>,
}
