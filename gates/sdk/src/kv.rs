//! The gate's own store: bytes under names, private to the gate, kept until they are deleted or their time
//! is up. Needs the grant `kv`.
//!
//! The functions here are for what all calls of the gate share; [`preset`] and [`caller`] give the keys of the running
//! call's preset, and those of its caller there.

use crate::Fault;
#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::kv as host;
pub use crate::bindings::gatehouse::gate::kv::Scope;
#[cfg(not(target_family = "wasm"))]
use crate::testing::kv as host;

/// The keys of one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys(Scope);

/// The keys that the calls through the running call's preset share.
pub const fn preset() -> Keys {
    Keys(Scope::Preset)
}

/// The keys of the running call's caller in its preset.
pub const fn caller() -> Keys {
    Keys(Scope::Caller)
}

const SHARED: Keys = Keys(Scope::Gate);

impl Keys {
    /// The value under this key; none where there is none, or where its time is up.
    pub fn get(self, key: &str) -> Result<Option<Vec<u8>>, Fault> {
        host::get(self.0, key)
    }

    /// Sets the value under this key, 1 to 512 bytes of text, for good or for `ttl_ms` milliseconds. What would
    /// take the gate over its quota is an `exhausted` fault, and nothing changes.
    pub fn set(self, key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<(), Fault> {
        host::set(self.0, key, value, ttl_ms)
    }

    /// Adds to the number under this key, in one step, and gives the sum. A key that is not there counts as 0.
    pub fn add(self, key: &str, delta: i64, ttl_ms: Option<u64>) -> Result<i64, Fault> {
        host::add(self.0, key, delta, ttl_ms)
    }

    /// Removes the key. False where there was none.
    pub fn delete(self, key: &str) -> Result<bool, Fault> {
        host::delete(self.0, key)
    }

    /// The keys that begin with `prefix`, sorted, at most 1,000 of them.
    pub fn list(self, prefix: &str) -> Result<Vec<String>, Fault> {
        host::keys(self.0, prefix)
    }
}

/// [`Keys::get`] among the keys that all calls of the gate share.
pub fn get(key: &str) -> Result<Option<Vec<u8>>, Fault> {
    SHARED.get(key)
}

/// [`Keys::set`] among the keys that all calls of the gate share.
pub fn set(key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<(), Fault> {
    SHARED.set(key, value, ttl_ms)
}

/// [`Keys::add`] among the keys that all calls of the gate share.
pub fn add(key: &str, delta: i64, ttl_ms: Option<u64>) -> Result<i64, Fault> {
    SHARED.add(key, delta, ttl_ms)
}

/// [`Keys::delete`] among the keys that all calls of the gate share.
pub fn delete(key: &str) -> Result<bool, Fault> {
    SHARED.delete(key)
}

/// [`Keys::list`] of those that all calls of the gate share.
pub fn keys(prefix: &str) -> Result<Vec<String>, Fault> {
    SHARED.list(prefix)
}
