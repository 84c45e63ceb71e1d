//! Effects and intents of tools.

use serde::{Deserialize, Serialize};

use crate::util::enum_words;

/// Strongest thing that a tool may do, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    ReadOnly,
    /// Changes Gatehouse's own state, or files that it was given.
    Mutating,
    /// Runs or changes something outside.
    ExternalExec,
}

enum_words! { Effect { ReadOnly: "read-only", Mutating: "mutating", ExternalExec: "external-exec" } }

impl Effect {
    /// Parses the word for an effect in requests.
    pub fn from_request(word: &str) -> Option<Self> {
        let words = ["READ_ONLY", "MUTATING", "EXTERNAL_EXEC"];
        Self::ALL.into_iter().zip(words).find(|(_, known)| *known == word).map(|(effect, _)| effect)
    }
}

/// Purpose of a tool, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    Query,
    /// Derives something from existing data.
    Analyze,
    Generate,
    Modify,
    Execute,
}

enum_words! { Intent {
    Query: "QUERY", Analyze: "ANALYZE", Generate: "GENERATE", Modify: "MODIFY", Execute: "EXECUTE"
} }

impl Intent {
    /// Returns the weakest intent whose effect is at least `effect`.
    pub const fn for_effect(effect: Effect) -> Self {
        match effect {
            Effect::ReadOnly => Self::Query,
            Effect::Mutating => Self::Modify,
            Effect::ExternalExec => Self::Execute,
        }
    }

    /// Returns the strongest effect that the intent allows.
    pub const fn effect(self) -> Effect {
        match self {
            Self::Query | Self::Analyze | Self::Generate => Effect::ReadOnly,
            Self::Modify => Effect::Mutating,
            Self::Execute => Effect::ExternalExec,
        }
    }

    /// Returns the intent, or the weakest one that allows `effect` if it does not.
    #[must_use]
    pub fn at_least(self, effect: Effect) -> Self {
        if self.effect() >= effect { self } else { Self::for_effect(effect) }
    }

    pub fn from_request(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.as_str() == word)
    }
}

/// MCP annotations of a tool, derived from its declaration.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolHints {
    pub read_only: bool,
    pub destructive: bool,
    pub idempotent: bool,
    pub open_world: bool,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ToolSpec;

    #[test]
    fn annotations_follow_from_the_effect() {
        let hints = |effect, additive| {
            let plain = ToolSpec { idempotent: false, ..ToolSpec::new("x", "Is x.") };
            ToolSpec { effect, additive, ..plain }.annotations()
        };
        let read = hints(Effect::ReadOnly, false);
        assert!(read.read_only && !read.destructive && read.idempotent && !read.open_world);
        let write = hints(Effect::Mutating, false);
        assert!(!write.read_only && write.destructive && !write.idempotent && !write.open_world);
        let add = hints(Effect::Mutating, true);
        assert!(!add.read_only && !add.destructive);
        let closed = hints(Effect::ExternalExec, false);
        assert!(closed.destructive && !closed.open_world, "as declared");
    }
}
