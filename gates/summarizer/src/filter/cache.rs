//! Cache of model summaries, which expire with the results. The same result of the same call reuses its summary. Local
//! digests are not cached, because computing one is faster than a lookup.

use gatehouse_sdk::kv;
use sha2::{Digest, Sha256};

use super::{Request, summary::Summary};

pub(super) fn key(request: &Request<'_>, llm: &str) -> String {
    let origin = request.origin;
    let parts = [&origin.source, &origin.version, &origin.name, llm, &request.query, request.text];
    format!("x:{}", digest(&parts))
}

pub(super) fn get(key: &str) -> Option<Summary> {
    serde_json::from_slice(&kv::shared().get(key).ok()??).ok()
}

/// Stores a summary. Errors are ignored; the next call asks the model again.
pub(super) fn set(key: &str, summary: &Summary, ttl_ms: u64) {
    if let Ok(json) = serde_json::to_vec(summary) {
        let _ = kv::shared().set(key, &json, Some(ttl_ms));
    }
}

pub(super) fn digest(parts: &[&str]) -> String {
    let mut hasher = Sha256::new();
    for part in parts {
        hasher.update((part.len() as u64).to_le_bytes());
        hasher.update(part.as_bytes());
    }
    hasher.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}
