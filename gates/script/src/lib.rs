//! Runs TypeScript that calls tools, so that ten calls and a filter cost one round trip and only the result.
//!
//! | tool | module | purpose |
//! |---|---|---|
//! | `run_code` | `run` | runs a script; returns its value, output and number of calls |
//! | `tool_types` | `types` | declares the tools that scripts can call |
//! | `save_script`, `run_script`, `list_scripts`, `remove_script` | `stored` | stores scripts for the caller |
//! | one per script of the parameters | `exposed` | runs a script of the preset |
//!
//! `typescript` converts the script to JavaScript, and `engine` runs it. Its calls take the same path as the agent's
//! calls, so a script can do nothing that the agent could not. It has no network or files.

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

const OWN: [&str; 6] = [run::NAME, types::NAME, stored::SAVE, stored::RUN, stored::LIST, stored::REMOVE];

fn cut(text: &str) -> &str {
    &text[..text.floor_char_boundary(80)]
}

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
