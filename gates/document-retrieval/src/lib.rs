//! Documents of repositories that an operator has indexed: three tools, one module each.
//!
//! | tool | module | |
//! |---|---|---|
//! | `list_repositories_with_navigation` | `list` | what there is, and how to search it |
//! | `mfai_document_retrieval` | `retrieve` | the one document that fits, within the budget |
//! | `read_repository_file` | `read` | any lines of a document |
//!
//! A document that fits the budget comes back as it is, byte for byte, in a block of its own. One that does not is
//! shortened (`shorten`) to what answers the query: by the host's language model where one is configured and granted
//! (`model`; what it says is held against the document in `facts`), and by the host's extractor otherwise, and for
//! whatever the model leaves of the budget. What was left out is marked with its lines, which `read` brings.
//!
//! What a document says is data. It never gets into the lines that this gate writes, and a model that reads it is told
//! not to obey it.

mod facts;
mod list;
mod model;
mod no_results;
mod params;
mod read;
mod retrieve;
mod shorten;
#[cfg(test)]
mod tests;

use gatehouse_sdk::Gate;
pub use params::{BudgetEncoding, Params};

/// The gate.
pub fn gate() -> Gate<Params> {
    Gate::new(
        "document-retrieval",
        env!("CARGO_PKG_VERSION"),
        "Finds documents in repositories and brings them within a token budget.",
    )
    .tool(list::tool())
    .tool(retrieve::tool())
    .tool(read::tool())
}

gatehouse_sdk::export!(gate);
