//! Requests that the task of their HTTP request answers itself.
//!
//! Most calls end within a few milliseconds and send nothing but their reply, so they need no stream: the reply is
//! plain JSON. A call in a session that takes longer, or sends something first, continues on a task of its own, and its
//! stream is opened. Everything that is not exactly as expected is left to rmcp, which also writes the refusals.

use std::{convert::Infallible, future::pending, sync::Arc, task::Poll, time::Duration};

use bytes::Bytes;
use futures_util::{poll, sink, stream};
use gatehouse_core::Caller;
use http::{HeaderMap, Request, StatusCode, header::ACCEPT, request::Parts};
use rmcp::{
    RoleServer,
    model::{
        ClientCapabilities, ClientRequest, ErrorCode, GetExtensions as _, GetMeta as _, Implementation,
        InitializeRequestParams, JsonRpcMessage, JsonRpcRequest, ProtocolVersion, ServerJsonRpcMessage,
    },
    service::{Peer, serve_directly_with_ct},
    transport::sink_stream::TransportAdapterSinkStream,
};
use serde_json::{Map, Value};
use tokio::{runtime::Handle, task::coop::unconstrained, time::timeout};
use tokio_util::sync::CancellationToken;

use super::reply::{BoxResponse, json};
use crate::serve::{
    direct_calls::{CallFuture, call_future},
    handler::Handler,
    sessions::{EventReader, HttpSession},
};

/// Longest time for which the headers of a reply wait for its call to end.
pub(super) const MAX_HOLD: Duration = Duration::from_millis(20);

pub(super) const VERSION: &str = "mcp-protocol-version";
const METHOD: &str = "mcp-method";
const NAME: &str = "mcp-name";
const PARAM_PREFIX: &str = "mcp-param-";
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";
const HEADER_RULE: &str = "x-mcp-header";

/// End of a request in a session, as far as its HTTP request is concerned.
pub(super) enum DirectAnswer {
    Complete(BoxResponse),
    /// The request continues, and its messages have to be streamed.
    Streams(EventReader),
}

/// A call that its HTTP request polls. Dropping it, because the client has left, moves it to a task.
struct HeldCall {
    work: Option<CallFuture>,
    rest: RestOfCall,
}

/// Rest of a call whose HTTP request is gone.
enum RestOfCall {
    /// Its reply goes to its stream in the session, for a client that returns.
    ToSession(Arc<HttpSession>, u64),
    /// Nobody can receive its reply, so it is cancelled.
    Cancelled(CancellationToken),
}

impl HeldCall {
    /// Waits for the reply.
    async fn reply(&mut self) -> ServerJsonRpcMessage {
        let Some(work) = &mut self.work else { return pending().await };
        // Once without the task budget: other requests of this connection have used it.
        let reply = match poll!(unconstrained(work.as_mut())) {
            Poll::Ready(reply) => reply,
            Poll::Pending => work.await,
        };
        self.work = None;
        reply
    }
}

impl Drop for HeldCall {
    fn drop(&mut self) {
        let (Some(work), Ok(runtime)) = (self.work.take(), Handle::try_current()) else { return };
        match &self.rest {
            RestOfCall::ToSession(session, stream) => {
                let (session, stream) = (Arc::clone(session), *stream);
                runtime.spawn(async move { session.deliver_reply(stream, work.await) });
            }
            RestOfCall::Cancelled(cancel) => {
                cancel.cancel();
                runtime.spawn(work);
            }
        }
    }
}

/// Answers a request in a session. `None` if the session cannot run it itself.
pub(super) async fn answer_in_session(
    session: &Arc<HttpSession>,
    mut message: JsonRpcRequest<ClientRequest>,
    caller: &Request<Bytes>,
) -> Option<DirectAnswer> {
    let id = message.id.clone();
    let token = message.request.get_meta().get_progress_token();
    message.request.extensions_mut().insert(identity(caller));
    let (handler, peer) = session.handler()?;
    let (work, cancel) = call_future(handler, peer, message);
    let mut reader = session.begin_call(id.clone(), token, cancel).ok()?;
    let mut held =
        HeldCall { work: Some(work), rest: RestOfCall::ToSession(Arc::clone(session), reader.stream()) };
    let first = async {
        tokio::select! {
            biased;
            reply = held.reply() => Some(reply),
            () = reader.wait_for_message() => None,
        }
    };
    let Ok(Some(reply)) = timeout(MAX_HOLD, first).await else {
        reader.open_to_client();
        return Some(DirectAnswer::Streams(reader));
    };
    if session.end_silent_call(&id, reader.stream()) {
        return Some(DirectAnswer::Complete(json(StatusCode::OK, &reply)));
    }
    reader.open_to_client();
    session.deliver_reply(reader.stream(), reply);
    Some(DirectAnswer::Streams(reader))
}

/// Handler of requests without a session, whose client only gets the reply.
pub(super) struct StatelessRequests {
    handler: Handler,
    peer: Peer<RoleServer>,
}

impl StatelessRequests {
    /// Creates it inside a runtime. Cancelling `end` ends it.
    pub(super) fn new(handler: Handler, end: CancellationToken) -> Self {
        let client = InitializeRequestParams::new(ClientCapabilities::default(), Implementation::default())
            .with_protocol_version(ProtocolVersion::V_2026_07_28);
        // Nothing arrives over this transport.
        let transport = (sink::drain(), stream::pending());
        let running = serve_directly_with_ct::<RoleServer, _, _, Infallible, TransportAdapterSinkStream>(
            handler.clone(),
            transport,
            Some(client),
            end,
        );
        let peer = running.peer().clone();
        tokio::spawn(running.waiting());
        Self { handler, peer }
    }

    /// Answers a tool call of 2026-07-28. `None` if it can send something before its reply, or is not exactly as the
    /// protocol has it.
    pub(super) async fn answer(
        &self,
        mut message: JsonRpcRequest<ClientRequest>,
        request: &Request<Bytes>,
        caller: &Arc<Caller>,
    ) -> Option<BoxResponse> {
        let ClientRequest::CallToolRequest(call) = &message.request else { return None };
        let meta = message.request.get_meta();
        // A paused call may send what its first request asked for.
        let sends = meta.get_progress_token().is_some()
            || meta.contains_key(LOG_LEVEL)
            || call.params.request_state.is_some();
        let version = ProtocolVersion::V_2026_07_28;
        let is_complete = meta.missing_required_keys(&version).is_empty()
            && meta.protocol_version().is_some_and(|named| named == version);
        if sends || !is_complete || !has_standard_headers(request.headers(), &call.params.name) {
            return None;
        }
        let handler = self.handler.for_caller(Arc::clone(caller));
        if handler.input_schema(&call.params.name).is_some_and(|schema| has_header_rules(&schema)) {
            return None;
        }
        message.request.extensions_mut().insert(identity(request));
        let (work, cancel) = call_future(Arc::new(handler), self.peer.clone(), message);
        let mut held = HeldCall { work: Some(work), rest: RestOfCall::Cancelled(cancel.clone()) };
        let reply = held.reply().await;
        cancel.cancel();
        Some(json(status(&reply), &reply))
    }
}

/// Returns the status of a reply without a session, as rmcp chooses it.
fn status(reply: &ServerJsonRpcMessage) -> StatusCode {
    let JsonRpcMessage::Error(error) = reply else { return StatusCode::OK };
    match error.error.code {
        ErrorCode::UNSUPPORTED_PROTOCOL_VERSION
        | ErrorCode::MISSING_REQUIRED_CLIENT_CAPABILITY
        | ErrorCode::HEADER_MISMATCH => StatusCode::BAD_REQUEST,
        ErrorCode::METHOD_NOT_FOUND => StatusCode::NOT_FOUND,
        _ => StatusCode::OK,
    }
}

/// Whether the only `Accept` header has both types of a response, without parameters.
pub(super) fn accepts_both(headers: &HeaderMap) -> bool {
    headers.get_all(ACCEPT).iter().count() == 1
        && accepts(headers, "application/json")
        && accepts(headers, "text/event-stream")
}

/// Whether the `Accept` headers have this type, without parameters.
pub(super) fn accepts(headers: &HeaderMap, media_type: &str) -> bool {
    let mut values = headers.get_all(ACCEPT).iter().filter_map(|value| value.to_str().ok());
    values
        .any(|value| value.split(',').any(|media_range| media_range.trim().eq_ignore_ascii_case(media_type)))
}

/// Whether the version header is absent, or names this version.
pub(super) fn has_version(headers: &HeaderMap, version: &ProtocolVersion) -> bool {
    !headers.contains_key(VERSION) || has_only(headers, VERSION, version.as_str())
}

/// Whether the headers that 2026-07-28 requires agree with the call.
fn has_standard_headers(headers: &HeaderMap, tool: &str) -> bool {
    // An encoded name begins with `=?`.
    has_only(headers, VERSION, ProtocolVersion::V_2026_07_28.as_str())
        && has_only(headers, METHOD, "tools/call")
        && has_only(headers, NAME, tool)
        && !tool.starts_with("=?")
        && tool.bytes().all(|byte| byte.is_ascii_graphic())
        && !headers.keys().any(|name| name.as_str().starts_with(PARAM_PREFIX))
}

/// Whether a header has this value and no other.
pub(super) fn has_only(headers: &HeaderMap, name: &str, expected: &str) -> bool {
    let mut values = headers.get_all(name).iter();
    values.next().is_some_and(|value| value.as_bytes() == expected.as_bytes()) && values.next().is_none()
}

/// Whether a schema wants arguments repeated in headers, which rmcp checks.
fn has_header_rules(schema: &Map<String, Value>) -> bool {
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut properties = properties.into_iter().flat_map(Map::values).filter_map(Value::as_object);
    schema.contains_key(HEADER_RULE) || properties.any(has_header_rules)
}

/// Returns who sent a request, and the trace that it belongs to, for its handler.
fn identity(request: &Request<Bytes>) -> Parts {
    let (mut parts, ()) = Request::new(()).into_parts();
    parts.extensions = request.extensions().clone();
    for name in ["traceparent", "tracestate"] {
        if let Some(value) = request.headers().get(name) {
            parts.headers.insert(name, value.clone());
        }
    }
    parts
}
