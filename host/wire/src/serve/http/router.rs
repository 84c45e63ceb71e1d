//! From a request to its answer, in this order: is it meant for us, whose is it, what does it ask for; only
//! then its body is read.

use std::sync::Arc;

use bytes::Bytes;
use gatehouse_core::names;
use http::{
    HeaderValue, Method, Request, Response, StatusCode,
    header::{ALLOW, CONNECTION},
    request::Parts,
};
use hyper::body::Incoming;
use percent_encoding::percent_decode_str;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::{
    body::Bodies,
    connection::{Connection, Work},
    guard::RequestGuard,
    reply::{self, BoxResponse, Outgoing, refuse},
    service::Services,
};
use crate::serve::{ServedPresets, mcp::Mcp};

pub(super) struct Router {
    pub(super) presets: Arc<ServedPresets>,
    pub(super) guard: RequestGuard,
    pub(super) bodies: Bodies,
    pub(super) services: Services,
    /// Cancelled when the host is to end.
    pub(super) stop: CancellationToken,
}

/// What a path stands for.
enum Route {
    /// MCP, with the preset that the path names.
    Mcp(Option<String>),
    /// Whether the process lives.
    Health,
    /// Which presets are served.
    Ready,
    Unknown,
}

impl Route {
    fn of(path: &str) -> Self {
        match path.strip_suffix('/').unwrap_or(path) {
            "/mcp" => Self::Mcp(None),
            "/healthz" => Self::Health,
            "/readyz" => Self::Ready,
            path => {
                let preset =
                    path.strip_prefix("/mcp/p/").filter(|rest| !rest.is_empty() && !rest.contains('/'));
                let decoded = preset.and_then(|preset| percent_decode_str(preset).decode_utf8().ok());
                decoded.map_or(Self::Unknown, |preset| Self::Mcp(Some(preset.into_owned())))
            }
        }
    }
}

impl Router {
    pub(super) async fn respond(
        self: Arc<Self>,
        connection: Arc<Connection>,
        request: Request<Incoming>,
    ) -> Response<Outgoing> {
        let mut work = connection.begin();
        let (parts, body) = request.into_parts();
        let stands = stands(&parts);
        let response = match self.guard.checks(&parts) {
            Err(refusal) => self.guard.refuses(&refusal, &parts, work.peer()),
            Ok(page) => {
                let preflight = page.preflight(&parts);
                let mut response = match preflight {
                    Some(preflight) => preflight,
                    None => self.route(parts, body, &mut work).await,
                };
                page.lets_read(response.headers_mut());
                response
            }
        };
        let end = (stands && response.status() == StatusCode::OK).then(|| self.stop.clone());
        response.map(|body| Outgoing::new(body, work, end))
    }

    /// Liveness and readiness are for everybody who knows the host's name; the rest is for its clients.
    async fn route(&self, mut parts: Parts, body: Incoming, work: &mut Work) -> BoxResponse {
        let preset = match Route::of(parts.uri.path()) {
            Route::Health => return probe(&parts, || reply::json(StatusCode::OK, &json!({"status": "ok"}))),
            Route::Ready => return probe(&parts, || self.ready()),
            Route::Mcp(preset) => Some(preset),
            Route::Unknown => None,
        };
        match self.guard.admits(&parts.headers) {
            // The call that the request asks for is made in this name.
            Ok(principal) => parts.extensions.insert(principal),
            Err(refusal) => return self.guard.refuses(&refusal, &parts, work.peer()),
        };
        work.admitted();
        let Some(preset) = preset else {
            return refuse(StatusCode::NOT_FOUND, "MCP is served on /mcp and on /mcp/p/<preset>.");
        };
        match self.service(preset.as_deref()) {
            Ok(mcp) => self.answer(&mcp, parts, body, work).await,
            Err(response) => *response,
        }
    }

    async fn answer(&self, mcp: &Mcp, parts: Parts, body: Incoming, work: &mut Work) -> BoxResponse {
        let mut read = Bytes::new();
        if parts.method == Method::POST {
            work.reads_body();
            match self.bodies.read(body).await {
                Ok((body, memory)) => {
                    read = body;
                    work.works(memory);
                }
                Err(unread) => {
                    let mut response = unread.response();
                    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                    return response;
                }
            }
        }
        mcp.answer(Request::from_parts(parts, read)).await
    }

    /// The service of the preset that the path names.
    fn service(&self, preset: Option<&str>) -> Result<Arc<Mcp>, Box<BoxResponse>> {
        let Some(preset) = preset else { return Ok(Arc::clone(&self.services.default)) };
        let presets = self.presets.presets();
        match presets.get(preset) {
            Some(Ok(served)) => Ok(self.services.preset(preset, served)),
            Some(Err(why)) => {
                let why = format!("Preset '{preset}' cannot be served: {why}");
                Err(Box::new(refuse(StatusCode::SERVICE_UNAVAILABLE, &why)))
            }
            None => {
                let known: Vec<&str> = presets.keys().map(String::as_str).collect();
                let near = names::did_you_mean(preset, known.iter().copied());
                let shown = names::quoted(preset, 64);
                let why = format!("Unknown preset '{shown}'.{near} There are: {}.", known.join(", "));
                Err(Box::new(refuse(StatusCode::NOT_FOUND, &why)))
            }
        }
    }

    /// Names and no reasons: those hold paths, and anybody may ask.
    fn ready(&self) -> BoxResponse {
        let presets = self.presets.presets();
        let failing: Vec<&str> =
            presets.iter().filter(|(_, named)| named.is_err()).map(|(name, _)| name.as_str()).collect();
        let served = presets.len() - failing.len();
        let status = if failing.is_empty() { "ready" } else { "degraded" };
        reply::json(StatusCode::OK, &json!({"status": status, "presets": served, "not_served": failing}))
    }
}

/// Whether the answer will be a stream of changes, which has no end of its own.
fn stands(request: &Parts) -> bool {
    let listens = |value: &HeaderValue| value.as_bytes() == b"subscriptions/listen";
    request.method == Method::GET || request.headers.get("mcp-method").is_some_and(listens)
}

fn probe(request: &Parts, respond: impl FnOnce() -> BoxResponse) -> BoxResponse {
    if matches!(request.method, Method::GET | Method::HEAD) {
        return respond();
    }
    let mut response = reply::plain(StatusCode::METHOD_NOT_ALLOWED, "");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
    response
}
