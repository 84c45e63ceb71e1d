//! The floor of the benchmarks: the two tools of the fixture gate `echo`, written natively on rmcp.
//!
//! It has no gates, no pipeline and no configuration, and runs on tokio's defaults, so what it costs is
//! what the protocol itself costs on the same transport. `cargo xtask bench` measures it beside the
//! gateway in one run; nothing else uses it.

use std::sync::Arc;

use rmcp::ErrorData as McpError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

/// The largest text that `big` makes, in bytes.
const BIG_MAX: u64 = 16 << 20;

/// A server with a fixed list of tools.
#[derive(Clone)]
struct Floor {
    tools: Arc<Vec<Tool>>,
}

impl Floor {
    fn new() -> Self {
        let echo = tool("echo", "Says the text back.", json!({"text": {"type": "string"}}), "text");
        let big = tool(
            "big",
            "A text of so many bytes.",
            json!({"bytes": {"type": "integer", "minimum": 0}}),
            "bytes",
        );
        Self { tools: Arc::new(vec![big, echo]) }
    }
}

impl ServerHandler for Floor {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("bench-floor", env!("CARGO_PKG_VERSION")))
    }

    async fn list_tools(
        &self,
        _page: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, McpError> {
        Ok(ListToolsResult::with_all_items((*self.tools).clone()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.tools.iter().find(|tool| tool.name == name).cloned()
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, McpError> {
        let arguments = request.arguments.unwrap_or_default();
        let text = match &*request.name {
            "echo" => arguments.get("text").and_then(Value::as_str).map(str::to_owned),
            "big" => {
                arguments.get("bytes").and_then(Value::as_u64).map(|n| "x".repeat(n.min(BIG_MAX) as usize))
            }
            other => return Err(McpError::invalid_params(format!("Unknown tool: {other}"), None)),
        };
        let text = text.ok_or_else(|| McpError::invalid_params("missing argument", None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

/// A tool whose one argument is required.
fn tool(name: &'static str, description: &'static str, properties: Value, required: &str) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), properties);
    schema.insert("required".into(), json!([required]));
    Tool::new(name, description, Arc::new(schema))
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let server = Floor::new().serve(rmcp::transport::io::stdio_pipes()).await?;
    server.waiting().await?;
    Ok(())
}
