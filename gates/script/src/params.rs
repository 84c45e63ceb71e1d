//! Preset parameters.

use gatehouse_sdk::{Count, Effect};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

// No doc comments: the schema would describe each value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum AllowedEffect {
    Read,
    Change,
    Execute,
}

/// Preset parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Strongest allowed effect of tools that scripts call.
    #[serde(rename = "may")]
    pub(crate) allow: AllowedEffect,
    /// Maximum calls per script, at most 1000. The gate's limits.calls applies too.
    pub max_calls: Count,
    /// Enable tools that save, run and list scripts. They also need the grant kv.
    pub store: bool,
    /// Scripts to expose as tools: the text of each, as {"$file" = "scripts/NAME.ts"}. It begins with comments, `//
    /// script: NAME`, `// description: …` and, for a script with arguments, `// params: {JSON Schema}`.
    pub scripts: Vec<String>,
    /// Maximum concurrent calls, at most 8.
    pub max_parallel: Count,
}

impl Default for Params {
    fn default() -> Self {
        Self {
            allow: AllowedEffect::Read,
            max_calls: Count::new(200),
            max_parallel: Count::new(8),
            scripts: Vec::new(),
            store: false,
        }
    }
}

impl Params {
    pub(crate) fn effect(&self) -> Effect {
        match self.allow {
            AllowedEffect::Read => Effect::ReadOnly,
            AllowedEffect::Change => Effect::Mutating,
            AllowedEffect::Execute => Effect::ExternalExec,
        }
    }
}
