//! Capabilities of gates, their imports by components, and their grants in presets.toml. Grants, denial messages and
//! the report of `gates inspect` are all derived from [`Capability::ALL`].

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{Fault, InvalidValue, names, util::enum_words};

/// A group of host functions; one WIT interface each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Facts about the call, logging, progress.
    Context,
    /// Compressors that need no model.
    Text,
    /// The text and the data of replies.
    Replies,
    Knowledge,
    Documents,
    /// Tools available to the caller.
    Catalog,
    /// Requests to the hosts that presets.toml allows.
    Http,
    /// The gate's own key-value store.
    Kv,
    Models,
    /// Stored texts that were too large to show.
    Artifacts,
    Servers,
    /// Changes to those servers, for all presets.
    ServersAdmin,
    /// Questions to the user.
    Elicitation,
    /// Questions to the client's model.
    Sampling,
}

/// Extent of a grant.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLevel {
    /// Only functions that change nothing.
    Read,
    Full,
}

// The words are the names of the WIT interfaces and of the grants.
enum_words! { Capability {
    Context: "context", Text: "text", Replies: "replies", Knowledge: "knowledge", Documents: "documents",
    Catalog: "catalog", Kv: "kv", Models: "models", Artifacts: "artifacts", Servers: "servers", ServersAdmin: "servers-admin",
    Elicitation: "elicitation", Sampling: "sampling", Http: "http",
} }

impl Capability {
    /// Returns true if every gate has it.
    pub const fn always_granted(self) -> bool {
        matches!(self, Self::Context | Self::Text | Self::Replies)
    }

    /// Returns true if it has a `:read` grant, for the functions that change nothing.
    pub const fn has_read_access(self) -> bool {
        matches!(self, Self::Knowledge)
    }

    /// Returns true if a block `[gates.<name>.<capability>]` grants it instead of an entry in `grants`.
    pub const fn granted_by_block(self) -> bool {
        matches!(self, Self::Http)
    }

    const fn granted_by_entry(self) -> bool {
        !self.always_granted() && !self.granted_by_block()
    }

    /// Returns all valid entries of `grants`, for messages.
    pub fn grantable() -> Vec<String> {
        let names = Self::ALL.into_iter().filter(|c| c.granted_by_entry()).flat_map(|capability| {
            let read = capability.has_read_access().then(|| format!("{capability}:read"));
            std::iter::once(capability.to_string()).chain(read)
        });
        names.collect()
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCapabilities {
    /// Gatehouse's own interfaces, sorted.
    pub capabilities: Vec<Capability>,
    /// All other interfaces by full name, sorted; usually WASI.
    pub others: Vec<String>,
}

/// Grants of one gate in presets.toml.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants(BTreeMap<Capability, AccessLevel>);

impl Grants {
    /// Parses entries such as `knowledge:read`. The error names the entry and lists the valid ones.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, InvalidValue> {
        let mut grants = BTreeMap::new();
        for entry in entries {
            let (name, access) = match entry.split_once(':') {
                Some((name, "read")) => (name, AccessLevel::Read),
                Some(_) => ("", AccessLevel::Read),
                None => (entry, AccessLevel::Full),
            };
            let named = Capability::ALL.into_iter().find(|capability| capability.as_str() == name);
            if let Some(block) = named.filter(|capability| capability.granted_by_block()) {
                return Err(format!(
                    "'{block}' is not granted by an entry; write a block [gates.<name>.{block}] that lists what it \
                    may access"
                ).into());
            }
            let is_valid = |capability: &Capability| {
                capability.granted_by_entry() && (access == AccessLevel::Full || capability.has_read_access())
            };
            let Some(capability) = named.filter(is_valid) else {
                let grant_names = Capability::grantable();
                let suggestion = names::did_you_mean(entry, grant_names.iter().map(String::as_str));
                return Err(format!(
                    "unknown grant '{entry}'; the grants are {}.{suggestion}",
                    grant_names.join(", ")
                )
                .into());
            };
            let widest = grants.entry(capability).or_insert(access);
            *widest = access.max(*widest);
        }
        Ok(Self(grants))
    }

    #[must_use]
    pub fn with_block(mut self, capability: Capability) -> Self {
        self.0.insert(capability, AccessLevel::Full);
        self
    }

    /// Returns the granted extent. `None` if it is not granted.
    pub fn access(&self, capability: Capability) -> Option<AccessLevel> {
        if capability.always_granted() { Some(AccessLevel::Full) } else { self.0.get(&capability).copied() }
    }

    /// Checks that a capability is granted; the fault's hint shows the line to add.
    pub fn require(&self, gate: &str, capability: Capability, needed: AccessLevel) -> Result<(), Fault> {
        if self.access(capability).is_some_and(|have| have >= needed) {
            return Ok(());
        }
        if capability.granted_by_block() {
            return Err(Fault::denied(format!("gate '{gate}' has no grant '{capability}'"))
                .hint(format!("To allow it, write a block [gates.{gate}.{capability}] in presets.toml.")));
        }
        let grant = match needed {
            AccessLevel::Read if capability.has_read_access() => format!("{capability}:read"),
            _ => capability.to_string(),
        };
        Err(Fault::denied(format!("gate '{gate}' has no grant '{grant}'"))
            .hint(format!("To allow it, add \"{grant}\" to grants under [gates.{gate}] in presets.toml.")))
    }

    pub fn entries(&self) -> Vec<String> {
        let entry = |(capability, access): (&Capability, &AccessLevel)| match access {
            AccessLevel::Read => format!("{capability}:read"),
            AccessLevel::Full => capability.to_string(),
        };
        self.0.iter().map(entry).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_granted_unless_written() {
        let none = Grants::default();
        assert!(none.require("kg", Capability::Context, AccessLevel::Full).is_ok());
        let denied = none.require("kg", Capability::Knowledge, AccessLevel::Read).expect_err("denied");
        assert_eq!(
            denied.hint.as_deref(),
            Some("To allow it, add \"knowledge:read\" to grants under [gates.kg] in presets.toml.")
        );
    }

    #[test]
    fn reading_does_not_grant_writing() {
        let read = Grants::parse(["knowledge:read"]).expect("known");
        assert!(read.require("idea", Capability::Knowledge, AccessLevel::Read).is_ok());
        assert!(read.require("idea", Capability::Knowledge, AccessLevel::Full).is_err());
        let both = Grants::parse(["knowledge", "knowledge:read"]).expect("known");
        assert_eq!(both.access(Capability::Knowledge), Some(AccessLevel::Full));
    }

    #[test]
    fn unknown_grants_are_named() {
        let error = Grants::parse(["knowlege"]).expect_err("unknown").to_string();
        assert_eq!(
            error,
            "unknown grant 'knowlege'; the grants are knowledge, knowledge:read, documents, catalog, kv, models, \
            artifacts, servers, servers-admin, elicitation, sampling. Did you mean 'knowledge'?"
        );
        assert!(Grants::parse(["context"]).is_err(), "what is always granted is not a grant");
        assert!(Grants::parse(["knowledge:write"]).is_err());
        let block = Grants::parse(["http"]).expect_err("a block").to_string();
        assert!(block.contains("write a block [gates.<name>.http]"), "{block}");
        let granted = Grants::default().with_block(Capability::Http);
        assert_eq!(
            (granted.access(Capability::Http), granted.entries()),
            (Some(AccessLevel::Full), vec!["http".into()])
        );
    }
}
