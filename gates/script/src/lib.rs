//! A model writes TypeScript that calls tools: ten calls and a filter cost one round trip, and what the script returns.
//!
//! | tool | module | |
//! |---|---|---|
//! | `run_code` | `run` | runs a script; its value, what it printed, and how often it called |
//! | `tool_types` | `types` | declarations of the tools that a script has |
//! | `save_script`, `run_script`, `list_scripts` | `stored` | scripts that worked, kept for their caller |
//!
//! `typescript` makes JavaScript of it, `engine` runs that. Each call of a script takes the line that a call of the agent
//! takes, so a script can do nothing that the agent could not; and nothing at all but that: no network, no files.

mod declare;
mod engine;
mod params;
mod run;
mod stored;
#[cfg(test)]
mod tests;
mod types;
mod typescript;

use gatehouse_sdk::Gate;
pub use params::Params;

/// The gate.
pub fn gate() -> Gate<Params> {
    Gate::new("script", env!("CARGO_PKG_VERSION"), "Runs TypeScript that calls the caller's other tools.")
        .prepared_by(engine::prepare)
        .tool(run::tool())
        .tool(types::tool())
        .tool(stored::save())
        .tool(stored::run())
        .tool(stored::list())
}

gatehouse_sdk::export!(gate);
