//! The host as the MCP client of one server, over any framing: request IDs and their answers, cancellation, progress,
//! what the server asks, and both lifecycles of the protocol.
//!
//! Reading never waits for a client or for the server to read. What no request awaits is counted, and a flood of it ends
//! the connection.
//!
//! Longer than 300 lines because the requests, their answers and the end of a connection are one state.

mod flood;
mod measured_request;
mod message;
mod negotiation;
mod notifications;
mod pending;
mod progress;
mod redaction;
mod server_info;
mod server_requests;
mod subscription;
#[cfg(test)]
mod tests;

use std::{
    sync::{
        Arc, Mutex, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{CallContext, Principal, SourceId, lock};
use http::{HeaderMap, HeaderValue};
use serde::Serialize;
use serde_json::{Map, Value, json};
use tokio::{
    runtime::Handle,
    sync::{oneshot, watch},
    time::{Instant, timeout},
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use self::{
    flood::{FloodDetector, MAX_PER_SECOND, MAX_SECONDS},
    measured_request::MeasuredRequest,
    pending::PendingRequests,
    server_requests::ServerRequests,
};
use super::{
    connection::{CallFailure, ConnectionContext, ConnectionEnd},
    http::HttpChannel,
    pipes::PipeWriter,
    session::UpstreamSubscriptions,
    sse::SseChannel,
};
use crate::OnDrop;
pub(crate) use message::{InboundLimits, MAX_MESSAGE};
pub(super) use message::{MessageMemory, ReceivedResult, ServerMessage, refusal};
pub(super) use negotiation::NegotiationFailure;
pub(crate) use redaction::ConnectionSecrets;
pub(super) use server_info::{DISCOVERY_VERSION, HANDSHAKE_VERSION, Lifecycle, SERVER_INFO, ServerInfo};
pub(super) use server_requests::answer_input_requests;

/// Maximum wait for the reason that a connection closed.
const MAX_END_WAIT: Duration = Duration::from_secs(1);

/// Maximum time to send a notification or an answer over HTTP.
const MAX_SEND_TIME: Duration = Duration::from_secs(30);

/// A framing, which sends messages and reads the answers.
pub(super) enum Channel {
    Pipes(PipeWriter),
    Http(HttpChannel),
    Sse(SseChannel),
}

pub(super) struct Peer {
    pub(super) server: SourceId,
    pub(super) context: ConnectionContext,
    pub(super) secrets: ConnectionSecrets,
    pub(super) subscriptions: UpstreamSubscriptions,
    channel: Channel,
    pending: PendingRequests,
    server_requests: ServerRequests,
    next_id: AtomicU64,
    opened: Instant,
    /// Members of each request's `_meta` since 2026-07-28.
    modern_meta: Map<String, Value>,
    info: OnceLock<Arc<ServerInfo>>,
    flood: Mutex<FloodDetector>,
    /// True once the server has refused its session, so that the next request needs another one.
    lost_session: AtomicBool,
    /// Requests that wait for their answers.
    requests: TaskTracker,
    /// Cancelled to stop reading.
    closing: CancellationToken,
    /// True once a process has written anything.
    heard: watch::Sender<bool>,
    abuse: OnceLock<ConnectionEnd>,
    end: watch::Sender<Option<ConnectionEnd>>,
    /// Runtime of the connection. That of a caller may end before a message is complete.
    runtime: Handle,
}

/// A request to a server.
pub(super) struct Request<'a> {
    pub(super) method: &'static str,
    pub(super) params: Map<String, Value>,
    /// The call of a client that it belongs to.
    pub(super) call: Option<&'a Arc<CallContext>>,
    /// Headers of its own, over HTTP.
    pub(super) headers: HeaderMap,
}

impl<'a> Request<'a> {
    pub(super) fn new(method: &'static str, params: Value) -> Self {
        let params = if let Value::Object(params) = params { params } else { Map::new() };
        Self { method, params, call: None, headers: HeaderMap::new() }
    }

    pub(super) fn of_call(self, call: Option<&'a Arc<CallContext>>) -> Self {
        Self { call, ..self }
    }

    /// Sets the span that the server continues, in `_meta` and in the headers, which are all that some servers read.
    fn continuing(mut self, traceparent: String) -> Self {
        if let Ok(header) = HeaderValue::try_from(&traceparent) {
            self.headers.insert("traceparent", header);
        }
        if let Value::Object(meta) = self.params.entry("_meta").or_insert_with(|| json!({})) {
            meta.insert("traceparent".into(), traceparent.into());
        }
        self
    }
}

/// A request as it is sent.
#[derive(Serialize)]
pub(super) struct RequestMessage<'a> {
    jsonrpc: &'static str,
    pub(super) id: u64,
    pub(super) method: &'static str,
    pub(super) params: &'a Map<String, Value>,
}

impl Peer {
    pub(super) fn new(server: &Arc<str>, channel: Channel, context: ConnectionContext) -> Arc<Self> {
        let secrets = match &channel {
            Channel::Pipes(_) => ConnectionSecrets::new(Arc::clone(&context.limits.redactor)),
            Channel::Http(http) => http.secrets().clone(),
            Channel::Sse(sse) => sse.secrets().clone(),
        };
        Arc::new(Self {
            server: SourceId::Server(Arc::clone(server)),
            modern_meta: negotiation::modern_meta(context.declared),
            context,
            secrets,
            subscriptions: UpstreamSubscriptions::default(),
            channel,
            pending: PendingRequests::default(),
            server_requests: ServerRequests::default(),
            next_id: AtomicU64::new(1),
            opened: Instant::now(),
            info: OnceLock::new(),
            flood: Mutex::new(FloodDetector::new(Instant::now())),
            lost_session: AtomicBool::new(false),
            requests: TaskTracker::new(),
            closing: CancellationToken::new(),
            heard: watch::Sender::new(false),
            abuse: OnceLock::new(),
            end: watch::Sender::new(None),
            runtime: Handle::current(),
        })
    }

    /// Returns the server's description. `None` until the lifecycle has begun.
    pub(super) fn info(&self) -> Option<&Arc<ServerInfo>> {
        self.info.get()
    }

    pub(super) fn is_since_2026(&self) -> bool {
        self.info().is_some_and(|info| info.is_since_2026())
    }

    /// True if what the server sends outside of a call's stream, and keeps for later calls, may concern this caller: the
    /// local user, or the principal that the connection belongs to.
    fn belongs_to(&self, context: &CallContext) -> bool {
        let principal = &context.caller.principal;
        *principal == Principal::Local || self.context.login.owner() == Some(principal)
    }

    /// Sends a request once, and waits for its answer. Dropping the future cancels the request.
    pub(super) async fn request<'a>(
        self: &'a Arc<Self>,
        request: Request<'a>,
    ) -> Result<ReceivedResult, CallFailure> {
        let measured = MeasuredRequest::start(self, &request);
        let traceparent = measured.as_ref().and_then(|measured| measured.trace.traceparent());
        let request = match traceparent {
            // Other requests of older servers have no `_meta`, which some would refuse.
            Some(traceparent) if request.call.is_some() || self.is_since_2026() => {
                request.continuing(traceparent)
            }
            _ => request,
        };
        let answered = self.request_acknowledged(request, None).await;
        if let Some(measured) = measured {
            measured.end(&answered);
        }
        answered
    }

    /// Like [`Self::request`]. `acknowledged` receives what the server accepts of a subscription.
    async fn request_acknowledged(
        self: &Arc<Self>,
        request: Request<'_>,
        acknowledged: Option<oneshot::Sender<Map<String, Value>>>,
    ) -> Result<ReceivedResult, CallFailure> {
        let Request { method, mut params, call, headers } = request;
        let _waiting = self.requests.token();
        let id = self.next_id.fetch_add(1, Ordering::Relaxed);
        self.add_meta(&mut params, method, id, call);
        let Some((answer, _pending)) = self.pending.register(id, method, call, acknowledged) else {
            return Err(self.end_failure().await);
        };
        let cancel = OnDrop::new(|| self.cancel(id, method));
        let message = RequestMessage { jsonrpc: "2.0", id, method, params: &params };
        let exchange = async {
            match &self.channel {
                Channel::Http(http) => return http.exchange(self, &message, headers).await,
                Channel::Sse(sse) => sse.post(&message).await.inspect_err(|_| self.record_lost_session())?,
                Channel::Pipes(pipes) => {
                    if let Err(error) = pipes.write(&message).await {
                        return Err(self.end_failure_or(format!("cannot write to it: {error}")).await);
                    }
                }
            }
            match answer.await {
                Ok(answer) => answer,
                Err(_) => Err(self.end_failure().await),
            }
        };
        let answered = tokio::select! {
            biased;
            answered = exchange => answered,
            () = self.closing.cancelled() => Err(self.end_failure().await),
        };
        cancel.disarm();
        answered
    }

    /// Adds what each request has in its `_meta`: a progress token, and since 2026-07-28 the client and its capabilities.
    /// Those are the client's own for a call, and for other requests what some client has.
    fn add_meta(
        &self,
        params: &mut Map<String, Value>,
        method: &str,
        id: u64,
        call: Option<&Arc<CallContext>>,
    ) {
        let is_modern = self.is_since_2026() || method == negotiation::DISCOVER;
        if !is_modern && call.is_none() {
            return;
        }
        let meta = params.entry("_meta").or_insert_with(|| json!({}));
        let Value::Object(meta) = meta else { return };
        if call.is_some() {
            meta.insert("progressToken".into(), id.into());
        }
        if is_modern {
            let features = call.map(|call| call.client.profile().features);
            let call_features = features.filter(|features| *features != self.context.declared);
            meta.extend(call_features.map_or_else(|| self.modern_meta.clone(), negotiation::modern_meta));
        }
    }

    /// Tells the server that an answer is not needed anymore. Since 2026-07-28, the end of the request says so over HTTP.
    fn cancel(self: &Arc<Self>, id: u64, method: &str) {
        let is_told_by_end = matches!(self.channel, Channel::Http(_)) && self.is_since_2026();
        if is_told_by_end || negotiation::is_part(method) {
            return;
        }
        let params = json!({"requestId": id, "reason": "The caller stopped waiting."});
        self.notify("notifications/cancelled", params);
    }

    /// Sends a notification in the background.
    pub(super) fn notify(self: &Arc<Self>, method: &'static str, params: Value) {
        let this = Arc::clone(self);
        self.runtime.spawn(async move {
            let message = json!({"jsonrpc": "2.0", "method": method, "params": params});
            this.send(message).await;
        });
    }

    /// Sends a message that has no answer. Failures only matter to later requests.
    async fn send(self: &Arc<Self>, message: Value) {
        let sent = match &self.channel {
            Channel::Pipes(pipes) => pipes.write(&message).await.map_err(|error| error.to_string()),
            Channel::Http(http) => {
                let sent = timeout(MAX_SEND_TIME, http.send(self, &message)).await;
                sent.unwrap_or_else(|_| Err("it did not accept the message in time".into()))
            }
            Channel::Sse(sse) => {
                let sent = timeout(MAX_SEND_TIME, sse.post(&message)).await;
                sent.map_err(|late| late.to_string())
                    .and_then(|sent| sent.map_err(|failure| format!("{failure:?}")))
            }
        };
        if let Err(reason) = sent {
            let reason = self.secrets.redact_text(reason);
            tracing::debug!(server = %self.server, "cannot send a message: {reason}");
        }
    }

    /// Handles a message. `origin` is the request on whose stream it arrived, if that is known.
    pub(super) fn receive(self: &Arc<Self>, message: ServerMessage, origin: Option<u64>) {
        match message {
            ServerMessage::Request { id, method, params } => self.receive_request(id, method, params, origin),
            ServerMessage::Notification { method, params } => {
                self.receive_notification(&method, params, origin)
            }
            ServerMessage::Answer { id, answer } => {
                if !self.pending.answer(id, answer) {
                    self.count_unrequested(1, 0);
                }
            }
            ServerMessage::Invalid(reason) => {
                self.count_unrequested(1, 0);
                tracing::debug!(server = %self.server, "ignoring a message: {reason}");
            }
        }
    }

    pub(super) const fn channel(&self) -> &Channel {
        &self.channel
    }

    /// Waits until the process has written something.
    pub(super) async fn heard(&self) {
        // Does not fail, because the sender lives as long as this.
        let _ = self.heard.subscribe().wait_for(|heard| *heard).await;
    }

    /// Records that the process has written something.
    pub(super) fn record_heard(&self) {
        if !*self.heard.borrow() {
            self.heard.send_replace(true);
        }
    }

    /// Counts what no request awaits. A flood ends the connection.
    pub(super) fn count_unrequested(&self, messages: usize, bytes: usize) {
        if lock(&self.flood).add(Instant::now(), messages, bytes) {
            let reason = format!(
                "it sent more than {MAX_PER_SECOND} unrequested messages a second for {MAX_SECONDS} s"
            );
            self.stop(ConnectionEnd { reason, is_abuse: true });
        }
    }

    /// Stops reading for this reason.
    pub(super) fn stop(&self, end: ConnectionEnd) {
        let _ = self.abuse.set(end);
        self.closing.cancel();
    }

    pub(super) const fn closing(&self) -> &CancellationToken {
        &self.closing
    }

    /// Records the end of the connection, and fails its requests. The reader calls this last.
    pub(super) fn record_end(&self, end: ConnectionEnd) {
        let end = self.abuse.get().cloned().unwrap_or(end);
        let is_first = self.end.send_if_modified(|recorded| {
            let is_first = recorded.is_none();
            recorded.get_or_insert(end);
            is_first
        });
        if is_first {
            measured_request::record_session(self);
        }
        self.pending.close();
        self.closing.cancel();
    }

    pub(super) fn ended(&self) -> watch::Receiver<Option<ConnectionEnd>> {
        self.end.subscribe()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.end.borrow().is_some() || self.closing.is_cancelled()
    }

    /// Returns true if the server has refused its session.
    pub(super) fn has_lost_session(&self) -> bool {
        self.lost_session.load(Ordering::Relaxed)
    }

    pub(super) fn record_lost_session(&self) {
        self.lost_session.store(true, Ordering::Relaxed);
    }

    async fn end_failure(&self) -> CallFailure {
        self.end_failure_or("the connection closed".into()).await
    }

    /// Returns the failure of a request whose connection ends. The output may close before the exit status and the last
    /// lines of standard error are known.
    async fn end_failure_or(&self, reason: String) -> CallFailure {
        if let Some(end) = self.abuse.get() {
            return CallFailure::Transport(end.reason.clone());
        }
        let mut end = self.end.subscribe();
        let connection_end = timeout(MAX_END_WAIT, end.wait_for(Option::is_some)).await;
        let connection_end =
            connection_end.ok().and_then(|connection_end| connection_end.ok().and_then(|end| end.clone()));
        CallFailure::Transport(connection_end.map_or(reason, |end| end.reason))
    }

    /// Waits until no request waits for its answer. Later requests do not matter.
    pub(super) async fn wait_for_requests(&self) {
        self.requests.close();
        self.requests.wait().await;
    }

    /// Closes the connection: the input of a process, or a session.
    pub(super) async fn close(self: &Arc<Self>) {
        self.closing.cancel();
        match &self.channel {
            Channel::Pipes(pipes) => pipes.close().await,
            Channel::Http(http) => {
                http.close(self).await;
                // The others have a reader that records it.
                self.record_end(ConnectionEnd::new("the connection is closed"));
            }
            Channel::Sse(_) => {}
        }
    }
}
