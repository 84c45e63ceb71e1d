//! Runs TypeScript that calls tools, so that ten calls and a filter cost one round trip and only the result.
//!
//! | tool | module | purpose |
//! |---|---|---|
//! | `run_code` | `run` | runs a script; returns its value, output and number of calls |
//! | `tool_types` | `types` | declares the tools that scripts can call |
//! | `save_script`, `run_script`, `list_scripts`, `remove_script` | `stored` | stores scripts for the caller |
//! | one per script of the parameters | `exposed` | runs a script of the preset |
//!
//! `typescript` converts the script to JavaScript, and `engine` runs it. Its calls take the same path as the agent's
//! calls, so a script can do nothing that the agent could not. It has no network or files.

mod declare;
mod engine;
mod exposed;
mod file;
mod run;
mod stored;
#[cfg(test)]
mod tests;
mod types;
mod typescript;

use gatehouse_sdk::{Count, Effect, Gate};
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

const OWN: [&str; 6] = [run::NAME, types::NAME, stored::SAVE, stored::RUN, stored::LIST, stored::REMOVE];

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}

pub fn gate() -> Gate<Params> {
    Gate::new("script", env!("CARGO_PKG_VERSION"), "Runs TypeScript that calls the caller's other tools.")
        .prepared_by(engine::prepare)
        .tool(run::tool())
        .tool(types::tool())
        .tool(stored::save())
        .tool(stored::run())
        .tool(stored::list())
        .tool(stored::remove())
        .tools_from(exposed::tools)
        .checked_by(exposed::check)
}

gatehouse_sdk::export!(gate);
