//! The MCP servers behind the host for the price of a few tools: what they can do is found by search, and called by name.
//!
//! | tool | module | |
//! |---|---|---|
//! | `search_tools` | `search` | tools that do what is asked for, each in a line |
//! | `call_tool` | `call` | calls one; what went wrong, and what to do then, is `failure`'s; `retry` calls another one then |
//! | `get_tool_schema` | `schema` | one tool, whole |
//! | `list_mcp_servers`, `refresh_mcp_server` | `servers` | which servers there are, and what they list now |
//! | `list_tools` | `tools` | the tools of one server |
//! | `recommend_tools` | `recommend` | the best tools for a task, with reasons |
//! | `get_tool_metrics`, `reset_tool_metrics` | `metrics` | how calls went |
//! | `get_tool_alternatives` | `alternatives` | what to call instead of a tool |
//! | `request` | `request` | any tool, by the request envelope |
//! | `add_mcp_server`, `remove_mcp_server` | `admin` | changes for all presets |
//!
//! Every word of these tools is read in every conversation, so there are few. What servers and their tools say of
//! themselves is data. Which servers and tools there are for the caller is the host's matter, not this gate's.

mod admin;
mod alternatives;
mod call;
mod failure;
mod metrics;
mod params;
mod recommend;
mod reply_format;
mod request;
mod retry;
mod schema;
mod search;
mod select;
mod servers;
#[cfg(test)]
mod tests;
mod tools;
mod twins;

use gatehouse_sdk::Gate;
pub use params::Params;

/// The gate.
pub fn gate() -> Gate<Params> {
    Gate::new(
        "proxy",
        env!("CARGO_PKG_VERSION"),
        "Finds and calls the tools of the MCP servers behind this host.",
    )
    .tool(search::tool())
    .tool(call::tool())
    .tool(schema::tool())
    .tool(servers::list())
    .tool(tools::tool())
    .tool(recommend::tool())
    .tool(alternatives::tool())
    .tool(metrics::get())
    .tool(servers::refresh())
    .tool(metrics::reset())
    .tool(request::tool())
    .tool(admin::add())
    .tool(admin::remove())
}

gatehouse_sdk::export!(gate);
