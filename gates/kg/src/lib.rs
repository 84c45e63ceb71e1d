//! Reads and writes the knowledge graph. It has five tools:
//!
//! | tool | module | purpose |
//! |---|---|---|
//! | `search_knowledge` | `search` | finds pages of any type |
//! | `get_wiki_page` | `search` | reads a full page |
//! | `kg_index` | `index` | synchronizes with a wiki folder, or writes one page |
//! | `kg_edit` | `edit` | changes one page |
//! | `get_page_structure` | `page_structure` | describes the required content of a page |
//!
//! The gate formats the engine's results. The host opens files and parses wiki text; an engine failure is a fault,
//! never an empty result.

mod edit;
mod index;
mod page_structure;
mod search;
#[cfg(test)]
mod tests;
mod writing;

use gatehouse_sdk::{Count, Gate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Preset parameters.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Show relevant page content in search results.
    pub include_content: bool,
    /// Maximum content tokens per page.
    pub preview_tokens: Count,
}

impl Default for Params {
    fn default() -> Self {
        Self { include_content: true, preview_tokens: Count::new(200) }
    }
}

pub fn gate() -> Gate<Params> {
    Gate::new("kg", env!("CARGO_PKG_VERSION"), "Searches, reads and writes the knowledge graph.")
        .tool(search::search())
        .tool(search::read())
        .tool(index::tool())
        .tool(edit::tool())
        .tool(page_structure::tool())
}

gatehouse_sdk::export!(gate);
