//! Paths of the server. Some are endpoints with JSON for tools of the `proxy` gate. Each request is a normal call of
//! the preset's tool, so the same checks apply. Endpoints return 404 if the preset lacks the tool.

use std::sync::Arc;

use gatehouse_core::{
    Call, CallContext, Caller, Catalog, Fault, FaultKind, Outcome, Reply, ports::auth::ProtectedResource,
};
use http::{HeaderValue, Method, StatusCode, header::ALLOW};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::{
    guard::METADATA_PATH,
    reply::{self, BoxResponse},
};
use crate::{
    login::SIGN_IN_PATH,
    serve::{
        ServedPreset, ServedPresets,
        requests::{interactive_request::without_panic, reply as results},
    },
};

pub(super) enum Route {
    Mcp(Option<String>),
    /// A tool of the preset in the path, for programs that do not use MCP.
    Endpoint(Option<String>, &'static ToolEndpoint),
    Root,
    /// Metadata of the protected resource at a path, which is empty for the host.
    Metadata(String),
    Health,
    Ready,
    /// A page on which a principal signs in to a server: the path below `/sign-in/`.
    SignIn(String),
    Unknown,
}

impl Route {
    pub(super) fn from_path(path: &str) -> Self {
        match path.strip_suffix('/').unwrap_or(path) {
            "" => Self::Root,
            "/mcp" => Self::Mcp(None),
            "/healthz" => Self::Health,
            "/readyz" => Self::Ready,
            path if let Some(page) =
                path.strip_prefix(SIGN_IN_PATH).and_then(|path| path.strip_prefix('/')) =>
            {
                Self::SignIn(page.to_owned())
            }
            path => match path.strip_prefix(METADATA_PATH) {
                Some("") => Self::Metadata(String::new()),
                Some("/mcp") => Self::Metadata(ProtectedResource::Default.path()),
                Some(below) => match Self::from_mcp_path(below) {
                    Some(Self::Mcp(Some(preset))) => {
                        Self::Metadata(ProtectedResource::Preset(&preset).path())
                    }
                    _ => Self::Unknown,
                },
                None => Self::from_mcp_path(path).unwrap_or(Self::Unknown),
            },
        }
    }

    /// Parses `/mcp/p/<preset>`, and the endpoints below it and below `/mcp`.
    fn from_mcp_path(path: &str) -> Option<Self> {
        let rest = path.strip_prefix("/mcp/")?;
        if let Some(endpoint) = find(rest) {
            return Some(Self::Endpoint(None, endpoint));
        }
        let rest = rest.strip_prefix("p/")?;
        let (preset, below) =
            rest.split_once('/').map_or((rest, None), |(preset, below)| (preset, Some(below)));
        let preset =
            percent_decode_str(preset).decode_utf8().ok().filter(|preset| !preset.is_empty())?.into_owned();
        match below {
            Some(below) => Some(Self::Endpoint(Some(preset), find(below)?)),
            None => Some(Self::Mcp(Some(preset))),
        }
    }
}

pub(super) struct ToolEndpoint {
    path: &'static str,
    method: Method,
    /// Name of the tool in its gate.
    tool: &'static str,
    answers: ReplyFormat,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum ReplyFormat {
    Data,
    /// The complete MCP result.
    Result,
    /// Version, preset and server counts.
    Status,
}

impl ToolEndpoint {
    const fn new(path: &'static str, method: Method, tool: &'static str, answers: ReplyFormat) -> Self {
        Self { path, method, tool, answers }
    }
}

static ENDPOINTS: [ToolEndpoint; 7] = [
    ToolEndpoint::new("tools/search", Method::POST, "search_tools", ReplyFormat::Data),
    ToolEndpoint::new("tools/recommend", Method::POST, "recommend_tools", ReplyFormat::Data),
    ToolEndpoint::new("tools/call", Method::POST, "call_tool", ReplyFormat::Result),
    // Embeds unchanged tools again, too.
    ToolEndpoint::new("tools/embed", Method::POST, "refresh_mcp_server", ReplyFormat::Data),
    ToolEndpoint::new("refresh", Method::POST, "refresh_mcp_server", ReplyFormat::Data),
    ToolEndpoint::new("servers", Method::GET, "list_mcp_servers", ReplyFormat::Data),
    ToolEndpoint::new("status", Method::GET, "list_mcp_servers", ReplyFormat::Status),
];

/// Returns the endpoint at a path below `/mcp/` or `/mcp/p/<preset>/`.
fn find(path: &str) -> Option<&'static ToolEndpoint> {
    ENDPOINTS.iter().find(|endpoint| endpoint.path == path)
}

impl ToolEndpoint {
    pub(super) async fn answer(
        &self,
        presets: &ServedPresets,
        served: &Arc<ServedPreset>,
        caller: Arc<Caller>,
        method: &Method,
        body: &[u8],
    ) -> BoxResponse {
        if *method != self.method {
            let reason = format!("/{} requires a {} request", self.path, self.method);
            let mut response = failed(StatusCode::METHOD_NOT_ALLOWED, &Fault::invalid(reason));
            if let Ok(allowed) = HeaderValue::from_str(self.method.as_str()) {
                response.headers_mut().insert(ALLOW, allowed);
            }
            return response;
        }
        let mut catalog = served.catalog(&caller);
        if self.name_in(&catalog).is_none() {
            catalog = served.settled_catalog(&caller).await;
        }
        let Some(name) = self.name_in(&catalog).map(str::to_owned) else {
            let reason = format!("preset '{}' has no tool '{}'", catalog.preset, self.tool);
            let fault = Fault::not_found(reason).hint("Add the gate `proxy` to the preset in presets.toml.");
            return failed(StatusCode::NOT_FOUND, &fault);
        };
        let arguments = match self.arguments(body) {
            Ok(arguments) => arguments,
            Err(fault) => return failed(StatusCode::BAD_REQUEST, &fault),
        };
        let preset = Arc::clone(&catalog.preset);
        let mut call = CallContext::new(&presets.pipeline, catalog, &name);
        let id = call.id;
        call.caller = caller;
        call.for_program = true;
        // If the client disconnects, this future is dropped, which cancels the call.
        let outcome = without_panic(id, &name, Call::new(call, arguments).run()).await;
        self.render(outcome, &preset)
    }

    fn name_in<'a>(&self, catalog: &'a Catalog) -> Option<&'a str> {
        catalog.exposed_name(self.tool).or_else(|| catalog.get(self.tool).map(|entry| entry.name.as_str()))
    }

    fn arguments(&self, body: &[u8]) -> Result<Value, Fault> {
        let mut arguments: Map<String, Value> = match body {
            [] => Map::new(),
            body => serde_json::from_slice(body).map_err(|error| {
                Fault::invalid(format!("the request body is not a JSON object: {error}"))
                    .hint(format!("Send the arguments of {} as a JSON object.", self.tool))
            })?,
        };
        if self.path == "tools/embed" {
            arguments.insert("force".into(), true.into());
        }
        Ok(arguments.into())
    }

    fn render(&self, outcome: Outcome, preset: &str) -> BoxResponse {
        let reply = match outcome {
            Ok(reply) => reply,
            Err(fault) => return failed(status(fault.kind), &fault),
        };
        let body = match (self.answers, data(&reply)) {
            (ReplyFormat::Data, Some(data)) => data,
            (ReplyFormat::Status, Some(data)) => json!({
                "version": env!("CARGO_PKG_VERSION"),
                "preset": preset,
                "servers": data.get("total"),
                "connected": data.get("connected"),
            }),
            _ => results::call_result(Ok(reply), results::StructuredMode::Any),
        };
        reply::json(StatusCode::OK, &body)
    }
}

/// Returns the structured content of a reply, or its text if that is a JSON object.
fn data(reply: &Reply) -> Option<Value> {
    if let Some(data) = &reply.structured {
        return Some(data.clone());
    }
    let [gatehouse_core::ContentPart::Text(text)] = reply.content.as_slice() else { return None };
    serde_json::from_str::<Map<String, Value>>(text).ok().map(Value::Object)
}

pub(super) fn failed(status: StatusCode, fault: &Fault) -> BoxResponse {
    reply::json(status, &json!({ "error": results::fault_to_json(fault) }))
}

const fn status(kind: FaultKind) -> StatusCode {
    match kind {
        FaultKind::InvalidArguments => StatusCode::BAD_REQUEST,
        FaultKind::UnknownTool | FaultKind::NotFound => StatusCode::NOT_FOUND,
        FaultKind::Denied => StatusCode::FORBIDDEN,
        FaultKind::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        FaultKind::TimedOut => StatusCode::GATEWAY_TIMEOUT,
        FaultKind::Exhausted => StatusCode::TOO_MANY_REQUESTS,
        FaultKind::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}
