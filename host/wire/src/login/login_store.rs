//! Logins on disk: `logins/NAME.json`, and `logins/NAME@DIGEST.json` for the login of a principal, readable only by the
//! user, replaced atomically. A writer holds the lock file next to it, so that two hosts do not use the same refresh
//! token.

use std::{
    collections::BTreeMap,
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use gatehouse_core::{Fault, FaultKind, Principal, http::Secret};
use gatehouse_files::{Durability, make_private, write_private};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::{
    task::spawn_blocking,
    time::{Instant, sleep},
};

use super::{LoginId, client::OAuthClient, identity::StoredIdentity};

/// Longer than a renewal, which sends at most three requests.
const MAX_LOCK_WAIT: Duration = Duration::from_secs(75);

/// Pause between attempts to lock. The blocking lock of the system cannot be cancelled.
const LOCK_POLL_INTERVAL: Duration = Duration::from_millis(50);

const MAX_FILE: u64 = 256 << 10;

/// Login as stored. Times are milliseconds since 1970-01-01T00:00:00Z.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredLogin {
    /// Principal whose login it is. `None` for the shared login.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) owner: Option<String>,
    pub(super) server: String,
    pub(super) resource: String,
    pub(super) issuer: String,
    /// Authorization server that presets.toml named at the login. It may be in a private network.
    pub(super) named_issuer: Option<String>,
    /// Origins of endpoints that the user confirmed, by name. `None` if no confirmation was required.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) confirmed_origins: Option<BTreeMap<String, String>>,
    pub(super) token_endpoint: String,
    pub(super) revocation_endpoint: Option<String>,
    pub(super) client: OAuthClient,
    pub(super) scopes: Vec<String>,
    #[serde(serialize_with = "reveal", deserialize_with = "secret")]
    pub(super) access_token: Secret,
    #[serde(serialize_with = "reveal", deserialize_with = "optional_secret")]
    pub(super) refresh_token: Option<Secret>,
    /// True if the client logged in with its own secret, and does so again instead of refreshing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) client_credentials: bool,
    /// Identity of the user at a provider that vouches for it, if the login is renewed with that.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) identity: Option<StoredIdentity>,
    pub(super) issued_at: u64,
    /// `None` if the server did not set one.
    pub(super) expires_at: Option<u64>,
}

pub(super) struct LoginStore {
    pub(super) folder: PathBuf,
}

impl LoginStore {
    pub(super) async fn read(&self, id: &LoginId) -> Result<Option<StoredLogin>, Fault> {
        let path = self.path(id, "json")?;
        let path_text = path.display().to_string();
        let bytes = match blocking(move || bounded(&path)).await {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Fault::unavailable(format!("cannot read {path_text}: {error}"))),
        };
        match serde_json::from_slice::<StoredLogin>(&bytes) {
            // A file that was renamed must not become the login of another principal.
            Ok(login) if login.owner.as_deref() == id.owner().map(Principal::as_str) => Ok(Some(login)),
            _ => Err(id.hint_login(Fault::unavailable(format!("{path_text} is not a valid login file")))),
        }
    }

    pub(super) async fn write(&self, id: &LoginId, login: &StoredLogin) -> Result<(), Fault> {
        let path = self.path(id, "json")?;
        let path_text = path.display().to_string();
        let failed = |reason: String| Fault::unavailable(format!("cannot write {path_text}: {reason}"));
        let bytes = serde_json::to_vec_pretty(login).map_err(|error| failed(error.to_string()))?;
        let written = blocking(move || write_private(&path, &bytes, Durability::Synced)).await;
        written.map_err(|error| failed(error.to_string()))
    }

    pub(super) async fn remove(&self, id: &LoginId) -> Result<bool, Fault> {
        let path = self.path(id, "json")?;
        let path_text = path.display().to_string();
        match blocking(move || std::fs::remove_file(path)).await {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(Fault::unavailable(format!("cannot remove {path_text}: {error}"))),
        }
    }

    /// Locks a login until the returned file is dropped.
    pub(super) async fn lock(&self, id: &LoginId) -> Result<File, Fault> {
        let path = self.path(id, "lock")?;
        let path_text = path.display().to_string();
        let failed = |error: io::Error| Fault::unavailable(format!("cannot lock {path_text}: {error}"));
        let folder = self.folder.clone();
        let open = move || {
            make_private(&folder)?;
            File::options().create(true).truncate(false).write(true).open(path)
        };
        let file = blocking(open).await.map_err(failed)?;
        let until = Instant::now() + MAX_LOCK_WAIT;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(failed(error)),
                Err(TryLockError::WouldBlock) if Instant::now() >= until => {
                    let message = format!("another process is changing the login to '{}'", id.server());
                    return Err(Fault::new(FaultKind::TimedOut, message));
                }
                Err(TryLockError::WouldBlock) => sleep(LOCK_POLL_INTERVAL).await,
            }
        }
    }

    /// Returns the logins of principals, without those that cannot be read. Sorted by server and owner.
    pub(super) async fn of_principals(&self) -> Result<Vec<LoginId>, Fault> {
        let mut login_ids = Vec::new();
        for stem in self.principal_stems().await? {
            let path = self.folder.join(format!("{stem}.json"));
            let read = blocking(move || bounded(&path)).await;
            let login = read.ok().and_then(|bytes| serde_json::from_slice::<StoredLogin>(&bytes).ok());
            let owner = login.and_then(|login| login.owner).map(|owner| Principal::Named(owner.into()));
            login_ids.extend(owner.map(|owner| LoginId::from_principal(server_of(&stem), &owner)));
        }
        let key = |id: &LoginId| (id.server().to_owned(), id.owner().map(|owner| owner.as_str().to_owned()));
        login_ids.sort_by_cached_key(key);
        Ok(login_ids)
    }

    /// Returns the logins of one principal by their files, also of those that cannot be read.
    pub(super) async fn of_principal(&self, principal: &Principal) -> Result<Vec<LoginId>, Fault> {
        let stems = self.principal_stems().await?.into_iter();
        let candidates = stems.map(|stem| (LoginId::from_principal(server_of(&stem), principal), stem));
        Ok(candidates
            .filter(|(id, stem)| id.file_stem().is_ok_and(|file_stem| file_stem == *stem))
            .map(|(id, _)| id)
            .collect())
    }

    async fn principal_stems(&self) -> Result<Vec<String>, Fault> {
        let (folder, path_text) = (self.folder.clone(), self.folder.display().to_string());
        let stems = blocking(move || principal_stems(&folder)).await;
        stems.map_err(|error| Fault::unavailable(format!("cannot list {path_text}: {error}")))
    }

    fn path(&self, id: &LoginId, ending: &str) -> Result<PathBuf, Fault> {
        Ok(self.folder.join(format!("{}.{ending}", id.file_stem()?)))
    }
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> io::Result<T> + Send + 'static) -> io::Result<T> {
    spawn_blocking(work).await.map_err(io::Error::other)?
}

/// Returns the server of a file of a login of a principal.
fn server_of(stem: &str) -> &str {
    stem.split_once('@').map_or(stem, |(server, _)| server)
}

/// Returns the names of the files of logins of principals, without the extension. Empty if there is no folder.
fn principal_stems(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut stems = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let is_login = path.extension().is_some_and(|ending| ending == "json");
        let stem = path.file_stem().and_then(|stem| stem.to_str());
        stems.extend(stem.filter(|stem| is_login && stem.contains('@')).map(str::to_owned));
    }
    Ok(stems)
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

/// Serializes a secret in plain text: the file is readable only by its owner.
pub(super) fn reveal<'a, T, S: Serializer>(secret: &'a T, serializer: S) -> Result<S::Ok, S::Error>
where
    &'a T: Into<Option<&'a Secret>>,
{
    secret.into().map(Secret::reveal).serialize(serializer)
}

pub(super) fn secret<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Secret, D::Error> {
    String::deserialize(deserializer).map(Secret::new)
}

pub(super) fn optional_secret<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Secret>, D::Error> {
    Ok(Option::<String>::deserialize(deserializer)?.map(Secret::new))
}
