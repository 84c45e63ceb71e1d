//! Shortens large results on their way to the client, stores them in full, and returns parts of them.
//!
//! | feature | module | purpose |
//! |---|---|---|
//! | the filter | `filter` | replaces a large result with its short form |
//! | `semantic_search` | `workspace` | finds stored results by their summaries |
//! | `get_artifact_context` | `recall` | returns several summaries within a budget |
//! | `search_workspace` | `workspace` | lists stored results, newest first |
//! | `get_workspace_file` | `file` | returns any part: characters, lines, a pointer, jq |
//! | `pin_artifact` | `workspace` | extends the life of a result, or tags it |
//! | resources | `resources` | `gatehouse://artifact/{id}`, in full |
//! | prompt `gateway-init` | `prompt` | explains all this to an agent |
//!
//! Results are data: their text never enters lines that this gate writes, and the model's instructions say not to obey
//! it.

mod file;
mod filter;
mod params;
mod prompt;
mod recall;
mod resources;
#[cfg(test)]
mod tests;
mod time;
mod workspace;

use gatehouse_sdk::Gate;
pub use params::Params;

/// The filter ignores replies of these tools.
pub(crate) const TOOLS: [&str; 5] =
    [workspace::SEARCH, recall::NAME, workspace::LIST, file::NAME, workspace::PIN];

const MAX_REPLY_CHARS: u32 = 100_000;

/// Metadata for clients that store large results in files: requested parts should stay inline.
fn long_results() -> serde_json::Value {
    serde_json::json!({ "anthropic/maxResultSizeChars": MAX_REPLY_CHARS })
}

pub fn gate() -> Gate<Params> {
    Gate::new(
        "summarizer",
        env!("CARGO_PKG_VERSION"),
        "Shortens large results, stores them in full, and returns any part of them.",
    )
    .tool(workspace::search())
    .tool(recall::tool())
    .tool(workspace::list())
    .tool(file::tool())
    .tool(workspace::pin())
    .filter(filter::on_reply)
    .resources(resources::templates, resources::list, resources::read)
    .changing(resources::changes_in)
    .prompts(prompt::list, prompt::get)
}

gatehouse_sdk::export!(gate, filter, resources, prompts);
