//! The floor of the benchmarks: the two tools of the fixture gate `echo`, implemented natively with rmcp, over stdio or,
//! with `--http [VERSION]`, over Streamable HTTP. With a version, it supports only that one.
//!
//! It has no gates, pipeline or configuration and uses tokio's defaults, so its cost is that of the protocol on the
//! same transport. Only `cargo xtask bench` uses it.

use std::borrow::Cow;
use std::convert::Infallible;
use std::io::Write as _;
use std::sync::Arc;

use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rmcp::ErrorData as McpError;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, JsonObject,
    ListToolsResult, PaginatedRequestParams, ProtocolVersion, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{RoleServer, ServerHandler, ServiceExt};
use serde_json::{Value, json};

const BIG_MAX: u64 = 16 << 20;

#[derive(Clone)]
struct Floor {
    tools: Arc<Vec<Tool>>,
    /// The only supported version, or all.
    version: Option<ProtocolVersion>,
}

impl Floor {
    /// Returns the server with `more` tools that are only listed.
    fn new(more: usize) -> Self {
        let echo = tool("echo", "Returns the text.", json!({"text": {"type": "string"}}), "text");
        let big = tool(
            "big",
            "Returns a text of this length.",
            json!({"bytes": {"type": "integer", "minimum": 0}}),
            "bytes",
        );
        let listed = (1..=more).map(|number| {
            let (name, about) =
                (format!("tool{number}"), format!("Counts the things of kind {number} in a folder."));
            tool(name, about, json!({"folder": {"type": "string"}}), "folder")
        });
        Self { tools: Arc::new([big, echo].into_iter().chain(listed).collect()), version: None }
    }
}

impl ServerHandler for Floor {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("bench-floor", env!("CARGO_PKG_VERSION")))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        match &self.version {
            Some(version) => Cow::Owned(vec![version.clone()]),
            None => Cow::Borrowed(ProtocolVersion::KNOWN_VERSIONS),
        }
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

fn tool(
    name: impl Into<Cow<'static, str>>,
    description: impl Into<Cow<'static, str>>,
    properties: Value,
    required: &str,
) -> Tool {
    let mut schema = JsonObject::new();
    schema.insert("type".into(), json!("object"));
    schema.insert("properties".into(), properties);
    schema.insert("required".into(), json!([required]));
    Tool::new(name, description, Arc::new(schema))
}

/// Serves Streamable HTTP on a free loopback port, and prints the URL.
async fn serve_http(version: Option<ProtocolVersion>) -> Result<(), Box<dyn std::error::Error>> {
    let config = StreamableHttpServerConfig::default();
    let sessions = Arc::new(LocalSessionManager::default());
    let floor = Floor { version, ..Floor::new(0) };
    let service = StreamableHttpService::new(move || Ok(floor.clone()), sessions, config);
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await?;
    writeln!(std::io::stderr(), "http://{}/mcp", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        stream.set_nodelay(true)?;
        let service = service.clone();
        let answer = service_fn(move |request| {
            let service = service.clone();
            async move { Ok::<_, Infallible>(service.handle(request).await) }
        });
        tokio::spawn(
            async move { http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await },
        );
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let more = match arguments.next().as_deref() {
        Some("--http") => {
            let version = arguments.next().map(|version| serde_json::from_value(json!(version)));
            return serve_http(version.transpose()?).await;
        }
        Some("--tools") => arguments.next().ok_or("--tools needs a number")?.parse()?,
        _ => 0,
    };
    let server = Floor::new(more).serve(rmcp::transport::io::stdio_pipes()).await?;
    server.waiting().await?;
    Ok(())
}
