//! Tests of the tools, with a fake host.

mod calls;
mod checks;
mod describe;
mod fuzz;
mod isolation;
mod lists;
mod recommending;
mod records;
mod requests;
mod retries;

use gatehouse_sdk::{
    Effect, Fault, Reply, conformance,
    servers::{Alternative, Circuit, Fit, Server, ServerTool, State, ToolHit, ToolMetrics, ToolsFound},
    testing::{self, Fake},
};
use serde_json::Value;

const TOOLS: [&str; 12] = [
    "search_tools",
    "call_tool",
    "get_tool_schema",
    "list_mcp_servers",
    "list_tools",
    "recommend_tools",
    "get_tool_alternatives",
    "get_tool_metrics",
    "refresh_mcp_server",
    "reset_tool_metrics",
    "add_mcp_server",
    "remove_mcp_server",
];

fn host() -> Fake {
    Fake::new().exposes(TOOLS).server_list(|| Ok(vec![server("git"), server("web")])).server_tool(
        |server, name| match (server, name) {
            ("git", "status") => Ok(tool(server, name)),
            ("git" | "web", _) => Err(Fault::not_found(format!("Server '{server}' has no tool '{name}'."))),
            _ => Err(Fault::not_found(format!("There is no server '{server}'. Did you mean 'git'?"))),
        },
    )
}

fn call(host: Fake, name: &str, arguments: Value, params: &str) -> Result<Reply, Fault> {
    let arguments = arguments.to_string();
    host.run(|| testing::call(&crate::gate(), name, &arguments, params))
}

fn answer(host: Fake, name: &str, arguments: Value) -> (String, Value) {
    assert!(conformance::accepts(&crate::gate(), name, &arguments.to_string()), "{name} {arguments}");
    let reply = call(host, name, arguments, "{}").unwrap_or_else(|fault| panic!("{name}: {fault:?}"));
    let data = conformance::structured(&crate::gate(), name, &reply);
    (reply.text(), data)
}

fn server(name: &str) -> Server {
    Server {
        name: name.into(),
        transport: "stdio".into(),
        tags: Vec::new(),
        state: State::Connected,
        circuit: Circuit::Closed,
        recovery_in_ms: None,
        tool_count: Some(2),
        connected_at: Some(5),
        last_error: None,
        last_schema_change: None,
    }
}

fn tool(server: &str, name: &str) -> ServerTool {
    ServerTool {
        server: server.into(),
        name: name.into(),
        title: None,
        description: "Shows the state. And more.".into(),
        brief: "Shows the state.".into(),
        input_schema: r#"{"type":"object","required":["path"]}"#.into(),
        output_schema: None,
        effect: Effect::ReadOnly,
        idempotent: false,
        open_world: false,
        additive: false,
        category: "code".into(),
        last_schema_change: Some(7),
    }
}

fn hit(server: &str, name: &str, score: f64) -> ToolHit {
    ToolHit {
        server: server.into(),
        name: name.into(),
        brief: "Shows the state.".into(),
        signature: format!("{name}(path: string) Shows the state."),
        effect: Effect::ReadOnly,
        score,
        fit: Fit::Good,
    }
}

fn found(hits: Vec<ToolHit>) -> ToolsFound {
    ToolsFound { hits, unmatched_terms: Vec::new(), note: None }
}

fn metrics(server: &str, tool: &str, calls: u64, tool_errors: u64) -> ToolMetrics {
    ToolMetrics {
        server: server.into(),
        tool: tool.into(),
        calls,
        tool_errors,
        transport_errors: 0,
        mean_ms: 12.34,
        p50_ms: Some(10.0),
        p95_ms: Some(50.0),
        connecting_ms: 0,
        tokens_in: 1,
        tokens_out: 2,
        last_called: Some(9),
        last_error: (tool_errors > 0).then(|| "tool-error".into()),
    }
}

fn alternative(server: &str, tool: &str) -> Alternative {
    Alternative {
        server: server.into(),
        tool: tool.into(),
        signature: format!("{tool}() Does it too."),
        effect: Effect::ReadOnly,
        score: 0.123,
        similarity: 0.5,
        success_rate: 0.5,
        recency: 0.492,
        reason: "50 % match; not called yet.".into(),
    }
}
