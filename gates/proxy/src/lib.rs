//! Gives access to all MCP servers of the host through a few tools: search finds tools, and `call_tool` calls them by
//! name.
//!
//! | tool | module | purpose |
//! |---|---|---|
//! | `search_tools` | `search` | finds tools, one per line |
//! | `call_tool` | `call` | calls a tool; `failure` reports errors, and tries another tool |
//! | `list_mcp_servers`, `refresh_mcp_server` | `servers` | lists servers, and reloads their tools |
//! | `add_mcp_server`, `remove_mcp_server` | `servers` | changes servers for all presets |
//! | `list_tools`, `get_tool_schema` | `tools` | lists the tools of one server, and shows one in full |
//! | `recommend_tools` | `recommend` | picks the best tools for a task, with reasons |
//! | `get_tool_metrics`, `reset_tool_metrics` | `metrics` | shows and deletes call statistics |
//! | `get_tool_alternatives` | `alternatives` | finds tools to call instead of a tool |
//! | `request` | `request` | runs any tool through the request envelope |
//!
//! Every conversation pays for every word of these tools. Texts from servers are data. The host, not this gate, decides
//! which servers and tools the caller has.

mod alternatives;
mod call;
mod failure;
mod metrics;
mod params;
mod recommend;
mod reply_format;
mod request;
mod search;
mod servers;
#[cfg(test)]
mod tests;
mod tools;

use gatehouse_sdk::Gate;
pub use params::Params;

pub fn gate() -> Gate<Params> {
    Gate::new(
        "proxy",
        env!("CARGO_PKG_VERSION"),
        "Finds and calls the tools of the MCP servers behind this host.",
    )
    .tool(search::tool())
    .tool(call::tool())
    .tool(tools::schema())
    .tool(servers::list())
    .tool(tools::list())
    .tool(recommend::tool())
    .tool(alternatives::tool())
    .tool(metrics::get())
    .tool(servers::refresh())
    .tool(metrics::reset())
    .tool(request::tool())
    .tool(servers::add())
    .tool(servers::remove())
}

gatehouse_sdk::export!(gate);
