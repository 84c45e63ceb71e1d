//! Key-value storage, private to each gate.

use async_trait::async_trait;

use crate::Fault;

/// Maximum bytes of a key from a gate. A key has at least one byte, and no NUL.
pub const MAX_KEY: usize = 512;

/// Maximum bytes of a stored key, with the owner prefix of keys that the gate does not share.
pub const MAX_STORED_KEY: usize = MAX_KEY + 41;

/// Maximum bytes of a value.
pub const MAX_VALUE: usize = 1 << 20;

pub const MAX_KEYS: u64 = 10_000;

pub const MAX_LISTED: usize = 1_000;

/// Limits of one write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KvQuota<'a> {
    /// Maximum bytes of keys and values of the gate, or of the owner within the gate.
    pub bytes: u64,
    /// Principal that owns the entry. `None` if the entry belongs to the gate, a preset or the local user.
    pub owner: Option<&'a str>,
    /// Maximum bytes of the owner over all gates. `None` for no limit.
    pub owner_bytes: Option<u64>,
}

impl KvQuota<'_> {
    /// Creates the limit of entries that belong to a gate.
    pub const fn of_gate(bytes: u64) -> Self {
        Self { bytes, owner: None, owner_bytes: None }
    }
}

/// A key-value store with a namespace per gate, by the gate's name in presets.toml.
///
/// Expired keys are invisible to all methods. Methods fail with `unavailable` and the store's name if it is
/// unreachable, and with `invalid-arguments` if the key is invalid.
#[async_trait]
pub trait KvStore: Send + Sync {
    async fn get(&self, gate: &str, key: &str) -> Result<Option<Vec<u8>>, Fault>;

    /// Sets a value, which expires after `ttl_ms` milliseconds if given.
    ///
    /// Fails with `exhausted` if the keys and values would exceed `quota` or [`MAX_KEYS`]. Entries with an owner count
    /// for that owner alone, so that no caller takes the space of others.
    async fn set(
        &self,
        gate: &str,
        key: &str,
        value: Vec<u8>,
        ttl_ms: Option<u64>,
        quota: KvQuota<'_>,
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
        quota: KvQuota<'_>,
    ) -> Result<i64, Fault>;

    /// Deletes a key. Returns false if it was not set.
    async fn delete(&self, gate: &str, key: &str) -> Result<bool, Fault>;

    /// Returns the bytes of all keys and values of an owner.
    async fn owner_bytes(&self, owner: &str) -> Result<u64, Fault>;

    /// Returns keys that start with `prefix`, sorted by bytes, at most [`MAX_LISTED`].
    async fn keys(&self, gate: &str, prefix: &str) -> Result<Vec<String>, Fault>;
}
