//! What a gate keeps: bytes under names, private to the gate.

use async_trait::async_trait;

use crate::outcome::Fault;

/// The most bytes of a key as gates have it; it has at least one, and no NUL.
pub const MAX_KEY: usize = 512;

/// The most bytes of a key as a store has it: with the mark of whose it is, where the gate does not share it.
pub const MAX_STORED_KEY: usize = MAX_KEY + 41;

/// The most bytes of a value.
pub const MAX_VALUE: usize = 1 << 20;

/// The most keys of one gate.
pub const MAX_KEYS: u64 = 10_000;

/// The most keys that one listing gives.
pub const MAX_LISTED: usize = 1_000;

/// A store of bytes under names. Each gate has names of its own, by the gate's name in presets.toml. What
/// is past its time is gone for every method. Faults are `unavailable` and name the store where it cannot be
/// reached; an invalid key is `invalid-arguments`.
#[async_trait]
pub trait KvStore: Send + Sync {
    /// The value under this key.
    async fn get(&self, gate: &str, key: &str) -> Result<Option<Vec<u8>>, Fault>;

    /// Sets the value, for `ttl_ms` milliseconds where that is given. `exhausted`, and nothing changes, where
    /// keys and values of the gate would then be more than `quota` bytes, or more than [`MAX_KEYS`].
    async fn set(
        &self,
        gate: &str,
        key: &str,
        value: Vec<u8>,
        ttl_ms: Option<u64>,
        quota: u64,
    ) -> Result<(), Fault>;

    /// Adds to the number under this key, in one step, and gives the sum. A missing key counts as 0; a value that is no
    /// number in decimal digits is `invalid-arguments`, as is a sum that fits no `i64`. Otherwise as [`Kv::set`].
    async fn add(
        &self,
        gate: &str,
        key: &str,
        delta: i64,
        ttl_ms: Option<u64>,
        quota: u64,
    ) -> Result<i64, Fault>;

    /// Removes the key; false where there was none.
    async fn delete(&self, gate: &str, key: &str) -> Result<bool, Fault>;

    /// The keys that begin with `prefix`, sorted by their bytes, at most [`MAX_LISTED`].
    async fn keys(&self, gate: &str, prefix: &str) -> Result<Vec<String>, Fault>;
}
