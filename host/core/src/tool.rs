//! Tools: as their source declares them, and under the name that a client sees.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    effect::{Effect, Intent, ToolHints},
    hash::sha256_hex,
    icon::Icon,
    tool_policy::{PRECHECK_KEYWORD, TARGET_KEYWORD},
};

/// Where tools come from.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceId {
    /// A gate, by the name presets.toml gives it.
    Gate(Arc<str>),
    /// A proxied MCP server, by the name presets.toml gives it.
    Server(Arc<str>),
}

impl SourceId {
    /// The name without its kind.
    pub fn name(&self) -> &Arc<str> {
        match self {
            Self::Gate(name) | Self::Server(name) => name,
        }
    }

    /// In a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Gate(_) => "gate",
            Self::Server(_) => "server",
        }
    }

    /// The name under which clients see a tool of this source: a gate's own name for it, `server__tool` for a
    /// server's. What a server's name for it has too much, or of other characters, gives way to a digest.
    pub fn exposed_name(&self, tool: &str) -> Result<ExposedName, NameError> {
        let Self::Server(server) = self else { return ExposedName::new(tool) };
        let whole = format!("{server}__{tool}");
        ExposedName::new(&whole).or_else(|_| {
            let fitting = whole.chars().map(|c| if ExposedName::is_allowed(c) { c } else { '_' });
            let mut name: String = fitting.take(MAX_NAME_CHARS - 9).collect();
            name.push('_');
            name.push_str(&sha256_hex(&whole)[..8]);
            ExposedName::new(&name)
        })
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.kind(), self.name())
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
pub const MAX_NAME_CHARS: usize = 64;

/// The name a client sees: 1 to 64 characters of `A-Z a-z 0-9 _ - .` (the MCP specification's set).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExposedName(Arc<str>);

/// Why a text cannot be the name of a tool; the name is quoted, and cut where it is long.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Empty, or too long.
    #[error("'{0}' has {1} characters, a tool name has 1 to {MAX_NAME_CHARS}")]
    Length(String, usize),
    /// It has a character that clients do not accept.
    #[error("'{0}' contains {1:?}, a tool name has A-Z a-z 0-9 _ - . only")]
    Character(String, char),
}

impl ExposedName {
    /// Checks the name.
    pub fn new(name: &str) -> Result<Self, NameError> {
        let shown = || crate::names::quoted(name, MAX_NAME_CHARS);
        if name.is_empty() || name.len() > MAX_NAME_CHARS {
            return Err(NameError::Length(shown(), name.chars().count()));
        }
        match name.chars().find(|c| !Self::is_allowed(*c)) {
            Some(bad) => Err(NameError::Character(shown(), bad)),
            None => Ok(Self(name.into())),
        }
    }

    fn is_allowed(c: char) -> bool {
        c.is_ascii_alphanumeric() || "_-.".contains(c)
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
    /// Where it changes something: whether it only adds, so that nothing that was there is changed or lost.
    #[serde(default)]
    pub additive: bool,
    /// What clients get as its `_meta`; keys with a prefix, as MCP wants it.
    pub meta: Option<Arc<Map<String, Value>>>,
    /// Pictures for people.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

impl ToolSpec {
    /// The hints for clients.
    pub fn annotations(&self) -> ToolHints {
        ToolHints::new(self.effect, self.additive, self.idempotent, self.open_world)
    }

    /// The schema of the arguments without the keywords that only request envelopes read; some model providers refuse
    /// unknown keywords.
    pub fn schema_for_clients(&self) -> Arc<Map<String, Value>> {
        const KEYWORDS: [&str; 2] = [TARGET_KEYWORD, PRECHECK_KEYWORD];
        let mut schema = Arc::clone(&self.input_schema);
        if KEYWORDS.iter().any(|keyword| schema.contains_key(*keyword)) {
            let shown = Arc::make_mut(&mut schema);
            for keyword in KEYWORDS {
                shown.shift_remove(keyword);
            }
        }
        schema
    }

    /// Whether something may be changed or lost by it.
    pub fn is_destructive(&self) -> bool {
        self.effect != Effect::ReadOnly && !self.additive
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

    #[test]
    fn tools_of_servers_have_a_prefix_and_names_that_fit() {
        let server = SourceId::Server("github".into());
        let exposed = |tool: &str| server.exposed_name(tool).expect("a name").to_string();
        assert_eq!(exposed("create_issue"), "github__create_issue");
        let long = "x".repeat(100);
        let (one, other) = (exposed(&format!("{long}1")), exposed(&format!("{long}2")));
        assert_eq!((one.len(), other.len()), (MAX_NAME_CHARS, MAX_NAME_CHARS));
        assert_ne!(one, other);
        assert_eq!(one, exposed(&format!("{long}1")), "the same at each start");
        assert!(exposed("list files/all").starts_with("github__list_files_all_"));
        assert_ne!(exposed("list files"), exposed("list/files"));
        assert!(SourceId::Gate("kg".into()).exposed_name("list files").is_err());
    }
}
