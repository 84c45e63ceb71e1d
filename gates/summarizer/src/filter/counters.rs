//! Counts of what the filter did, kept for good under `n:<name>`. One that cannot be counted is no reason to fail.

use gatehouse_sdk::kv;

pub(super) fn add(name: &str) {
    let _ = kv::add(&format!("n:{name}"), 1, None);
}
