//! MCP over HTTP: a service per preset, created on first use. Corrects replies in which rmcp deviates from the
//! specification.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
};

use bytes::Bytes;
use gatehouse_core::{Caller, Principal};
use http::{HeaderMap, HeaderValue, Method, Request, StatusCode};
use http_body_util::Full;
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, GetMeta as _, JsonRpcMessage, JsonRpcRequest},
    transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService},
};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::{
    body::MAX_BODY,
    direct_requests::{DirectAnswer, StatelessRequests, accepts_both, answer_in_session, has_version},
    reply::{BoxResponse, json, plain},
};
use crate::{
    media_type,
    serve::{
        ServedPreset, ServedPresets,
        direct_calls::parse_call,
        envelope,
        handler::{Handler, REQUEST_CALLER},
        seal::SealKeys,
        sessions::{Sessions, reply_store::ReplyStore, with_owner},
    },
};

pub(super) const SESSION: &str = "mcp-session-id";

/// A request that no check of rmcp refuses in a session.
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":0,"method":"ping"}"#;

/// Returns the request that the task of its HTTP request may run. `None` if rmcp has to answer the message. The error is
/// the response to send.
fn direct_request(
    request: &Request<Bytes>,
    is_json: bool,
) -> Result<Option<JsonRpcRequest<ClientRequest>>, Value> {
    let (headers, body) = (request.headers(), request.body());
    let call = parse_call(body);
    let is_request = call.is_some() || envelope::check(body)?;
    if !is_request || !is_json || !accepts_both(headers) {
        return Ok(None);
    }
    // Without a session, only calls run here.
    if call.is_some() || !headers.contains_key(SESSION) {
        return Ok(call);
    }
    Ok(match serde_json::from_slice::<ClientJsonRpcMessage>(body) {
        Ok(JsonRpcMessage::Request(request)) => Some(request),
        _ => None,
    })
}

/// Returns a caller that may use nothing, for handlers without a request.
fn no_caller() -> Arc<Caller> {
    let nobody = Principal::Named("nobody".into());
    Arc::new(Caller { presets: Some(Vec::new()), ..Caller::new(nobody, "none") })
}

type PresetService = (Arc<ServedPreset>, Arc<McpService>);

pub(super) struct PresetServices {
    presets: Arc<ServedPresets>,
    /// Services by preset, with an empty name for the default. Created again if the preset was removed and added again.
    by_name: Mutex<HashMap<String, PresetService>>,
    replies: Arc<ReplyStore>,
    seal: Arc<SealKeys>,
    config: StreamableHttpServerConfig,
}

impl PresetServices {
    /// Creates the services inside a runtime. Cancelling `end` closes all streams.
    pub(super) fn new(presets: Arc<ServedPresets>, seal: Arc<SealKeys>, end: &CancellationToken) -> Self {
        // The guard has already checked Host and Origin.
        let mut config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MAX_BODY)
            .with_json_response(true)
            .with_cancellation_token(end.child_token());
        // Sessions send their own priming events, depending on the client's version.
        config.sse_retry = None;
        Self { presets, by_name: Mutex::default(), replies: Arc::default(), seal, config }
    }

    /// Returns the service of a preset; `None` is the default preset.
    pub(super) fn preset(&self, name: Option<&str>, served: &Arc<ServedPreset>) -> Arc<McpService> {
        let name = name.unwrap_or_default();
        let mut services = gatehouse_core::lock(&self.by_name);
        if let Some((_, mcp)) =
            services.get(name).filter(|(cached_preset, _)| Arc::ptr_eq(cached_preset, served))
        {
            return Arc::clone(mcp);
        }
        let mcp = Arc::new(self.service(served));
        services.insert(name.to_owned(), (Arc::clone(served), Arc::clone(&mcp)));
        mcp
    }

    /// Creates a service inside a runtime.
    fn service(&self, served: &Arc<ServedPreset>) -> McpService {
        let handler = Handler::new(Arc::clone(&self.presets), Arc::clone(served), no_caller());
        let end = self.config.cancellation_token.clone();
        let (replies, seal) = (Arc::clone(&self.replies), Arc::clone(&self.seal));
        let sessions = Sessions::new(handler.for_another_client(), replies, seal, end.clone());
        let prototype = handler.clone();
        let make = move || Ok(prototype.for_another_client());
        let service = StreamableHttpService::new(make, Arc::clone(&sessions), self.config.clone());
        McpService { service, sessions, stateless: OnceLock::new(), handler, end }
    }
}

pub(super) struct McpService {
    service: StreamableHttpService<Handler, Sessions>,
    sessions: Arc<Sessions>,
    /// Created on first use: rmcp asks it for its features, which are known only after the start.
    stateless: OnceLock<StatelessRequests>,
    handler: Handler,
    end: CancellationToken,
}

impl McpService {
    pub(super) async fn answer(&self, mut request: Request<Bytes>) -> BoxResponse {
        let caller: Arc<Caller> = request.extensions().get().cloned().unwrap_or_else(no_caller);
        let owner = caller.principal.clone();
        let method = request.method().clone();
        let is_json = media_type(request.headers()) == "application/json";
        let message = match method == Method::POST {
            true => direct_request(&request, is_json),
            false => Ok(None),
        };
        let message = match message {
            Ok(message) => message,
            Err(reason) => return json(StatusCode::BAD_REQUEST, &reason),
        };
        let Some(()) = self.open_session_id(request.headers_mut(), &owner) else {
            return plain(StatusCode::NOT_FOUND, "Not Found: Session not found");
        };
        let stream_reader = match message {
            Some(message) => match self.run(message, &request, &caller).await {
                Some(DirectAnswer::Complete(response)) => return response,
                Some(DirectAnswer::Streams(reader)) => Some(reader),
                None => None,
            },
            None => None,
        };
        let body = request.body().clone();
        if stream_reader.is_some() {
            // The stream is that of the request which runs already. rmcp must not refuse it now.
            *request.body_mut() = Bytes::from_static(PING);
        }
        let answer = with_owner(owner.clone(), stream_reader, self.service.handle(request.map(Full::new)));
        // rmcp creates handlers on this task, and asks them for tools without a context.
        let mut response = REQUEST_CALLER.scope(caller, answer).await;
        match (method, response.status()) {
            // Some clients treat other success codes as failures.
            (Method::DELETE, StatusCode::ACCEPTED) => {
                *response.status_mut() = StatusCode::NO_CONTENT;
            }
            // rmcp could not parse the message.
            (Method::POST, StatusCode::UNSUPPORTED_MEDIA_TYPE) if is_json => {
                let other = || envelope::invalid(None, "not an MCP message");
                let reason = envelope::unreadable(&body).unwrap_or_else(other);
                return json(StatusCode::BAD_REQUEST, &reason);
            }
            _ => {}
        }
        let opened = response.headers().get(SESSION).and_then(|id| id.to_str().ok());
        if let Some(id) = opened.and_then(|id| self.sessions.sealed_id(id, &owner))
            && let Ok(id) = HeaderValue::try_from(id)
        {
            response.headers_mut().insert(SESSION, id);
        }
        response
    }

    /// Runs a request on this task. `None` if rmcp has to answer it.
    async fn run(
        &self,
        message: JsonRpcRequest<ClientRequest>,
        request: &Request<Bytes>,
        caller: &Arc<Caller>,
    ) -> Option<DirectAnswer> {
        let Some(id) = request.headers().get(SESSION) else {
            let new = || StatelessRequests::new(self.handler.clone(), self.end.child_token());
            let stateless = self.stateless.get_or_init(new);
            return stateless.answer(message, request, caller).await.map(DirectAnswer::Complete);
        };
        let session = self.sessions.open_session(id.to_str().ok()?, &caller.principal)?;
        // Requests that name their version have no session.
        let is_of_session = has_version(request.headers(), &session.version())
            && message.request.get_meta().protocol_version().is_none()
            && !matches!(
                message.request,
                ClientRequest::InitializeRequest(_) | ClientRequest::DiscoverRequest(_)
            );
        if !is_of_session {
            return None;
        }
        answer_in_session(&session, message, request).await
    }

    /// Decrypts the session ID of a request. `None` if the session is unknown or belongs to another caller.
    fn open_session_id(&self, headers: &mut HeaderMap, owner: &Principal) -> Option<()> {
        let Some(sealed) = headers.get(SESSION) else { return Some(()) };
        let opened = self.sessions.open_id(sealed.to_str().ok()?, owner)?;
        headers.insert(SESSION, HeaderValue::try_from(opened).ok()?);
        Some(())
    }
}
