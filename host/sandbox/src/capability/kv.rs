//! `kv`: the gate's key-value store. Keys of presets and callers have a prefix that a gate's own keys cannot have.
//! Keys of named callers count for their caller, all others for the gate.

use gatehouse_core::{
    Principal,
    capability::{AccessLevel, Capability},
    hash,
    names::quoted,
    outcome::Fault,
    ports::{
        KvStore,
        kv::{KvQuota, MAX_KEY},
    },
};

use super::{Capabilities, GrantedAccess};

/// First and last character of a mark. It sorts last, so marked keys follow all others in a listing.
const MARK: char = '\u{10ffff}';

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KvScope {
    Gate,
    Preset,
    Caller,
}

pub(crate) struct ScopedKv<'a> {
    pub(crate) store: &'a dyn KvStore,
    pub(crate) gate: &'a str,
    granted: GrantedAccess<'a>,
    mark: String,
    /// The caller, if the entries belong to it.
    owner: Option<&'a str>,
}

impl Capabilities {
    pub(crate) fn kv(&self, scope: KvScope) -> Result<ScopedKv<'_>, Fault> {
        let granted = self.granted(Capability::Kv, AccessLevel::Full)?;
        let context = &granted.call.context;
        let preset = &*context.catalog.preset;
        let mark = match scope {
            KvScope::Gate => String::new(),
            KvScope::Preset => mark('p', &[preset]),
            KvScope::Caller => caller_key_prefix(preset, context.principal()),
        };
        // The local user has the gate to itself, so one quota covers all scopes.
        let owner = match context.principal() {
            Principal::Named(name) if scope == KvScope::Caller => Some(&**name),
            _ => None,
        };
        let facts = granted.facts;
        Ok(ScopedKv { store: &*facts.ports.kv, gate: &facts.gate, granted, mark, owner })
    }
}

/// Returns the prefix of keys that a caller has in a preset.
pub fn caller_key_prefix(preset: &str, principal: &Principal) -> String {
    match principal {
        Principal::Local => mark('l', &[preset]),
        Principal::Named(name) => mark('c', &[preset, name]),
    }
}

/// Returns the key prefix of a scope. Its length does not depend on the names.
fn mark(kind: char, names: &[&str]) -> String {
    let digest = hash::sha256_json(&names);
    format!("{MARK}{kind}{}{MARK}", &digest[..32])
}

impl ScopedKv<'_> {
    pub(crate) fn key(&self, key: &str) -> Result<String, Fault> {
        let wrong = if key.len() > MAX_KEY { "is too long" } else { "begins with U+10FFFF" };
        if key.len() > MAX_KEY || key.starts_with(MARK) {
            let message = format!("key '{}' {wrong}", quoted(key, 80));
            let rule = format!(
                "A key is 1 to {MAX_KEY} bytes of text without NUL that does not begin with U+10FFFF."
            );
            return Err(Fault::invalid(message).hint(rule));
        }
        // The store rejects an empty key.
        Ok(if key.is_empty() { String::new() } else { format!("{}{key}", self.mark) })
    }

    /// Returns the limits of a write now.
    pub(crate) async fn quota(&self) -> Result<KvQuota<'_>, Fault> {
        let GrantedAccess { facts, call } = self.granted;
        let mut owner_bytes = call.context.notes.stored_limit().filter(|_| self.owner.is_some());
        if let Some(bytes) = &mut owner_bytes {
            let artifacts = facts.ports.artifacts.port()?.owner_bytes(call.context.principal()).await?;
            *bytes = bytes.saturating_sub(artifacts);
        }
        Ok(KvQuota { bytes: facts.limits.kv, owner: self.owner, owner_bytes })
    }

    pub(crate) async fn keys(&self, prefix: &str) -> Result<Vec<String>, Fault> {
        let keys = self.store.keys(self.gate, &format!("{}{prefix}", self.mark)).await?;
        let own_keys = keys.into_iter().filter_map(|key| key.strip_prefix(&self.mark).map(str::to_owned));
        Ok(own_keys.filter(|key| !key.starts_with(MARK)).collect())
    }
}
