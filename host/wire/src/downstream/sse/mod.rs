//! HTTP with server-sent events, the transport of MCP 2024-11-05: one stream of all server messages, whose first event
//! names the URL to POST messages to.
//!
//! That URL must have the same origin as the stream, because requests to it carry the configured headers. A stream that
//! ends is not resumed, because the lost messages are unknown.

mod events;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use futures_util::{StreamExt as _, TryStreamExt as _, stream::BoxStream};
use gatehouse_core::{
    Fault,
    http::{Redactor, Secret},
    lock,
    names::quoted,
};
use gatehouse_net::{Body, Client, Error, Method, RequestBuilder, Response, StatusCode, Url, http_cause};
use http::{
    HeaderMap,
    header::{ACCEPT, CONTENT_TYPE},
};
use rmcp::{RoleClient, service::TxJsonRpcMessage, transport::Transport};
use sse_stream::Sse;

pub(crate) use self::events::{EventError, events};
use super::{
    connection::{ConnectFailure, ConnectionEnd, fault_as_clause},
    inbound::{InboundReader, MessageReader, ServerMessage},
};
use crate::{
    login::{LoginId, Logins},
    media_type,
};

const MAX_QUOTED_CHARACTERS: usize = 300;

/// Failure of the transport, as a clause without a full stop.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(crate) struct SseError {
    message: String,
    /// True if another attempt would fail the same way.
    permanent: bool,
    #[source]
    login: Option<Fault>,
}

impl SseError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), permanent: false, login: None }
    }

    fn broken(error: Error) -> Self {
        Self::new(http_cause(error))
    }

    fn answered(status: StatusCode) -> Self {
        Self { permanent: status.is_client_error(), ..Self::new(format!("it answered {status}")) }
    }

    fn login(fault: Fault) -> Self {
        Self { message: fault_as_clause(&fault), permanent: !fault.retryable, login: Some(fault) }
    }
}

impl From<EventError> for SseError {
    fn from(error: EventError) -> Self {
        match error {
            EventError::Broken(error) => Self::broken(error),
            EventError::TooLong => Self::new("it sent an event that is too long"),
        }
    }
}

impl From<SseError> for ConnectFailure {
    fn from(error: SseError) -> Self {
        Self { permanent: error.permanent, ..Self::transient(error.message) }
    }
}

/// Authenticated requests to a server, with the configured headers or a stored login.
#[derive(Clone)]
pub(crate) struct ServerRequester {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// Logins, and the one to use. `None` if the configured headers authenticate.
    logins: Option<(Arc<Logins>, LoginId)>,
    /// All tokens that were sent, to redact them from messages of the server.
    sent: Arc<Mutex<Vec<Secret>>>,
}

impl ServerRequester {
    pub(crate) fn new(
        client: Client,
        url: Url,
        headers: HeaderMap,
        logins: Option<(Arc<Logins>, LoginId)>,
    ) -> Self {
        Self { client, url, headers, logins, sent: Arc::default() }
    }

    /// Sends a request, and again with a renewed token after a 401, because the server has not run it.
    async fn send(
        &self,
        method: Method,
        target: &Url,
        request: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, SseError> {
        let send = async |token: Option<&Secret>| {
            let headers = self.headers.clone();
            let mut begun = self.client.request(method.clone(), target.clone()).headers(headers);
            if let Some(token) = token {
                self.remember(token);
                begun = begun.bearer_auth(token.reveal());
            }
            request(begun).send().await.map_err(SseError::broken)
        };
        let Some((logins, login)) = &self.logins else { return send(None).await };
        let declared = self.url.as_str();
        let token = logins.bearer(login, declared, target).await.map_err(SseError::login)?;
        let response = send(token.as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let renewed =
            logins.renew_refused_token(login, declared, token.as_ref()).await.map_err(SseError::login)?;
        let response = send(Some(&renewed)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(SseError::login(logins.refused_again(login, &renewed).await));
        }
        Ok(response)
    }

    fn redact_tokens(&self, text: String) -> String {
        let sent = lock(&self.sent);
        if sent.is_empty() { text } else { Redactor::new(&*sent).redact_text(text) }
    }

    fn remember(&self, token: &Secret) {
        let mut sent = lock(&self.sent);
        if !sent.contains(token) {
            sent.push(token.clone());
        }
    }
}

pub(crate) struct SseTransport {
    requester: ServerRequester,
    endpoint: Url,
    stream: Option<BoxStream<'static, Result<Sse, SseError>>>,
    incoming: MessageReader,
}

impl SseTransport {
    /// Opens the stream and waits for the endpoint event. `limit` is the maximum of an event in bytes.
    pub(crate) async fn open(
        requester: ServerRequester,
        inbound: InboundReader,
        limit: usize,
    ) -> Result<Self, SseError> {
        let redacted =
            |error: SseError| SseError { message: requester.redact_tokens(error.message), ..error };
        let (endpoint, stream) = Self::begin(&requester, limit).await.map_err(redacted)?;
        let incoming = MessageReader::new(&inbound);
        Ok(Self { requester, endpoint, stream: Some(stream), incoming })
    }

    async fn begin(
        requester: &ServerRequester,
        limit: usize,
    ) -> Result<(Url, BoxStream<'static, Result<Sse, SseError>>), SseError> {
        let request = |request: RequestBuilder| request.header(ACCEPT, "text/event-stream");
        let response = requester.send(Method::GET, &requester.url, request).await?;
        if response.status() != StatusCode::OK {
            return Err(SseError::answered(response.status()));
        }
        let kind = media_type(response.headers());
        if kind != "text/event-stream" {
            let kind = quoted(&kind, 64);
            return Err(SseError::new(format!("it answered with '{kind}' instead of an event stream")));
        }
        let mut stream = events(response.bytes_stream(), limit).map_err(SseError::from).boxed();
        let endpoint = loop {
            let first = stream.try_next().await?;
            let first = first.ok_or_else(|| SseError::new("its event stream ended immediately"))?;
            if first.event.as_deref() == Some("endpoint") {
                break endpoint(&requester.url, first.data.as_deref().unwrap_or_default())?;
            }
        };
        Ok((endpoint, stream))
    }
}

fn endpoint(stream: &Url, named: &str) -> Result<Url, SseError> {
    let shown = quoted(named, MAX_QUOTED_CHARACTERS);
    let url = stream
        .join(named)
        .map_err(|error| SseError::new(format!("it named the invalid endpoint '{shown}': {error}")))?;
    if url.origin() != stream.origin() {
        return Err(SseError::new(format!(
            "it named the endpoint '{shown}', which has another origin than its event stream"
        )));
    }
    Ok(url)
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseError>> + Send + 'static {
        let (requester, endpoint) = (self.requester.clone(), self.endpoint.clone());
        async move {
            let body = serde_json::to_vec(&message)
                .map_err(|error| SseError::new(format!("cannot serialize the message: {error}")))?;
            let body = Bytes::from(body);
            let request = |request: RequestBuilder| {
                request.header(CONTENT_TYPE, "application/json").body(Body::from(body.clone()))
            };
            let response = requester.send(Method::POST, &endpoint, request).await?;
            // The stream has the answer; this response only acknowledges the message.
            if response.status().is_success() { Ok(()) } else { Err(SseError::answered(response.status())) }
        }
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        let why = loop {
            if let Some(message) = self.incoming.finish().await {
                return Some(message);
            }
            match self.stream.as_mut()?.try_next().await {
                Ok(Some(event)) if event.event.as_deref().is_some_and(|name| name != "message") => {}
                Ok(Some(event)) => {
                    let text = self.requester.redact_tokens(event.data.unwrap_or_default());
                    self.incoming.begin(text.into_bytes());
                }
                Ok(None) => break "the server closed its event stream".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        self.incoming.inbound.end(ConnectionEnd::new(quoted(&why, MAX_QUOTED_CHARACTERS)));
        self.stream = None;
        None
    }

    async fn close(&mut self) -> Result<(), SseError> {
        self.stream = None;
        Ok(())
    }
}
