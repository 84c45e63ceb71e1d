//! Measures the requests of clients, for operators.

use std::{borrow::Cow, sync::Arc, time::Duration};

use gatehouse_core::Catalog;
use gatehouse_telemetry::{OTHER, RemoteTrace, Trace, is_tracing, metrics};
use http::request::Parts;
use rmcp::{
    ErrorData, RoleServer,
    model::{CallToolResponse, ProtocolVersion},
    service::RequestContext,
};
use serde_json::Value;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// A request of a client that is being answered. Its end is recorded when it is dropped.
pub(super) struct Operation(Option<RunningOperation>);

struct RunningOperation {
    trace: Trace,
    method: &'static str,
    /// Empty for other requests, and for tools that the client cannot know.
    tool: String,
    transport: &'static str,
    version: &'static str,
    start: Instant,
    cancel: CancellationToken,
    error: &'static str,
}

impl Operation {
    /// Begins to measure a request. Its span is in the extensions of the request then.
    pub(super) fn start(context: &mut RequestContext<RoleServer>, method: &'static str) -> Self {
        Self::of_tool(context, method, "")
    }

    /// Begins to measure a call. A name that the catalog does not have is not shown.
    pub(super) fn of_call(
        context: &mut RequestContext<RoleServer>,
        catalog: impl FnOnce(&RequestContext<RoleServer>) -> Arc<Catalog>,
        name: &str,
    ) -> Self {
        if !is_on() {
            return Self(None);
        }
        let is_known = catalog(context).get(name).is_some();
        Self::of_tool(context, "tools/call", if is_known { name } else { "" })
    }

    fn of_tool(context: &mut RequestContext<RoleServer>, method: &'static str, tool: &str) -> Self {
        if !is_on() {
            return Self(None);
        }
        let operation = RunningOperation {
            trace: span(context, method, tool),
            method,
            tool: tool.to_owned(),
            transport: if context.extensions.get::<Parts>().is_some() { "tcp" } else { "pipe" },
            version: context.protocol_version().map_or("", |version| version_name(&version)),
            start: Instant::now(),
            cancel: context.ct.clone(),
            // Stays so if the client stops waiting.
            error: "cancelled",
        };
        if is_tracing() {
            let RunningOperation { trace, transport, version, .. } = &operation;
            trace.set("mcp.method.name", method);
            trace.set("network.transport", *transport);
            trace.set("mcp.protocol.version", *version);
            trace.set("jsonrpc.request.id", context.id.to_string());
            if !tool.is_empty() {
                trace.set("gen_ai.operation.name", "execute_tool");
                trace.set("gen_ai.tool.name", tool.to_owned());
            }
            context.extensions.insert(trace.clone());
        }
        Self(Some(operation))
    }

    /// Records the result of the request, and returns it.
    pub(super) fn end<T>(self, result: Result<T, ErrorData>) -> Result<T, ErrorData> {
        self.end_with(result, |_| false)
    }

    /// Records the result of a call, and returns it.
    pub(super) fn end_call(
        self,
        result: Result<CallToolResponse, ErrorData>,
    ) -> Result<CallToolResponse, ErrorData> {
        self.end_with(result, |response| {
            matches!(response, CallToolResponse::Complete(result) if result.is_error == Some(true))
        })
    }

    fn end_with<T>(
        mut self,
        result: Result<T, ErrorData>,
        is_error: impl FnOnce(&T) -> bool,
    ) -> Result<T, ErrorData> {
        if let Some(operation) = &mut self.0 {
            operation.error = match &result {
                _ if operation.cancel.is_cancelled() => "cancelled",
                Ok(result) if is_error(result) => "tool_error",
                Ok(_) => "",
                Err(error) => code_name(error.code.0),
            };
        }
        result
    }
}

impl Drop for RunningOperation {
    fn drop(&mut self) {
        let Self { trace, method, tool, transport, version, start, error, .. } = self;
        trace.end(error);
        if let Some(metrics) = metrics() {
            let series = metrics.server_operations.series([method, tool, error, transport, version]);
            series.observe(start.elapsed().as_secs_f64());
        }
    }
}

/// Records the end of a session over HTTP.
pub(super) fn record_session(version: &ProtocolVersion, duration: Duration) {
    if let Some(metrics) = metrics() {
        let series = metrics.server_sessions.series(["tcp", version_name(version)]);
        series.observe(duration.as_secs_f64());
    }
}

/// Returns a version as text. Clients may name any, so that unknown ones are empty.
fn version_name(version: &ProtocolVersion) -> &'static str {
    let known = ProtocolVersion::KNOWN_VERSIONS.iter().find(|known| *known == version);
    known.map_or("", ProtocolVersion::as_str)
}

fn is_on() -> bool {
    metrics().is_some() || is_tracing()
}

/// Begins the span of a request. It continues the trace in `_meta` and is linked to that of the HTTP request, or continues
/// the latter if there is no other.
fn span(context: &RequestContext<RoleServer>, method: &'static str, tool: &str) -> Trace {
    if !is_tracing() {
        return Trace::default();
    }
    let meta = |key: &str| context.meta.get(key).and_then(Value::as_str);
    let parts = context.extensions.get::<Parts>();
    let header = |name: &str| parts.and_then(|parts| parts.headers.get(name)?.to_str().ok());
    let named = RemoteTrace { parent: meta("traceparent"), state: meta("tracestate") };
    let http = RemoteTrace { parent: header("traceparent"), state: header("tracestate") };
    // Many clients and proxies know only the headers.
    let (parent, linked) =
        if named.parent.is_some() { (named, http) } else { (http, RemoteTrace::default()) };
    Trace::of_request(span_name(method, tool), &parent, &linked)
}

/// Returns the name of a span: the method, and the tool if there is one.
pub(crate) fn span_name(method: &'static str, tool: &str) -> Cow<'static, str> {
    if tool.is_empty() { method.into() } else { format!("{method} {tool}").into() }
}

/// Returns a code of JSON-RPC as text. Other codes than those of MCP are one value, because servers may send any.
pub(crate) const fn code_name(code: i32) -> &'static str {
    match code {
        -32700 => "-32700",
        -32600 => "-32600",
        -32601 => "-32601",
        -32602 => "-32602",
        -32603 => "-32603",
        -32000 => "-32000",
        -32001 => "-32001",
        -32002 => "-32002",
        -32003 => "-32003",
        -32004 => "-32004",
        -32020 => "-32020",
        -32021 => "-32021",
        -32022 => "-32022",
        -32042 => "-32042",
        _ => OTHER,
    }
}
