//! Research on the web, for agents that the wiki cannot help: three tools, one module each.
//!
//! | tool | module | |
//! |---|---|---|
//! | `research_idea` | `idea` | finds ideas: what, how, when, at what price |
//! | `research_implementation` | `implementation` | finds code that does it |
//! | `research_study` | `study` | writes a study of one question |
//!
//! The work is done by the host's language model with web search (grant `models`); it takes from seconds
//! to minutes, costs money, tells its progress, and ends when the client cancels. The gate words the
//! question (`ask`), reads the answer (`parse`), keeps what names a page (`items`, `sections`, `sources`), makes
//! text of the web harmless (`clean`) and words the reply (`render`).
//!
//! Models make up addresses. So each source is held against the pages that the provider says the model
//! read: the reply marks one that is not among them, and says so where the provider names none at all.
//! It opens no page itself, and promises no page's truth.
//!
//! Without a model that can search the web, the host's fault names the variables that would give one.

mod args;
mod ask;
mod clean;
mod idea;
mod implementation;
mod items;
mod list;
mod params;
mod parse;
mod render;
mod run;
mod sections;
mod sources;
mod study;
#[cfg(test)]
mod tests;

use gatehouse_sdk::Gate;
pub use params::{Depth, Params};

/// The gate.
pub fn gate() -> Gate<Params> {
    Gate::new(
        "research",
        env!("CARGO_PKG_VERSION"),
        "Finds ideas and code on the web, and studies questions.",
    )
    .tool(idea::tool())
    .tool(implementation::tool())
    .tool(study::tool())
}

gatehouse_sdk::export!(gate);
