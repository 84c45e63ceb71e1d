//! What a gate may do: capabilities, what a component asks for, what presets.toml grants.
//!
//! The list in [`Capability::ALL`] is the only one: grants in presets.toml, the denial texts and the
//! report of `gates inspect` are made from it.

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use crate::{names, outcome::Fault};

/// A family of host functions, one WIT interface each.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capability {
    /// Facts about the call, log, progress.
    Context,
    /// The compressors that work without a model.
    Text,
    /// The knowledge graph.
    Knowledge,
    /// Repositories of documents, to search and to read.
    Documents,
    /// The tools that the caller has.
    Catalog,
    /// Requests to the hosts that presets.toml names.
    Http,
    /// A gate's own store of bytes under names.
    Kv,
    /// Language and embedding models.
    Models,
    /// Texts that were too large to show.
    Artifacts,
    /// The MCP servers behind this host.
    Servers,
    /// Changes to them, for all presets.
    ServersAdmin,
    /// Questions to the person in front of the client.
    Elicitation,
    /// Questions to the client's model.
    Sampling,
}

/// How much of a capability.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AccessLevel {
    /// Only what changes nothing.
    Read,
    /// All of it.
    Full,
}

impl Capability {
    /// Every capability of this host.
    pub const ALL: [Self; 13] = [
        Self::Context,
        Self::Text,
        Self::Knowledge,
        Self::Documents,
        Self::Catalog,
        Self::Kv,
        Self::Models,
        Self::Artifacts,
        Self::Servers,
        Self::ServersAdmin,
        Self::Elicitation,
        Self::Sampling,
        Self::Http,
    ];

    /// The name of the WIT interface, and of the grant.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Context => "context",
            Self::Text => "text",
            Self::Knowledge => "knowledge",
            Self::Documents => "documents",
            Self::Catalog => "catalog",
            Self::Http => "http",
            Self::Kv => "kv",
            Self::Models => "models",
            Self::Artifacts => "artifacts",
            Self::Servers => "servers",
            Self::ServersAdmin => "servers-admin",
            Self::Elicitation => "elicitation",
            Self::Sampling => "sampling",
        }
    }

    /// Whether every gate has it.
    pub const fn always_granted(self) -> bool {
        matches!(self, Self::Context | Self::Text)
    }

    /// Whether there is a `:read` grant that leaves out what changes something.
    pub const fn has_read_access(self) -> bool {
        matches!(self, Self::Knowledge)
    }

    /// Whether it is granted by a block of its own, `[gates.<name>.<capability>]`, instead of an entry.
    pub const fn granted_by_block(self) -> bool {
        matches!(self, Self::Http)
    }

    /// Whether it stands in the list `grants`.
    const fn granted_by_entry(self) -> bool {
        !self.always_granted() && !self.granted_by_block()
    }

    /// The grants a person may write, for messages.
    pub fn grantable() -> Vec<String> {
        let names = Self::ALL.into_iter().filter(|c| c.granted_by_entry()).flat_map(|capability| {
            let read = capability.has_read_access().then(|| format!("{capability}:read"));
            std::iter::once(capability.to_string()).chain(read)
        });
        names.collect()
    }
}

impl fmt::Display for Capability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a component asks for: the capabilities in its import list, and what else it imports.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RequestedCapabilities {
    /// Ours, sorted.
    pub capabilities: Vec<Capability>,
    /// Everything else by its full interface name, sorted: WASI as a rule.
    pub others: Vec<String>,
}

/// What presets.toml grants to one gate.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Grants(BTreeMap<Capability, AccessLevel>);

impl Grants {
    /// Reads `["knowledge:read", …]`; the error names the entry and what is allowed.
    pub fn parse<'a>(entries: impl IntoIterator<Item = &'a str>) -> Result<Self, String> {
        let mut grants = BTreeMap::new();
        for entry in entries {
            let (name, access) = match entry.split_once(':') {
                Some((name, "read")) => (name, AccessLevel::Read),
                Some(_) => ("", AccessLevel::Read),
                None => (entry, AccessLevel::Full),
            };
            let found = Capability::ALL.into_iter().find(|c| {
                c.as_str() == name
                    && c.granted_by_entry()
                    && (access == AccessLevel::Full || c.has_read_access())
            });
            if let Some(block) =
                Capability::ALL.into_iter().find(|c| c.as_str() == name && c.granted_by_block())
            {
                return Err(format!(
                    "'{block}' is not granted by an entry; write a block [gates.<name>.{block}] that says what it may reach"
                ));
            }
            let Some(capability) = found else {
                let known = Capability::grantable();
                let near = names::did_you_mean(entry, known.iter().map(String::as_str));
                return Err(format!("unknown grant '{entry}'; there are {}.{near}", known.join(", ")));
            };
            let widest = grants.entry(capability).or_insert(access);
            *widest = access.max(*widest);
        }
        Ok(Self(grants))
    }

    /// Adds a capability that has a block of its own.
    #[must_use]
    pub fn with_block(mut self, capability: Capability) -> Self {
        self.0.insert(capability, AccessLevel::Full);
        self
    }

    /// How much of a capability is granted.
    pub fn access(&self, capability: Capability) -> Option<AccessLevel> {
        if capability.always_granted() { Some(AccessLevel::Full) } else { self.0.get(&capability).copied() }
    }

    /// Passes, or says which line to add.
    pub fn require(&self, gate: &str, capability: Capability, needed: AccessLevel) -> Result<(), Fault> {
        if self.access(capability).is_some_and(|have| have >= needed) {
            return Ok(());
        }
        if capability.granted_by_block() {
            return Err(Fault::denied(format!("Gate '{gate}' has no grant '{capability}'."))
                .hint(format!("To allow it, write a block [gates.{gate}.{capability}] in presets.toml.")));
        }
        let grant = match needed {
            AccessLevel::Read if capability.has_read_access() => format!("{capability}:read"),
            _ => capability.to_string(),
        };
        Err(Fault::denied(format!("Gate '{gate}' has no grant '{grant}'."))
            .hint(format!("To allow it, add \"{grant}\" to grants under [gates.{gate}] in presets.toml.")))
    }

    /// The grants as they are written in presets.toml.
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
        let error = Grants::parse(["knowlege"]).expect_err("unknown");
        assert_eq!(
            error,
            "unknown grant 'knowlege'; there are knowledge, knowledge:read, documents, catalog, kv, models, artifacts, servers, servers-admin, elicitation, sampling. Did you mean 'knowledge'?"
        );
        assert!(Grants::parse(["context"]).is_err(), "what is always granted is not a grant");
        assert!(Grants::parse(["knowledge:write"]).is_err());
        let block = Grants::parse(["http"]).expect_err("a block");
        assert!(block.contains("write a block [gates.<name>.http]"), "{block}");
        let granted = Grants::default().with_block(Capability::Http);
        assert_eq!(
            (granted.access(Capability::Http), granted.entries()),
            (Some(AccessLevel::Full), vec!["http".into()])
        );
    }
}
