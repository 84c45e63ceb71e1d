//! The floor of the benchmarks: the two tools of the fixture gate `echo`, implemented natively with rmcp.
//!
//! It has no gates, pipeline or configuration and uses tokio's defaults, so its cost is that of the protocol on the
//! same transport. Only `cargo xtask bench` uses it.

use std::sync::Arc;

use rmcp::ErrorData as McpError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

const BIG_MAX: u64 = 16 << 20;

#[derive(Clone)]
struct Floor {
    tools: Arc<Vec<Tool>>,
}

impl Floor {
    fn new() -> Self {
        let echo = tool("echo", "Returns the text.", json!({"text": {"type": "string"}}), "text");
        let big = tool(
            "big",
            "Returns a text of this length.",
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
            other => return Err(McpError::invalid_params(format!("unknown tool: {other}"), None)),
        };
        let text = text.ok_or_else(|| McpError::invalid_params("missing argument", None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

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
