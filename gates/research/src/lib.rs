//! Web research for agents if the wiki has no answer. It has three tools, one per module:
//!
//! | tool | module | purpose |
//! |---|---|---|
//! | `research_idea` | `list` | finds ideas: how, when, and trade-offs |
//! | `research_implementation` | `list` | finds code |
//! | `research_study` | `study` | writes a study of one question |
//!
//! The host's language model does the work with web search (grant `models`). A call takes seconds to minutes, costs
//! money, and ends when the client cancels. The gate builds the prompt (`ask`), parses the answer (`parse`), drops
//! items without a page (`items`, `sections`, `sources`), sanitizes web text (`clean`) and formats the reply
//! (`render`).
//!
//! Models invent URLs, so the reply marks sources that the provider does not list as read, and notes if the provider
//! lists none. The gate opens no pages and does not verify their content.

mod ask;
mod clean;
mod items;
mod list;
mod parse;
mod render;
mod run;
mod sections;
mod sources;
mod study;
#[cfg(test)]
mod tests;

use gatehouse_sdk::{Count, Gate, models};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Research effort. `light`: a few pages, seconds. `deep`: many pages, minutes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Depth {
    Light,
    Deep,
}

impl From<Depth> for models::Depth {
    fn from(depth: Depth) -> Self {
        match depth {
            Depth::Light => Self::Light,
            Depth::Deep => Self::Deep,
        }
    }
}

/// Preset parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Default effort of a call: light or deep.
    pub default_depth: Depth,
    /// Default number of ideas or implementations per call, at most 20.
    pub default_top_k: Count,
}

impl Default for Params {
    fn default() -> Self {
        Self { default_depth: Depth::Deep, default_top_k: Count::new(5) }
    }
}

pub fn gate() -> Gate<Params> {
    Gate::new(
        "research",
        env!("CARGO_PKG_VERSION"),
        "Finds ideas and code on the web, and studies questions.",
    )
    .tool(list::idea())
    .tool(list::implementation())
    .tool(study::tool())
}

gatehouse_sdk::export!(gate);
