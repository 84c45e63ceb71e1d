//! Large results: told in short on their way to the client, kept whole, and brought back part by part.
//!
//! | what | module | |
//! |---|---|---|
//! | the filter | `filter` | the short form that stands for a large result |
//! | `semantic_search` | `search` | kept results whose summaries answer a question |
//! | `get_artifact_context` | `recall` | summaries of several, within a budget |
//! | `search_workspace` | `workspace` | what is kept, newest first |
//! | `get_workspace_file` | `file` | any part of one: characters, lines, a pointer, jq |
//! | `pin_artifact` | `pin` | keeps one beyond its time, or tags it |
//! | resources | `resources` | `gatehouse://artifact/{id}`, whole |
//! | prompt `gateway-init` | `prompt` | how an agent uses all this |
//!
//! What a result says is data: it never gets into the lines that this gate writes, and a model that reads it is told not
//! to obey it.

mod address;
mod file;
mod filter;
mod params;
mod pin;
mod prompt;
mod recall;
mod resources;
mod search;
#[cfg(test)]
mod tests;
mod time;
mod workspace;

use gatehouse_sdk::Gate;
pub use params::Params;

/// The tools, whose own replies the filter leaves alone.
pub(crate) const TOOLS: [&str; 5] = [search::NAME, recall::NAME, workspace::NAME, file::NAME, pin::NAME];

/// The most characters of a page or of summaries, with what stands around them.
const LONGEST: u32 = 100_000;

/// What tells clients that put large results into a file of their own not to do so with these: whoever asks for a part has
/// chosen how much it wants.
fn long_results() -> serde_json::Value {
    serde_json::json!({ "anthropic/maxResultSizeChars": LONGEST })
}

/// The gate.
pub fn gate() -> Gate<Params> {
    Gate::new(
        "summarizer",
        env!("CARGO_PKG_VERSION"),
        "Tells large results in short, keeps them whole, and brings any part of them.",
    )
    .tool(search::tool())
    .tool(recall::tool())
    .tool(workspace::tool())
    .tool(file::tool())
    .tool(pin::tool())
    .filter(filter::on_reply)
    .resources(resources::templates, resources::list, resources::read)
    .changing(resources::changes_in)
    .prompts(prompt::list, prompt::get)
}

gatehouse_sdk::export!(gate, filter, resources, prompts);
