//! Persistent counters of the filter, stored under `n:<name>`. Errors are ignored.

use gatehouse_sdk::{context, kv};

pub(super) fn add(name: &str) {
    let _ = kv::shared().add(&format!("n:{name}"), 1, None);
}

const DAY: u64 = 24 * 60 * 60 * 1_000;

/// Counts tokens that were saved: in total, and for today (days since 1970-01-01 UTC). `gatehouse status` shows both.
pub(super) fn add_saved(tokens_in: u32, tokens_out: u32) {
    let saved = i64::from(tokens_in.saturating_sub(tokens_out));
    let today = context::now() / DAY;
    let _ = kv::shared().add("n:tokens_saved", saved, None);
    let _ = kv::shared().add(&format!("n:tokens_saved.{today}"), saved, Some(2 * DAY));
}
