//! Streamable HTTP, the transport since MCP 2025-03-26. Each message is a POST. The answer to a request is that of its
//! POST: one message, or an event stream that ends with it. A session has one more stream, for what belongs to no
//! request.

mod answer;
pub(super) mod events;
mod headers;
mod requester;
mod session_stream;
#[cfg(test)]
mod tests;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::lock;
use gatehouse_net::{Method, Response};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::Serialize;
use tokio::{sync::watch, time::timeout};

use super::{
    connection::CallFailure,
    peer::{ConnectionSecrets, Peer, ReceivedResult, RequestMessage},
};
pub(super) use answer::speaks_of_session;
pub(super) use headers::{argument_headers, tool_headers};
pub(crate) use requester::ServerRequester;

const SESSION: &str = "mcp-session-id";
const VERSION: &str = "mcp-protocol-version";
const LAST_EVENT: &str = "last-event-id";

const EVENT_STREAM: &str = "text/event-stream";
const JSON: &str = "application/json";

/// Maximum wait for the stream of the session. Some servers answer its request only with the first message.
const MAX_STREAM_WAIT: Duration = Duration::from_secs(2);

/// Maximum time to end the session of a connection that closes.
const MAX_DELETE_TIME: Duration = Duration::from_secs(2);

pub(super) struct HttpChannel {
    requester: ServerRequester,
    /// ID of the session, from the answer to `initialize`.
    session: Mutex<Option<HeaderValue>>,
    /// True once the stream of the session is open, refused, or late.
    has_stream: watch::Sender<bool>,
}

impl HttpChannel {
    pub(super) fn new(requester: ServerRequester) -> Self {
        Self { requester, session: Mutex::default(), has_stream: watch::Sender::new(false) }
    }

    pub(super) fn secrets(&self) -> &ConnectionSecrets {
        self.requester.secrets()
    }

    fn session(&self) -> Option<HeaderValue> {
        lock(&self.session).clone()
    }

    /// Sends a request, and returns its answer.
    pub(super) async fn exchange(
        &self,
        peer: &Arc<Peer>,
        message: &RequestMessage<'_>,
        mut headers: HeaderMap,
    ) -> Result<ReceivedResult, CallFailure> {
        let version = peer.version_of(message.method);
        headers::add_standard(&mut headers, version, message);
        if let Some(version) = version.and_then(|version| HeaderValue::from_str(version).ok()) {
            headers.insert(VERSION, version);
        }
        let session = self.session();
        if session.is_some() {
            self.wait_for_stream(message.method).await;
        }
        let response = self.post(message, headers, session.clone()).await?;
        if message.method == "initialize"
            && let Some(session) = response.headers().get(SESSION)
        {
            *lock(&self.session) = Some(session.clone());
        }
        self.answer(peer, message.id, response, session.is_some()).await
    }

    /// Sends a message that has no answer.
    ///
    /// # Errors
    /// The reason, as a clause.
    pub(super) async fn send(&self, peer: &Arc<Peer>, message: &impl Serialize) -> Result<(), String> {
        let mut headers = HeaderMap::new();
        if let Some(version) = peer.version_of("").and_then(|version| HeaderValue::from_str(version).ok()) {
            headers.insert(VERSION, version);
        }
        let sent = self.post(message, headers, self.session()).await;
        match sent.map(|response| response.status()) {
            Ok(status) if status.is_success() => Ok(()),
            Ok(status) => Err(format!("it answered {status}")),
            Err(failure) => Err(format!("{failure:?}")),
        }
    }

    async fn post(
        &self,
        message: &impl Serialize,
        mut headers: HeaderMap,
        session: Option<HeaderValue>,
    ) -> Result<Response, CallFailure> {
        let body = serde_json::to_vec(message)
            .map_err(|error| CallFailure::Unreadable(format!("cannot write the request: {error}")))?;
        headers.insert(ACCEPT, HeaderValue::from_static("application/json, text/event-stream"));
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(JSON));
        headers.extend(session.map(|session| (HeaderName::from_static(SESSION), session)));
        self.requester.send(Method::POST, &headers, Some(body.into())).await
    }

    /// Returns the headers of a request for a stream of the session.
    fn stream_headers(&self, peer: &Peer, last_event: Option<&str>) -> HeaderMap {
        let mut headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(EVENT_STREAM))]);
        let text = |value: &str| HeaderValue::from_str(value).ok();
        let optional_headers = [
            (SESSION, self.session()),
            (VERSION, peer.version_of("").and_then(text)),
            (LAST_EVENT, last_event.and_then(text)),
        ];
        for (name, value) in optional_headers {
            headers.extend(value.map(|value| (HeaderName::from_static(name), value)));
        }
        headers
    }

    /// Opens the stream of the session, if there is one.
    pub(super) fn begin_session(&self, peer: &Arc<Peer>) {
        if self.session().is_some() {
            let this = Arc::clone(peer);
            peer.run_until_closed(async move { session_stream::follow(&this).await });
        }
    }

    /// Waits for the stream of the session before a request during which the server may ask something. Some servers ask
    /// on that stream, and drop the question if it is not open.
    async fn wait_for_stream(&self, method: &str) {
        let may_ask = ["tools/call", "prompts/get", "resources/read"].contains(&method);
        if may_ask && !*self.has_stream.borrow() {
            let mut has_stream = self.has_stream.subscribe();
            let _ = timeout(MAX_STREAM_WAIT, has_stream.wait_for(|has_stream| *has_stream)).await;
            self.has_stream.send_replace(true);
        }
    }

    /// Ends the session. Servers may refuse that.
    pub(super) async fn close(&self, peer: &Peer) {
        if self.session().is_some() && !peer.has_lost_session() {
            let mut headers = self.stream_headers(peer, None);
            headers.remove(ACCEPT);
            lock(&self.session).take();
            let _ = timeout(MAX_DELETE_TIME, self.requester.send(Method::DELETE, &headers, None)).await;
        }
    }
}
