//! Key-value storage, private to each gate.

use async_trait::async_trait;

use crate::outcome::Fault;

/// Maximum bytes of a key from a gate. A key has at least one byte, and no NUL.
pub const MAX_KEY: usize = 512;

/// Maximum bytes of a stored key, with the owner prefix of keys that the gate does not share.
pub const MAX_STORED_KEY: usize = MAX_KEY + 41;

/// Maximum bytes of a value.
pub const MAX_VALUE: usize = 1 << 20;

pub const MAX_KEYS: u64 = 10_000;

pub const MAX_LISTED: usize = 1_000;

/// A key-value store with a namespace per gate, by the gate's name in presets.toml.
///
/// Expired keys are invisible to all methods. Methods fail with `unavailable` and the store's name if it is
/// unreachable, and with `invalid-arguments` if the key is invalid.
#[async_trait]
pub trait KvStore: Send + Sync {
    async fn get(&self, gate: &str, key: &str) -> Result<Option<Vec<u8>>, Fault>;

    /// Sets a value, which expires after `ttl_ms` milliseconds if given.
    ///
    /// Fails with `exhausted` if the gate's keys and values would exceed `quota` bytes or [`MAX_KEYS`].
    async fn set(
        &self,
        gate: &str,
        key: &str,
        value: Vec<u8>,
        ttl_ms: Option<u64>,
        quota: u64,
    ) -> Result<(), Fault>;

    /// Atomically adds `delta` to a number and returns the sum. A missing key counts as 0.
    ///
    /// Fails with `invalid-arguments` if the value is not a decimal integer or the sum overflows `i64`. Otherwise like
    /// [`KvStore::set`].
    async fn add(
        &self,
        gate: &str,
        key: &str,
        delta: i64,
        ttl_ms: Option<u64>,
        quota: u64,
    ) -> Result<i64, Fault>;

    /// Deletes a key. Returns false if it was not set.
    async fn delete(&self, gate: &str, key: &str) -> Result<bool, Fault>;

    /// Returns keys that start with `prefix`, sorted by bytes, at most [`MAX_LISTED`].
    async fn keys(&self, gate: &str, prefix: &str) -> Result<Vec<String>, Fault>;
}
