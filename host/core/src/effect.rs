//! What a tool may do to the world, and what it is for.

use serde::{Deserialize, Serialize};

/// The strongest thing a tool may do, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Effect {
    /// Changes nothing.
    ReadOnly,
    /// Changes state that Gatehouse keeps, or files it was given.
    Mutating,
    /// Runs something, or changes something, outside.
    ExternalExec,
}

impl Effect {
    /// All of them, weakest first.
    pub const ALL: [Self; 3] = [Self::ReadOnly, Self::Mutating, Self::ExternalExec];

    /// For messages.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ReadOnly => "read-only",
            Self::Mutating => "mutating",
            Self::ExternalExec => "external-exec",
        }
    }

    /// Reads the word that requests have for an effect.
    pub fn from_request(word: &str) -> Option<Self> {
        let words = ["READ_ONLY", "MUTATING", "EXTERNAL_EXEC"];
        Self::ALL.into_iter().zip(words).find(|(_, known)| *known == word).map(|(effect, _)| effect)
    }
}

/// What a tool is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Intent {
    /// Look something up.
    Query,
    /// Work something out from what is there.
    Analyze,
    /// Make something new.
    Generate,
    /// Change something.
    Modify,
    /// Run something.
    Execute,
}

impl Intent {
    /// All of them, weakest first.
    pub const ALL: [Self; 5] = [Self::Query, Self::Analyze, Self::Generate, Self::Modify, Self::Execute];

    /// Returns the weakest intent that only does what has this effect.
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

    /// The word that requests have for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Query => "QUERY",
            Self::Analyze => "ANALYZE",
            Self::Generate => "GENERATE",
            Self::Modify => "MODIFY",
            Self::Execute => "EXECUTE",
        }
    }

    /// Reads the word that requests have for an intent.
    pub fn from_request(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|intent| intent.as_str() == word)
    }
}

/// The hints that MCP clients read, derived from what the tool declares and never declared apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolHints {
    /// `readOnlyHint`
    pub read_only: bool,
    /// `destructiveHint`
    pub destructive: bool,
    /// `idempotentHint`
    pub idempotent: bool,
    /// `openWorldHint`
    pub open_world: bool,
}

impl ToolHints {
    /// A tool that changes anything may overwrite what was there, so every effect above read-only
    /// counts as destructive, unless it says that it only adds; one that changes nothing is idempotent whatever it says.
    /// `open_world` stays as declared: a server's tool can destroy what the server keeps and reach nothing else.
    pub fn new(effect: Effect, additive: bool, idempotent: bool, open_world: bool) -> Self {
        let read_only = effect == Effect::ReadOnly;
        Self {
            read_only,
            destructive: !read_only && !additive,
            idempotent: read_only || idempotent,
            open_world,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn annotations_follow_from_the_effect() {
        let read = ToolHints::new(Effect::ReadOnly, false, false, false);
        assert!(read.read_only && !read.destructive && read.idempotent && !read.open_world);
        let write = ToolHints::new(Effect::Mutating, false, false, false);
        assert!(!write.read_only && write.destructive && !write.idempotent && !write.open_world);
        let add = ToolHints::new(Effect::Mutating, true, false, false);
        assert!(!add.read_only && !add.destructive);
        let closed = ToolHints::new(Effect::ExternalExec, false, false, false);
        assert!(closed.destructive && !closed.open_world, "as declared");
    }
}
