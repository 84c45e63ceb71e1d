//! Storage of API keys. A store has hashes of secrets, never the secrets.

use async_trait::async_trait;

use crate::Fault;

/// Maximum number of keys. A host holds all of them in memory.
pub const MAX_API_KEYS: usize = 100_000;

/// Maximum number of secrets of one key. A further rotation ends the oldest.
pub const MAX_KEY_SECRETS: usize = 4;

/// An API key. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyRecord {
    pub name: String,
    pub groups: Vec<String>,
    /// The only presets that the key opens. `None` for any.
    pub presets: Option<Vec<String>>,
    pub created_at: u64,
    /// `None` if the key does not expire.
    pub expires_at: Option<u64>,
    /// Secrets, newest first. All work until they expire.
    pub secrets: Vec<KeySecret>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeySecret {
    /// Public identifier, the middle part of `ghk_ID_SECRET`.
    pub id: String,
    /// SHA-256 of the secret.
    pub hash: [u8; 32],
    pub created_at: u64,
    /// When a rotation ends it. `None` for the current secret.
    pub expires_at: Option<u64>,
    /// Last use, accurate to about a minute.
    pub last_used_at: Option<u64>,
}

/// A store of API keys that several processes share. All methods fail with `unavailable` if it cannot be read or
/// written.
#[async_trait]
pub trait KeyStore: Send + Sync {
    /// Returns a number that differs after any process has added, changed or removed a key. Uses do not count.
    async fn version(&self) -> Result<u64, Fault>;

    /// Returns all keys by name, also expired ones.
    async fn list(&self) -> Result<Vec<KeyRecord>, Fault>;

    /// Adds a key. Fails with `invalid-arguments` if its name exists, and with `exhausted` at [`MAX_API_KEYS`].
    async fn add(&self, key: KeyRecord) -> Result<(), Fault>;

    /// Adds a secret to a key. The older ones end at `end_of_old`, or earlier if they already end. `expires_at` replaces
    /// the expiry of the key if given. Fails with `not-found` if the key does not exist.
    async fn rotate(
        &self,
        name: &str,
        secret: KeySecret,
        end_of_old: u64,
        expires_at: Option<u64>,
    ) -> Result<(), Fault>;

    /// Removes a key with all its secrets. Fails with `not-found` if it does not exist.
    async fn revoke(&self, name: &str) -> Result<(), Fault>;

    /// Records the use of a secret.
    async fn record_use(&self, id: &str, at: u64) -> Result<(), Fault>;
}
