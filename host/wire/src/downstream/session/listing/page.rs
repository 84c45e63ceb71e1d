//! A page of a list, and the size of all pages of a listing.

use std::sync::atomic::{AtomicUsize, Ordering};

use gatehouse_core::{names::quoted, source::MAX_LISTING_BYTES};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::downstream::{connection::CallFailure, peer::MessageMemory, session::take};

const MAX_LISTING_VALUES: usize = 200_000;

/// Size of all pages so far, which stay in memory until the last one arrives.
#[derive(Default)]
pub(super) struct ListingBudget {
    bytes: AtomicUsize,
    values: AtomicUsize,
}

impl ListingBudget {
    /// Counts a page. Fails if the listing is too large with it.
    pub(super) fn take(&self, method: &str, page: &MessageMemory) -> Result<(), CallFailure> {
        let bytes = self.bytes.fetch_add(page.bytes, Ordering::Relaxed) + page.bytes;
        let values = self.values.fetch_add(page.values, Ordering::Relaxed) + page.values;
        for (sum, what, max) in [(bytes, "bytes", MAX_LISTING_BYTES), (values, "values", MAX_LISTING_VALUES)]
        {
            if sum > max {
                let reason = format!("its listing has {sum} {what} with {method}; the limit is {max}");
                return Err(CallFailure::Unreadable(reason));
            }
        }
        Ok(())
    }
}

/// A page of a list.
#[derive(Debug, PartialEq)]
pub(in crate::downstream::session) struct ListPage {
    pub(in crate::downstream::session) items: Vec<Value>,
    /// Cursor of the next page, or null.
    pub(in crate::downstream::session) next: Value,
    pub(super) ttl_ms: Option<u64>,
}

/// Reads a page. Some servers answer with the bare list, or with an object of items by name.
pub(in crate::downstream::session) fn read_page(
    method: &str,
    key: &str,
    mut page: Value,
) -> Result<ListPage, CallFailure> {
    let (next, ttl_ms) = (take(&mut page, "nextCursor"), take(&mut page, "ttlMs").as_u64());
    let items = match if page.is_array() { page } else { take(&mut page, key) } {
        Value::Array(items) => items,
        Value::Object(items) => items.into_iter().map(|(_, item)| item).collect(),
        _ => return Err(CallFailure::Transport(format!("it answered {method} with an unexpected result"))),
    };
    Ok(ListPage { items, next, ttl_ms })
}

/// Reads an item of a list, or returns why it cannot be read.
pub(super) fn read_item<T: DeserializeOwned>(kind: &str, item: Value) -> Result<T, String> {
    let name = quoted(item.get("name").and_then(Value::as_str).unwrap_or_default(), 64);
    serde_json::from_value(item)
        .map_err(|error| format!("{kind} '{name}': {}", quoted(&error.to_string(), 200)))
}
