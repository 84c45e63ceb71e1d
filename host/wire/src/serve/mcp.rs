//! MCP over HTTP for one preset. Corrects replies in which rmcp deviates from the specification.

use std::{convert::Infallible, sync::Arc};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::Value;

use super::{
    ServedPreset, ServedPresets, envelope, events::ReplyStore, handler::Handler, sessions::Sessions,
};

const SESSION: &str = "mcp-session-id";

pub(super) type McpResponse = Response<BoxBody<Bytes, Infallible>>;

pub(super) struct McpService {
    service: StreamableHttpService<Handler, Sessions>,
    sessions: Arc<Sessions>,
}

impl McpService {
    /// Creates the service inside a runtime. `kept` is shared by all presets.
    pub(super) fn new(
        presets: &Arc<ServedPresets>,
        served: &Arc<ServedPreset>,
        kept: &Arc<ReplyStore>,
        mut config: StreamableHttpServerConfig,
    ) -> Self {
        // Sessions send their own priming events, depending on the client's version.
        config.sse_retry = None;
        let handler = Handler::new(Arc::clone(presets), Arc::clone(served));
        let end = config.cancellation_token.clone();
        let sessions = Sessions::new(handler.for_another_client(), Arc::clone(kept), end);
        let make = move || Ok(handler.for_another_client());
        let service = StreamableHttpService::new(make, Arc::clone(&sessions), config);
        Self { service, sessions }
    }

    pub(super) async fn answer(&self, request: Request<Bytes>) -> McpResponse {
        let method = request.method().clone();
        let is_json = is_json(request.headers());
        if method == Method::POST
            && let Err(why) = envelope::check(request.body())
        {
            return json(StatusCode::BAD_REQUEST, &why);
        }
        if method == Method::DELETE && !self.is_known(request.headers()) {
            return plain(StatusCode::NOT_FOUND, "Not Found: Session not found");
        }
        let body = request.body().clone();
        let mut response = self.service.handle(request.map(Full::new)).await;
        match (method, response.status()) {
            // Some clients treat other success codes as failures.
            (Method::DELETE, StatusCode::ACCEPTED) => {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            // rmcp could not parse the message.
            (Method::POST, StatusCode::UNSUPPORTED_MEDIA_TYPE) if is_json => {
                let other = || envelope::invalid(None, "not an MCP message");
                let why = envelope::unreadable(&body).unwrap_or_else(other);
                return json(StatusCode::BAD_REQUEST, &why);
            }
            _ => {}
        }
        let opened = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
        if let Some(id) = opened.and_then(|id| self.sessions.wire_id(id))
            && let Ok(id) = HeaderValue::try_from(id)
        {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    /// True if the request has no session ID, or one that exists or can be restored.
    fn is_known(&self, headers: &HeaderMap) -> bool {
        let named = headers.get(SESSION).map(|id| id.to_str().unwrap_or_default());
        named.is_none_or(|id| self.sessions.is_known(id))
    }
}

fn is_json(headers: &HeaderMap) -> bool {
    let kind = headers.get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().is_some_and(|kind| kind.trim().eq_ignore_ascii_case("application/json"))
}

pub(super) fn json(status: StatusCode, value: &Value) -> McpResponse {
    let mut response = plain(status, value.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> McpResponse {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response
}
