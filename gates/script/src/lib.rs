//! A model writes TypeScript that calls tools: ten calls and a filter cost one round trip, and what the script returns.
//!
//! | tool | module | |
//! |---|---|---|
//! | `run_code` | `run` | runs a script; its value, what it printed, and how often it called |
//! | `tool_types` | `types` | declarations of the tools that a script has |
//! | `save_script`, `run_script`, `list_scripts`, `remove_script` | `stored` | scripts that worked, kept for their caller |
//! | one for each script of the parameters | `exposed` | those that a preset has looked at, as tools of their own |
//!
//! `typescript` makes JavaScript of it, `engine` runs that. Each call of a script takes the line that a call of the agent
//! takes, so a script can do nothing that the agent could not; and nothing at all but that: no network, no files.

mod declare;
mod engine;
mod exposed;
mod file;
mod params;
mod run;
mod stored;
#[cfg(test)]
mod tests;
mod types;
mod typescript;

use gatehouse_sdk::Gate;
pub use params::Params;

/// The tools that this gate has whatever a preset says.
const OWN: [&str; 6] = [run::NAME, types::NAME, stored::SAVE, stored::RUN, stored::LIST, stored::REMOVE];

/// As much of a text as a message shows.
fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}

/// The gate.
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
