//! Size limit of a server's listing.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::CallFailure;
use crate::downstream::inbound::MessageMemory;

const MAX_LISTING_BYTES: usize = 4 << 20;
const MAX_LISTING_VALUES: usize = 200_000;

/// Size of all pages so far, which stay in memory until the last one arrives.
#[derive(Default)]
pub(super) struct ListingBudget {
    bytes: AtomicUsize,
    values: AtomicUsize,
}

impl ListingBudget {
    /// Counts a page.
    ///
    /// # Errors
    /// If the listing is too large with this page.
    pub(super) fn take(&self, method: &str, page: &MessageMemory) -> Result<(), CallFailure> {
        let size = page.size();
        let bytes = self.bytes.fetch_add(page.bytes(), Ordering::Relaxed) + page.bytes();
        let values = self.values.fetch_add(size.values, Ordering::Relaxed) + size.values;
        let too_large = |what: String, most: String| {
            CallFailure::Unreadable(format!("its listing has {what} with {method}; the limit is {most}"))
        };
        if bytes > MAX_LISTING_BYTES {
            return Err(too_large(format!("{bytes} bytes"), MAX_LISTING_BYTES.to_string()));
        }
        if values > MAX_LISTING_VALUES {
            return Err(too_large(format!("{values} values"), MAX_LISTING_VALUES.to_string()));
        }
        Ok(())
    }
}
