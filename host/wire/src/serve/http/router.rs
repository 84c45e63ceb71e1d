//! Request handling, in this order: host and origin, authentication, route, body.

use std::{borrow::Cow, iter, sync::Arc};

use bytes::Bytes;
use gatehouse_core::{
    Principal,
    ports::{
        auth::ProtectedResource,
        readiness::{ReadinessCheck, ReadinessReport},
    },
    surrogates::replace_lone_surrogates,
};
use http::{HeaderValue, Method, Request, Response, StatusCode, header::CONNECTION, request::Parts};
use hyper::body::Incoming;
use serde_json::json;
use tokio_util::{sync::CancellationToken, task::AbortOnDropHandle};

use super::{
    active_request::ActiveRequest,
    body::{BodyReader, BodyRejection},
    connection::HttpConnection,
    door_audit::DoorAudit,
    endpoints::{self, Route},
    guard::RequestGuard,
    held_response,
    listener::Respond,
    mcp::PresetServices,
    page,
    reply::{self, BoxResponse, ResponseBody, record_error, refuse},
    sign_in::SignInPages,
};
use crate::{
    MIN_LARGE_MESSAGE,
    login::Logins,
    serve::{ServedPresets, shutdown, workers::Workers},
};

pub(super) struct Router {
    pub(super) presets: Arc<ServedPresets>,
    pub(super) guard: RequestGuard,
    pub(super) bodies: BodyReader,
    pub(super) services: PresetServices,
    pub(super) readiness: Arc<dyn ReadinessCheck>,
    /// `None` if principals do not sign in to servers here.
    pub(super) logins: Option<Arc<Logins>>,
    pub(super) audit: DoorAudit,
    pub(super) stop: CancellationToken,
    pub(super) workers: Workers,
}

impl Respond for Router {
    async fn respond(
        self: Arc<Self>,
        connection: Arc<HttpConnection>,
        request: Request<Incoming>,
    ) -> Response<ResponseBody> {
        let mut work = ActiveRequest::new(&connection);
        work.track_running(self.presets.shutdown.running());
        if connection.closing.is_cancelled() {
            // It was chosen to make room. A call that began now would be dropped.
            return reply::busy("the connection is closed for another")
                .map(|body| ResponseBody::new(body, work, Vec::new()));
        }
        let (parts, body) = request.into_parts();
        work.client = self.guard.client(work.connection.peer.ip(), &parts.headers);
        let stands = is_change_stream(&parts);
        let mut response = match self.guard.check(&parts) {
            Err(refusal) => self.guard.refuse(&refusal, &parts, work.client),
            Ok(page) => {
                let mut response = match page.preflight(&parts) {
                    Some(preflight) => preflight,
                    None => self.route(parts, body, &mut work).await,
                };
                page.allow_read(response.headers_mut());
                response
            }
        };
        // Announce the close, so that the client does not send another request at the same moment.
        if self.stop.is_cancelled() || work.is_crowded() {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        if response.headers().contains_key(CONNECTION) {
            work.mark_last();
        }
        if response.status().as_u16() >= 400 {
            record_error(response.status());
        }
        let stands = stands && response.status() == StatusCode::OK;
        let ends = stands.then(|| {
            let ended = work.caller.as_ref().map(|caller| caller.ended.clone());
            iter::once(self.presets.shutdown.refusing()).chain(ended).collect()
        });
        response.map(|body| ResponseBody::new(body, work, ends.unwrap_or_default()))
    }
}

impl Router {
    /// Routes a request. The probes and the page for browsers need no token.
    async fn route(&self, mut parts: Parts, body: Incoming, work: &mut ActiveRequest) -> BoxResponse {
        let route = Route::from_path(parts.uri.path());
        let opens = parts.method == Method::GET && matches!(route, Route::Root | Route::Mcp(None));
        if opens && page::is_wanted(&parts.headers) {
            return page::page(&self.presets, &parts.headers, self.guard.requires_credentials());
        }
        let (preset, endpoint) = match route {
            Route::Health => return probe(&parts, || reply::json(StatusCode::OK, &json!({"status": "ok"}))),
            Route::Ready => {
                let ready = self.ready().await;
                return probe(&parts, || ready);
            }
            Route::Metadata(path) => {
                return match self.guard.resource_metadata(&path) {
                    Some(metadata) => probe(&parts, || reply::json(StatusCode::OK, &metadata)),
                    None => refuse(StatusCode::NOT_FOUND, "this server has no metadata for sign-in"),
                };
            }
            Route::SignIn(page) => {
                let Some(logins) = &self.logins else {
                    return refuse(StatusCode::NOT_FOUND, "this server has no pages for sign-in");
                };
                let pages =
                    SignInPages { logins, guard: &self.guard, bodies: &self.bodies, audit: &self.audit };
                return pages.respond(&page, &parts, body, work).await;
            }
            Route::Mcp(preset) => (Some(preset), None),
            Route::Endpoint(preset, endpoint) => (Some(preset), Some(endpoint)),
            Route::Root | Route::Unknown => (None, None),
        };
        let named = preset.as_ref().and_then(Option::as_deref);
        let resource = named.map_or(ProtectedResource::Default, ProtectedResource::Preset);
        let caller = match self.guard.authenticate(&parts.headers, resource, work.client).await {
            Ok(caller) => caller,
            Err(refusal) => {
                self.audit.record_refusal(None, work.client, refusal.parts().1);
                return self.guard.refuse(&refusal, &parts, work.client);
            }
        };
        parts.extensions.insert(Arc::clone(&caller));
        parts.extensions.insert(work.client);
        if !work.wait_for_place().await {
            return reply::busy("calls are running on all connections; try again later");
        }
        if !work.charge(Arc::clone(&caller), self.guard.sharer(&caller)) {
            return reply::busy("too many of your calls are running; try again when one has ended");
        }
        // Presets are unknown until then. Only authenticated clients wait here.
        self.presets.composed.cancelled().await;
        let Some(preset) = preset else {
            return refuse(StatusCode::NOT_FOUND, "not found; MCP is served at /mcp and /mcp/p/<preset>");
        };
        let served = match self.presets.find(preset.as_deref(), &caller) {
            Ok(served) => served,
            Err(refusal) => {
                if refusal.status != StatusCode::SERVICE_UNAVAILABLE {
                    self.audit.record_refusal(Some(&caller.principal), work.client, &refusal.reason);
                }
                return refuse(refusal.status, &refusal.reason);
            }
        };
        let read = match self.read(&parts, body, work).await {
            Ok(read) => read,
            Err(response) => return *response,
        };
        let is_large = read.len() >= MIN_LARGE_MESSAGE;
        if let Some(endpoint) = endpoint {
            let presets = Arc::clone(&self.presets);
            let answer = async move {
                tokio::select! {
                    biased;
                    answer = endpoint.answer(&presets, &served, caller, &parts.method, &read) => answer,
                    () = presets.shutdown.wait_until_over() => endpoints::failed(StatusCode::SERVICE_UNAVAILABLE, &shutdown::aborted_fault()),
                }
            };
            return self.answer(is_large, answer).await;
        }
        let mcp = self.services.preset(preset.as_deref(), &served);
        let may_stream = held_response::may_stream(&parts);
        let request = Request::from_parts(parts, read);
        let answer = async move { mcp.answer(request).await };
        match may_stream {
            true => self.answer(is_large, held_response::hold(answer)).await,
            false => self.answer(is_large, answer).await,
        }
    }

    /// Answers a request. Parsing some megabytes blocks a thread for half a second, so a large one is answered on the
    /// workers. Dropping the future cancels the request.
    async fn answer(
        &self,
        is_large: bool,
        answer: impl Future<Output = BoxResponse> + Send + 'static,
    ) -> BoxResponse {
        let workers = if is_large { self.workers.handle() } else { None };
        let Some(workers) = workers else { return answer.await };
        let task = AbortOnDropHandle::new(workers.spawn(answer));
        let failed = || refuse(StatusCode::INTERNAL_SERVER_ERROR, "the host failed on this request");
        task.await.unwrap_or_else(|_| failed())
    }

    async fn read(
        &self,
        parts: &Parts,
        body: Incoming,
        work: &mut ActiveRequest,
    ) -> Result<Bytes, Box<BoxResponse>> {
        if parts.method != Method::POST {
            return Ok(Bytes::new());
        }
        work.enter_body();
        let owner = work.caller.as_ref().map_or(&Principal::Local, |caller| self.guard.sharer(caller));
        let read = tokio::select! {
            biased;
            read = self.bodies.read(body, owner) => read,
            () = self.presets.shutdown.wait_until_over() => {
                let reason = shutdown::aborted_fault().in_one_line();
                Err(BodyRejection::new(StatusCode::SERVICE_UNAVAILABLE, reason))
            }
        };
        match read {
            Ok((body, memory)) => {
                work.enter_working(memory);
                Ok(match replace_lone_surrogates(&body) {
                    Cow::Owned(replaced) => replaced.into(),
                    Cow::Borrowed(_) => body,
                })
            }
            Err(unread) => {
                let mut response = unread.response();
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
                Err(Box::new(response))
            }
        }
    }

    /// Reports readiness. Omits error messages, because they contain paths and this needs no token, and also presets if
    /// not every caller may know them.
    async fn ready(&self) -> BoxResponse {
        if !self.presets.composed.is_cancelled() {
            let starting = json!({"status": "starting", "presets": 0, "not_served": []});
            return reply::json(StatusCode::SERVICE_UNAVAILABLE, &starting);
        }
        let presets = self.presets.presets();
        let failing: Vec<&str> =
            presets.iter().filter(|(_, named)| named.is_err()).map(|(name, _)| name.as_str()).collect();
        let served = presets.len() - failing.len();
        let ReadinessReport { failing: parts, not_writable } = self.readiness.report().await;
        let (code, status) = match failing.as_slice() {
            _ if self.stop.is_cancelled() => (StatusCode::SERVICE_UNAVAILABLE, "draining"),
            _ if !parts.is_empty() => (StatusCode::SERVICE_UNAVAILABLE, "failing"),
            [] if not_writable.is_empty() => (StatusCode::OK, "ready"),
            _ => (StatusCode::OK, "degraded"),
        };
        let mut answer = match self.presets.access_rules().are_enforced() {
            true => json!({ "status": status }),
            false => json!({"status": status, "presets": served, "not_served": failing}),
        };
        if !parts.is_empty() {
            answer["failing"] = parts.into();
        }
        if !not_writable.is_empty() {
            answer["not_writable"] = not_writable.into();
        }
        reply::json(code, &answer)
    }
}

/// True if the response may be a stream of changes, which does not end by itself.
fn is_change_stream(request: &Parts) -> bool {
    let listens = |value: &HeaderValue| value.as_bytes() == b"subscriptions/listen";
    request.method == Method::GET || request.headers.get("mcp-method").is_some_and(listens)
}

pub(super) fn probe(request: &Parts, respond: impl FnOnce() -> BoxResponse) -> BoxResponse {
    if matches!(request.method, Method::GET | Method::HEAD) {
        return respond();
    }
    reply::method_not_allowed("GET, HEAD")
}
