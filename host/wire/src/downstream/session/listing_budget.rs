//! How much of what a server lists is read.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::CallFailure;
use crate::downstream::inbound::MessageMemory;

/// Maximum size of everything that a server lists at a time.
const MAX_LISTING_BYTES: usize = 4 << 20;
const MAX_LISTING_VALUES: usize = 200_000;

/// What may still be read of a listing. Its pages are kept until the last one came.
#[derive(Default)]
pub(super) struct ListingBudget {
    bytes: AtomicUsize,
    values: AtomicUsize,
}

impl ListingBudget {
    /// Takes a page.
    ///
    /// # Errors
    /// If there is too much with it.
    pub(super) fn take(&self, method: &str, page: &MessageMemory) -> Result<(), CallFailure> {
        let size = page.size();
        let bytes = self.bytes.fetch_add(page.bytes(), Ordering::Relaxed) + page.bytes();
        let values = self.values.fetch_add(size.values, Ordering::Relaxed) + size.values;
        let too_large = |what: String, most: String| {
            CallFailure::Unreadable(format!(
                "{method} takes what it lists to {what}, and at most {most} are read"
            ))
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
