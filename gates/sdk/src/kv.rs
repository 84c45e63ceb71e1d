//! A key-value store, private to the gate. Needs the grant `kv`.
//!
//! [`shared`] keys are the same in all calls; [`preset`] and [`caller`] are narrower scopes.

use crate::Fault;
#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::kv as host;
pub use crate::bindings::gatehouse::gate::kv::Scope;
#[cfg(not(target_family = "wasm"))]
use crate::testing::kv as host;

/// The keys of one scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keys(Scope);

/// Returns the keys that all calls of the gate share.
pub const fn shared() -> Keys {
    Keys(Scope::Gate)
}

/// Returns the keys of the running call's preset.
pub const fn preset() -> Keys {
    Keys(Scope::Preset)
}

/// Returns the keys of the running call's caller in its preset.
pub const fn caller() -> Keys {
    Keys(Scope::Caller)
}

impl Keys {
    /// Returns a value, unless it is missing or expired.
    pub fn get(self, key: &str) -> Result<Option<Vec<u8>>, Fault> {
        host::get(self.0, key)
    }

    /// Sets a value, permanently or for `ttl_ms` milliseconds. A key has 1 to 512 bytes. Exceeding the gate's quota is
    /// an `exhausted` fault and changes nothing.
    pub fn set(self, key: &str, value: &[u8], ttl_ms: Option<u64>) -> Result<(), Fault> {
        host::set(self.0, key, value, ttl_ms)
    }

    /// Atomically adds to a number and returns the sum. A missing key counts as 0.
    pub fn add(self, key: &str, delta: i64, ttl_ms: Option<u64>) -> Result<i64, Fault> {
        host::add(self.0, key, delta, ttl_ms)
    }

    /// Removes a key. Returns `false` if it did not exist.
    pub fn delete(self, key: &str) -> Result<bool, Fault> {
        host::delete(self.0, key)
    }

    /// Returns up to 1,000 keys that start with `prefix`, sorted.
    pub fn list(self, prefix: &str) -> Result<Vec<String>, Fault> {
        host::keys(self.0, prefix)
    }
}
