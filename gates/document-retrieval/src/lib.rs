//! Retrieves documents from repositories that an operator has indexed. It has three tools, one per module:
//!
//! | tool | module | purpose |
//! |---|---|---|
//! | `list_repositories_with_navigation` | `list` | repositories and how to search them |
//! | `mfai_document_retrieval` | `retrieve` | the best document, within the budget |
//! | `read_repository_file` | `read` | any lines of a document |
//!
//! A document that fits the budget is returned byte for byte in its own block. A longer one is shortened (`shorten`) by
//! the host's language model if one is configured and granted (`model`, checked by `grounding`). The host's extractor
//! replaces a missing model and fills the rest of the budget. Marks show omitted lines, which `read` returns.
//!
//! Document text is data: it never enters lines that this gate writes, and the model's instructions say not to obey it.

mod grounding;
mod list;
mod model;
mod params;
mod read;
mod retrieve;
mod shorten;
#[cfg(test)]
mod tests;

use gatehouse_sdk::Gate;
pub use params::{BudgetEncoding, Params};

pub fn gate() -> Gate<Params> {
    Gate::new(
        "document-retrieval",
        env!("CARGO_PKG_VERSION"),
        "Finds documents in repositories and returns them within a token budget.",
    )
    .tool(list::tool())
    .tool(retrieve::tool())
    .tool(read::tool())
}

gatehouse_sdk::export!(gate);
