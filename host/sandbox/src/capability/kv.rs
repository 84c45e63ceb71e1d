//! `kv`: the gate's own store. Keys of presets and callers stand in the same store behind a mark that no key of the gate's
//! own can begin with, so that one quota is for all of them.

use gatehouse_core::{
    Principal,
    capability::{AccessLevel, Capability},
    hash,
    names::quoted,
    outcome::Fault,
    ports::{KvStore, kv::MAX_KEY},
};

use super::Capabilities;

/// What a mark begins and ends with. It sorts behind every other character, so that marked keys never stand in the way of a
/// list of the others.
const MARK: char = '\u{10ffff}';

/// Whose keys are meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum KvScope {
    Gate,
    Preset,
    Caller,
}

/// The keys of one scope of one gate.
pub(crate) struct ScopedKv<'a> {
    pub(crate) store: &'a dyn KvStore,
    pub(crate) gate: &'a str,
    pub(crate) quota: u64,
    mark: String,
}

impl Capabilities {
    /// The gate's store, through the grant.
    pub(crate) fn kv(&self, scope: KvScope) -> Result<ScopedKv<'_>, Fault> {
        let granted = self.granted(Capability::Kv, AccessLevel::Full)?;
        let context = &granted.call.context;
        let preset = &*context.catalog.preset;
        let mark = match scope {
            KvScope::Gate => String::new(),
            KvScope::Preset => mark('p', &[preset]),
            KvScope::Caller => match &context.principal {
                Principal::Local => mark('l', &[preset]),
                Principal::Named(name) => mark('c', &[preset, name]),
            },
        };
        let facts = granted.facts;
        Ok(ScopedKv { store: &*facts.ports.kv, gate: &facts.gate, quota: facts.limits.kv, mark })
    }
}

/// What stands before the keys of a scope: always of the same length, whatever the names are.
fn mark(kind: char, names: &[&str]) -> String {
    let digest = hash::sha256_json(&names);
    format!("{MARK}{kind}{}{MARK}", &digest[..32])
}

impl ScopedKv<'_> {
    /// The key as the store has it.
    pub(crate) fn key(&self, key: &str) -> Result<String, Fault> {
        let wrong = if key.len() > MAX_KEY { "is too long" } else { "begins with U+10FFFF" };
        if key.len() > MAX_KEY || key.starts_with(MARK) {
            let message = format!("The key '{}' {wrong}.", quoted(key, 80));
            let rule = format!(
                "A key is 1 to {MAX_KEY} bytes of text without NUL that does not begin with U+10FFFF."
            );
            return Err(Fault::invalid(message).hint(rule));
        }
        // The store says what is wrong with an empty one.
        Ok(if key.is_empty() { String::new() } else { format!("{}{key}", self.mark) })
    }

    /// The keys of this scope that begin with `prefix`.
    pub(crate) async fn keys(&self, prefix: &str) -> Result<Vec<String>, Fault> {
        let keys = self.store.keys(self.gate, &format!("{}{prefix}", self.mark)).await?;
        let own = keys.into_iter().filter_map(|key| key.strip_prefix(&self.mark).map(str::to_owned));
        Ok(own.filter(|key| !key.starts_with(MARK)).collect())
    }
}
