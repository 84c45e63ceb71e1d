//! The gate's own store: bytes under names, private to the gate, kept until they are deleted or their time
//! is up. Every preset that uses the gate shares it. Needs the grant `kv`.

#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::kv as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::kv as host;

use crate::Fault;

/// The value under this key; none where there is none, or where its time is up.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Fault> {
    host::get(key)
}

/// Sets the value under this key, 1 to 512 bytes of text, for good or for `ttl_ms` milliseconds. What would
/// take the gate over its quota is an `exhausted` fault, and nothing changes.
pub fn set(key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<(), Fault> {
    host::set(key, value, ttl_ms)
}

/// Removes the key. False where there was none.
pub fn delete(key: &str) -> Result<bool, Fault> {
    host::delete(key)
}

/// The keys that begin with `prefix`, sorted, at most 1,000 of them.
pub fn keys(prefix: &str) -> Result<Vec<String>, Fault> {
    host::keys(prefix)
}
