//! Summaries that a model wrote, kept for as long as results are: the same result of the same call has the same one.
//! Local digests are not kept, because the same result gives the same digest, in less time than it takes to look it up.

use gatehouse_sdk::kv;
use sha2::{Digest, Sha256};

use super::{Request, summary::Summary};

/// What a summary is kept under.
pub(crate) struct SummaryKey(String);

impl SummaryKey {
    /// Whatever the summary depends on.
    pub(super) fn from_request(request: &Request<'_>, llm: &str) -> Self {
        let origin = request.origin;
        let parts = [&origin.source, &origin.version, &origin.name, llm, &request.query, request.text];
        Self(format!("x:{}", digest(&parts)))
    }
}

pub(super) fn get(key: &SummaryKey) -> Option<Summary> {
    serde_json::from_slice(&kv::get(&key.0).ok()??).ok()
}

/// Keeps a summary; where there is no room, the next call asks the model again.
pub(super) fn set(key: &SummaryKey, summary: &Summary, ttl_ms: u64) {
    if let Ok(json) = serde_json::to_vec(summary) {
        let _ = kv::set(&key.0, &json, Some(ttl_ms));
    }
}

/// SHA-256 of these parts, each with its length, in hexadecimal digits.
pub(super) fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
