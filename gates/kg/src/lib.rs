//! The whole knowledge graph for agents that read and write it: five tools, one module each.
//!
//! | tool | module | |
//! |---|---|---|
//! | `search_knowledge` | `search` | finds pages of any type |
//! | `get_wiki_page` | `page` | reads one whole |
//! | `kg_index` | `index` | makes the graph equal to a wiki folder, or writes one page |
//! | `kg_edit` | `edit` | changes one page |
//! | `get_page_structure` | `structure` | says what a page must hold |
//!
//! The gate words what the host's engine answers. It opens no file (the host does, inside the folders
//! that presets.toml allows), parses no wiki text, and never turns a failing engine into "no results".

mod edit;
mod index;
mod page;
mod report;
mod search;
mod structure;
#[cfg(test)]
mod tests;
mod writing;

use gatehouse_sdk::{Count, Gate};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What a preset may set.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Params {
    /// Show in search results what of each page answers the query.
    pub include_content: bool,
    /// Tokens of that at most, for each page.
    pub preview_tokens: Count,
}

impl Default for Params {
    fn default() -> Self {
        Self { include_content: true, preview_tokens: Count::new(200) }
    }
}

/// The gate.
pub fn gate() -> Gate<Params> {
    Gate::new("kg", env!("CARGO_PKG_VERSION"), "Searches, reads and writes the knowledge graph.")
        .tool(search::tool())
        .tool(page::tool())
        .tool(index::tool())
        .tool(edit::tool())
        .tool(structure::tool())
}

gatehouse_sdk::export!(gate);
