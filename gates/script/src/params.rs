//! What a preset may set.

use gatehouse_sdk::{Count, Effect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// How far the calls of scripts may go. Documented for readers of the source only: a schema would tell each value apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AllowedEffect {
    // Tools that change nothing.
    Read,
    // Also those that change what the host keeps.
    Change,
    // All of the preset's.
    Execute,
}

/// What a preset may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// The strongest effect that a tool may have which a script calls.
    pub(crate) may: AllowedEffect,
    /// How many calls one script may make; more than 1000 count as 1000. The gate's limits.calls bounds it too.
    pub max_calls: Count,
    /// Have tools that keep scripts, run and list them. They need the grant kv as well.
    pub store: bool,
    /// Scripts that are tools of their own: the text of each, as {"$file" = "scripts/NAME.ts"}. It begins with comments,
    /// `// script: NAME`, `// description: …` and, for a script with arguments, `// params: {JSON Schema}`.
    pub scripts: Vec<String>,
    /// How many calls run at the same time; more than 8 count as 8.
    pub max_parallel: Count,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            may: AllowedEffect::Read,
            max_calls: Count::new(200),
            max_parallel: Count::new(8),
            scripts: Vec::new(),
            store: false,
        }
    }
}

impl Params {
    pub(crate) fn effect(&self) -> Effect {
        match self.may {
            AllowedEffect::Read => Effect::ReadOnly,
            AllowedEffect::Change => Effect::Mutating,
            AllowedEffect::Execute => Effect::ExternalExec,
        }
    }
}
