//! A login on disk: `logins/NAME.json`, for this user alone, replaced whole. Whoever changes one holds the lock beside it,
//! so that two hosts on one folder do not use up one refresh token each.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use gatehouse_core::{Fault, FaultKind, http::Secret, names::quoted};
use gatehouse_files::{Durability, make_private, write_private};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::client::OAuthClient;

/// How long somebody else's change of a login is waited for: twice what a request of one may take.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(45);

/// Between two looks at a lock that another process has; the system has no wait that can be given up.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Bytes of a file; tokens have some thousand.
const MAX_FILE: u64 = 256 << 10;

/// What is kept of a login. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    /// The server that it is for, and no other: scheme, host, port and path.
    pub(super) server: String,
    /// What the authorization server calls that (RFC 8707).
    pub(super) resource: String,
    pub(super) issuer: String,
    /// The authorization server that presets.toml named then, which may lie in the own network.
    pub(super) named_issuer: Option<String>,
    /// Origins of endpoints that the user confirmed as the issuer's, by name. `None` if that was not needed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) confirmed_origins: Option<BTreeMap<String, String>>,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: OAuthClient,
    pub(super) scopes: Vec<String>,
    #[serde(with = "secret")]
    pub(super) access_token: Secret,
    #[serde(with = "optional_secret")]
    pub(super) refresh_token: Option<Secret>,
    pub(super) issued_at: u64,
    /// None where the server did not say.
    pub(super) expires_at: Option<u64>,
}

/// Logins by the name of their server.
pub(super) struct LoginStore {
    folder: PathBuf,
}

/// The right to change one login; it ends when this is dropped.
pub(super) struct LoginLock {
    _file: File,
}

impl LoginStore {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// The login to a server; none where there is none.
    pub(super) async fn read(&self, server: &str) -> Result<Option<StoredLogin>, Fault> {
        let path = self.path(server, "json")?;
        let shown = path.display().to_string();
        let bytes = blocking(move || bounded(&path)).await;
        let bytes = match bytes {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Fault::unavailable(format!("{shown}: cannot be read: {error}."))),
        };
        let login = serde_json::from_slice(&bytes);
        login.map(Some).map_err(|_| {
            Fault::unavailable(format!("{shown}: is not a login that can be read."))
                .hint(format!("Run: gatehouse servers login {server}"))
        })
    }

    /// Keeps a login for good.
    pub(super) async fn write(&self, server: &str, login: &StoredLogin) -> Result<(), Fault> {
        let path = self.path(server, "json")?;
        let shown = path.display().to_string();
        let failed = |why: String| Fault::unavailable(format!("{shown}: cannot be written: {why}."));
        let bytes = serde_json::to_vec_pretty(login).map_err(|error| failed(error.to_string()))?;
        let written = blocking(move || write_private(&path, &bytes, Durability::Synced)).await;
        written.map_err(|error| failed(error.to_string()))
    }

    /// Forgets a login; false where there was none.
    pub(super) async fn remove(&self, server: &str) -> Result<bool, Fault> {
        let path = self.path(server, "json")?;
        let shown = path.display().to_string();
        match blocking(move || std::fs::remove_file(path)).await {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Fault::unavailable(format!("{shown}: cannot be removed: {error}."))),
        }
    }

    /// Waits until nobody else changes this login.
    pub(super) async fn lock(&self, server: &str) -> Result<LoginLock, Fault> {
        let path = self.path(server, "lock")?;
        let shown = path.display().to_string();
        let failed = |error: io::Error| Fault::unavailable(format!("{shown}: cannot be locked: {error}."));
        let folder = self.folder.clone();
        let open = move || {
            make_private(&folder)?;
            File::options().create(true).truncate(false).write(true).open(path)
        };
        let file = blocking(open).await.map_err(failed)?;
        let until = Instant::now() + MAX_LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(LoginLock { _file: file }),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    let message = format!("The login to '{server}' is being changed by another process.");
                    return Err(Fault::new(FaultKind::TimedOut, message));
                }
                Err(TryLockError::WouldBlock) => sleep(LOCK_POLL_INTERVAL).await,
            }
        }
    }

    fn path(&self, server: &str, ending: &str) -> Result<PathBuf, Fault> {
        let letter = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        let plain = !server.is_empty() && server.len() <= 128 && !server.starts_with('.');
        if plain && server.chars().all(letter) {
            return Ok(self.folder.join(format!("{server}.{ending}")));
        }
        Err(Fault::invalid(format!("'{}' is not the name of a server.", quoted(server, 64))))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

fn bounded(path: &Path) -> io::Result<Vec<u8>> {
    use io::Read as _;
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_FILE + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > MAX_FILE {
        return Err(io::Error::other("it is too large"));
    }
    Ok(bytes)
}

/// A secret in a file that only its owner reads.
mod secret {
    use super::{Deserialize, Deserializer, Secret, Serializer};

    pub(super) fn serialize<S: Serializer>(secret: &Secret, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(secret.reveal())
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
        Ok(Secret::new(String::deserialize(deserializer)?))
    }
}

/// The same, where there may be none.
pub(super) mod optional_secret {
    use super::{Deserialize, Deserializer, Secret, Serialize, Serializer};

    pub(in super::super) fn serialize<S: Serializer>(
        secret: &Option<Secret>,
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        secret.as_ref().map(Secret::reveal).serialize(serializer)
    }

    pub(in super::super) fn deserialize<'de, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Option<Secret>, D::Error> {
        Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
    }
}
