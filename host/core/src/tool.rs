//! Tools: as their source declares them, and under the name that a client sees.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::effect::{Annotations, Effect, Intent};

/// Where tools come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceId {
    /// A gate, by the name presets.toml gives it.
    Gate(Arc<str>),
    /// A proxied MCP server, by the name presets.toml gives it.
    Downstream(Arc<str>),
}

impl SourceId {
    /// The name without its kind.
    pub fn name(&self) -> &str {
        match self {
            Self::Gate(name) | Self::Downstream(name) => name,
        }
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Gate(name) => write!(f, "gate '{name}'"),
            Self::Downstream(name) => write!(f, "server '{name}'"),
        }
    }
}

/// A tool's identity, whatever a preset calls it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId {
    /// Where it comes from.
    pub source: SourceId,
    /// The name that the source declares.
    pub name: Arc<str>,
}

/// The most characters a client-visible tool name may have; common clients refuse longer ones.
pub const MAX_NAME: usize = 64;

/// The name a client sees: 1 to 64 characters of `A-Z a-z 0-9 _ - .` (the MCP specification's set).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExposedName(Arc<str>);

impl ExposedName {
    /// Checks the name; the error says what is wrong with it.
    pub fn new(name: &str) -> Result<Self, String> {
        if name.is_empty() || name.len() > MAX_NAME {
            return Err(format!(
                "'{}' has {} characters, a tool name has 1 to {MAX_NAME}",
                crate::names::quoted(name, MAX_NAME),
                name.chars().count()
            ));
        }
        match name.chars().find(|c| !(c.is_ascii_alphanumeric() || "_-.".contains(*c))) {
            Some(bad) => Err(format!(
                "'{}' contains {bad:?}, a tool name has A-Z a-z 0-9 _ - . only",
                crate::names::quoted(name, MAX_NAME)
            )),
            None => Ok(Self(name.into())),
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::borrow::Borrow<str> for ExposedName {
    fn borrow(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for ExposedName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A tool as its source declares it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ToolSpec {
    /// Unique within its source.
    pub name: Arc<str>,
    /// A name for people.
    pub title: Option<String>,
    /// When to use it, what comes back, what to try next.
    pub description: String,
    /// JSON Schema of the arguments; its type is object.
    pub input_schema: Arc<Map<String, Value>>,
    /// JSON Schema of the structured reply.
    pub output_schema: Option<Arc<Map<String, Value>>>,
    /// What it is for.
    pub intent: Intent,
    /// The strongest thing it may do.
    pub effect: Effect,
    /// Whether twice is the same as once.
    pub idempotent: bool,
    /// Whether it reaches beyond what Gatehouse keeps.
    pub open_world: bool,
    /// Name of the boolean argument that makes it a rehearsal.
    pub dry_run: Option<String>,
}

impl ToolSpec {
    /// The hints for clients.
    pub fn annotations(&self) -> Annotations {
        Annotations::of(self.effect, self.idempotent, self.open_world)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_outside_the_set_are_refused() {
        assert!(ExposedName::new("get_wiki-page.v2").is_ok());
        for bad in ["", "a b", "tööl", "x\u{202e}", &"x".repeat(65)] {
            assert!(ExposedName::new(bad).is_err(), "{bad:?}");
        }
    }
}
