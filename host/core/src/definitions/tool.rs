//! Tools, as their source declares them and under the name that clients see.

use std::{fmt, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{
    Effect, Intent,
    effect::ToolHints,
    hash::sha256_hex,
    hidden_chars::is_hidden,
    icon::Icon,
    names::quoted,
    tool_policy::{PRECHECK_KEYWORD, TARGET_KEYWORD},
};

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SourceId {
    /// A gate, by its name in presets.toml.
    Gate(Arc<str>),
    /// An MCP server, by its name in presets.toml.
    Server(Arc<str>),
}

impl SourceId {
    pub fn name(&self) -> &Arc<str> {
        match self {
            Self::Gate(name) | Self::Server(name) => name,
        }
    }

    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Gate(_) => "gate",
            Self::Server(_) => "server",
        }
    }

    /// Returns the exposed name of a tool: a gate's own name for it, or `server__tool` for a server. That of a server ends
    /// in a digest if it would be too long or have characters that clients refuse.
    pub fn exposed_name(&self, tool: &str) -> Result<ExposedName, NameError> {
        let Self::Server(server) = self else { return ExposedName::new(tool) };
        let whole = format!("{server}__{tool}");
        // MCP allows a dot, and the model providers OpenAI and Anthropic refuse it.
        if !whole.contains('.')
            && let Ok(name) = ExposedName::new(&whole)
        {
            return Ok(name);
        }
        let is_kept = |c: char| ExposedName::is_allowed(c) && c != '.';
        let fitting = whole.chars().map(|c| if is_kept(c) { c } else { '_' });
        let mut name: String = fitting.take(MAX_NAME_CHARS - 9).collect();
        name.push('_');
        name.push_str(&sha256_hex(&whole)[..8]);
        ExposedName::new(&name)
    }
}

impl fmt::Display for SourceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} '{}'", self.kind(), self.name())
    }
}

/// Identity of a tool, under any preset.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ToolId {
    pub source: SourceId,
    pub name: Arc<str>,
}

impl ToolId {
    /// Returns `server__tool` with the server's own name, which clients may see changed. `None` for gates.
    pub fn whole_name(&self) -> Option<String> {
        let SourceId::Server(server) = &self.source else { return None };
        Some(format!("{server}__{}", self.name))
    }
}

/// Maximum characters of an exposed name; common clients refuse longer ones.
pub const MAX_NAME_CHARS: usize = 64;

/// Maximum characters of a server's own name for a tool or prompt: the limit of the MCP specification.
pub const MAX_SERVER_NAME_CHARS: usize = 128;

/// A name that clients see: 1 to 64 characters of `A-Z a-z 0-9 _ - .`, the set of the MCP specification.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExposedName(Arc<str>);

/// Reason a text is not a valid tool name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    #[error("'{0}' has {1} characters; a name has 1 to {2}")]
    Length(String, usize, usize),
    #[error("'{0}' contains {1:?}; a name has only A-Z a-z 0-9 _ - .")]
    Character(String, char),
    #[error("'{0}' has hidden characters")]
    Hidden(String),
}

/// Checks a server's own name for a tool or prompt. It may have any characters that are visible.
pub(crate) fn check_server_name(name: &str) -> Result<(), NameError> {
    check_length(name, MAX_SERVER_NAME_CHARS)?;
    match name.chars().any(|c| c.is_control() || is_hidden(c)) {
        true => Err(NameError::Hidden(quoted(name, MAX_NAME_CHARS))),
        false => Ok(()),
    }
}

fn check_length(name: &str, max: usize) -> Result<(), NameError> {
    let length = name.chars().count();
    match (1..=max).contains(&length) {
        true => Ok(()),
        false => Err(NameError::Length(quoted(name, MAX_NAME_CHARS), length, max)),
    }
}

impl ExposedName {
    pub fn new(name: &str) -> Result<Self, NameError> {
        check_length(name, MAX_NAME_CHARS)?;
        match name.chars().find(|c| !Self::is_allowed(*c)) {
            Some(bad) => Err(NameError::Character(quoted(name, MAX_NAME_CHARS), bad)),
            None => Ok(Self(name.into())),
        }
    }

    fn is_allowed(c: char) -> bool {
        c.is_ascii_alphanumeric() || "_-.".contains(c)
    }

    pub fn as_str(&self) -> &str {
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
    pub title: Option<String>,
    pub description: String,
    /// JSON Schema of the arguments, of type object.
    pub input_schema: Arc<Map<String, Value>>,
    pub output_schema: Option<Arc<Map<String, Value>>>,
    pub intent: Intent,
    pub effect: Effect,
    pub idempotent: bool,
    /// True if it accesses anything beyond Gatehouse's own data.
    pub open_world: bool,
    /// Name of the boolean argument that makes a call a dry run.
    pub dry_run: Option<String>,
    /// True if it only adds, so that it changes or loses no existing data.
    #[serde(default)]
    pub additive: bool,
    /// `_meta` for clients; MCP requires prefixed keys.
    pub meta: Option<Arc<Map<String, Value>>>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub icons: Vec<Icon>,
}

impl ToolSpec {
    /// Returns a tool without arguments that reads the host's own data.
    pub fn new(name: impl Into<Arc<str>>, description: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            title: None,
            description: description.into(),
            input_schema: Arc::default(),
            output_schema: None,
            intent: Intent::Query,
            effect: Effect::ReadOnly,
            idempotent: true,
            open_world: false,
            dry_run: None,
            additive: false,
            meta: None,
            icons: Vec::new(),
        }
    }

    /// Derives the annotations. Tools above read-only may overwrite data, so they count as destructive unless
    /// `additive`. `open_world` stays as declared: a tool can destroy the server's own data and access nothing else.
    pub fn annotations(&self) -> ToolHints {
        let read_only = self.effect == Effect::ReadOnly;
        ToolHints {
            read_only,
            destructive: self.is_destructive(),
            idempotent: read_only || self.idempotent,
            open_world: self.open_world,
        }
    }

    /// Returns the argument schema without keywords for request envelopes: some model providers refuse unknown
    /// keywords.
    pub fn schema_for_clients(&self) -> Arc<Map<String, Value>> {
        const KEYWORDS: [&str; 2] = [TARGET_KEYWORD, PRECHECK_KEYWORD];
        let mut schema = Arc::clone(&self.input_schema);
        if KEYWORDS.iter().any(|keyword| schema.contains_key(*keyword)) {
            let client_schema = Arc::make_mut(&mut schema);
            for keyword in KEYWORDS {
                client_schema.shift_remove(keyword);
            }
        }
        schema
    }

    /// Returns true if the tool has an interface (MCP Apps) or belongs to one, which reads its structured data.
    pub fn has_interface(&self) -> bool {
        const KEYS: [&str; 3] = ["ui", "ui/resourceUri", "openai/outputTemplate"];
        self.meta.as_ref().is_some_and(|meta| KEYS.iter().any(|key| meta.contains_key(*key)))
    }

    /// Returns false if only interfaces may call the tool (MCP Apps: `visibility` in its `_meta.ui`), so that no model
    /// should see it.
    pub fn is_for_models(&self) -> bool {
        self.is_visible_to("model")
    }

    /// Returns true if interfaces may call the tool.
    pub fn is_for_apps(&self) -> bool {
        self.is_visible_to("app")
    }

    /// Tools without `visibility` are visible to both.
    fn is_visible_to(&self, audience: &str) -> bool {
        let visibility = self.meta.as_ref().and_then(|meta| meta.get("ui")?.get("visibility")?.as_array());
        visibility.is_none_or(|entries| entries.iter().any(|entry| entry.as_str() == Some(audience)))
    }

    /// Returns true if it may change or lose existing data.
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
        let accents = ExposedName::new(&"ö".repeat(40)).expect_err("refused");
        assert_eq!(accents, NameError::Character("ö".repeat(40), 'ö'), "the limit is in characters");
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
        // `github__` has 8 characters.
        for length in [1, 56, 57, 64, 65, MAX_SERVER_NAME_CHARS] {
            let name = "y".repeat(length);
            assert_eq!(exposed(&name).len(), (8 + length).min(MAX_NAME_CHARS), "{length}");
            assert_eq!(exposed(&name) == format!("github__{name}"), length <= 56, "{length}");
        }
        assert!(exposed("list files/all").starts_with("github__list_files_all_"));
        assert_ne!(exposed("list files"), exposed("list/files"));
        assert!(SourceId::Gate("kg".into()).exposed_name("list files").is_err());
    }
}
