//! Callers: who sends a request, proved by a credential.

use std::{
    fmt,
    net::IpAddr,
    sync::{Arc, LazyLock},
};

use tokio_util::sync::CancellationToken;

use crate::Effect;

/// Identity of a caller. It owns artifacts, sessions, keys of `kv`, approvals and paused calls.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum Principal {
    /// The process that started the host over stdio, or any client on loopback.
    #[default]
    Local,
    /// A name from a credential: `token`, `key:NAME` or `ISSUER:SUBJECT`.
    Named(Arc<str>),
}

impl Principal {
    pub fn as_str(&self) -> &str {
        match self {
            Self::Local => "local",
            Self::Named(name) => name,
        }
    }
}

/// Where a request came from.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RequestOrigin {
    /// Address of the client. `None` over stdio.
    pub address: Option<IpAddr>,
    /// Name and version of the client, or empty if unknown.
    pub client: String,
}

impl fmt::Display for Principal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A principal together with what its credential says about it.
#[derive(Debug)]
pub struct Caller {
    pub principal: Principal,
    /// Groups, without the prefix `group:` that access rules write.
    pub groups: Vec<Arc<str>>,
    /// The only presets that the credential opens. `None` if it names none.
    pub presets: Option<Vec<Arc<str>>>,
    /// The strongest effect that the scopes of the credential allow. `None` for no limit.
    pub effect: Option<Effect>,
    /// The credential for logs and the audit, such as `key 3f9a`. Never the secret.
    pub credential: Arc<str>,
    /// When the credential ends, in milliseconds since 1970. `None` for never.
    pub expires_at: Option<u64>,
    /// Cancelled when the credential is revoked or expires. Streams of changes end then.
    pub ended: CancellationToken,
}

static LOCAL: LazyLock<Arc<Caller>> = LazyLock::new(|| Arc::new(Caller::new(Principal::Local, "none")));

impl Caller {
    /// Returns a caller without groups or limits.
    pub fn new(principal: Principal, credential: &str) -> Self {
        Self {
            principal,
            groups: Vec::new(),
            presets: None,
            effect: None,
            credential: credential.into(),
            expires_at: None,
            ended: CancellationToken::new(),
        }
    }

    /// Returns the user of this machine, who needs no credential.
    pub fn local() -> Arc<Self> {
        Arc::clone(&LOCAL)
    }

    /// Returns a caller with a name and no limits.
    pub fn named(name: &str) -> Arc<Self> {
        Arc::new(Self::new(Principal::Named(name.into()), name))
    }

    /// Whether the credential opens a preset.
    pub fn opens_preset(&self, preset: &str) -> bool {
        self.presets.as_ref().is_none_or(|presets| presets.iter().any(|known| **known == *preset))
    }
}
