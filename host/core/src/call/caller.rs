//! Callers: who sends a request, proved by a credential; and the notes that stages leave on a call for other stages
//! and for the audit.

use std::{
    fmt,
    net::IpAddr,
    sync::{
        Arc, LazyLock, OnceLock,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio_util::sync::CancellationToken;

use crate::{CallContext, Effect, names, quota_meter::estimated_tokens};

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
        self.presets.as_ref().is_none_or(|presets| presets.iter().any(|name| **name == *preset))
    }
}

/// Characters of a client's name and version, as the client says them.
const MAX_CLIENT_CHARS: usize = 128;

impl CallContext {
    /// Returns the name and version of the client, as it said, or an empty text.
    pub(crate) fn client_name(&self) -> String {
        let origin = self.origin.as_deref().map(|origin| &origin.client).filter(|client| !client.is_empty());
        let client = origin.cloned().unwrap_or_else(|| {
            let profile = self.client.profile();
            format!("{} {}", profile.name, profile.version)
        });
        names::quoted(client.trim(), MAX_CLIENT_CHARS)
    }
}

/// Notes on a call. The first note of a kind stays.
#[derive(Debug, Default)]
pub struct CallNotes {
    rule: OnceLock<Arc<str>>,
    approval: OnceLock<&'static str>,
    stored_limit: OnceLock<u64>,
    /// Tokens that models used, shared by all calls within a client's call.
    pub model_tokens: ModelTokens,
}

impl CallNotes {
    /// Creates notes of a call within another, which counts the same model tokens.
    pub(crate) fn within(outer: &Self) -> Self {
        Self { model_tokens: outer.model_tokens.clone(), ..Self::default() }
    }

    /// Creates notes for a filter, which acts for the same call.
    pub(crate) fn for_filter(outer: &Self) -> Self {
        let notes = Self::within(outer);
        notes.set_stored_limit(outer.stored_limit());
        notes
    }

    /// Notes the rule that decided about the call, such as an access rule with its line. Only operators see it.
    pub fn set_rule(&self, rule: &str) {
        let _ = self.rule.set(rule.into());
    }

    pub fn rule(&self) -> Option<Arc<str>> {
        self.rule.get().cloned()
    }

    pub(crate) fn set_approval(&self, approval: &'static str) {
        let _ = self.approval.set(approval);
    }

    /// Returns how the call was approved or refused. `None` if it needed no approval.
    pub fn approval(&self) -> Option<&'static str> {
        self.approval.get().copied()
    }

    pub(crate) fn set_stored_limit(&self, limit: Option<u64>) {
        if let Some(limit) = limit {
            let _ = self.stored_limit.set(limit);
        }
    }

    /// Returns the maximum bytes that the caller may store. `None` if no quota limits them.
    pub fn stored_limit(&self) -> Option<u64> {
        self.stored_limit.get().copied()
    }
}

/// Tokens that models of the host used for one client call.
#[derive(Debug, Clone, Default)]
pub struct ModelTokens(Arc<AtomicU64>);

impl ModelTokens {
    pub fn add(&self, tokens: u64) {
        self.0.fetch_add(tokens, Ordering::Relaxed);
    }

    /// Adds the estimated tokens of a text.
    pub fn add_bytes(&self, bytes: usize) {
        self.add(estimated_tokens(bytes));
    }

    pub fn total(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
