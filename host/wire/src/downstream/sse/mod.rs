//! HTTP with server-sent events, the transport of MCP 2024-11-05: one stream of all server messages, whose first event
//! names the URL to POST messages to.
//!
//! That URL must have the same origin as the stream, because requests to it carry the configured headers. A stream that
//! ends is not resumed, because the lost messages are unknown.

mod events;
mod server_requester;
#[cfg(test)]
mod tests;

use std::{collections::VecDeque, fmt};

use bytes::Bytes;
use gatehouse_core::{Fault, names::quoted};
use gatehouse_net::{Body, Error, Method, RequestBuilder, Response, StatusCode, Url, http_cause};
use http::header::{ACCEPT, CONTENT_TYPE};
use rmcp::{RoleClient, service::TxJsonRpcMessage, transport::Transport};
use sse_stream::Sse;

pub(crate) use self::{events::SseParser, server_requester::ServerRequester};
use super::{
    connection::{ConnectFailure, ConnectionEnd, fault_as_clause},
    inbound::{InboundReader, MessageReader, ServerMessage},
};

const MAX_QUOTED_CHARACTERS: usize = 300;

/// Failure of the transport, as a clause without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseError {
    message: String,
    /// HTTP status. `None` if the server did not answer.
    status: Option<StatusCode>,
    login: Option<Fault>,
}

impl fmt::Display for SseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for SseError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.login.as_ref().map(|fault| fault as _)
    }
}

impl SseError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), status: None, login: None }
    }

    fn broken(error: Error) -> Self {
        Self::new(http_cause(error))
    }

    fn answered(status: StatusCode) -> Self {
        Self { status: Some(status), ..Self::new(format!("it answered {status}")) }
    }

    fn login(fault: Fault) -> Self {
        let message = fault_as_clause(&fault);
        Self { login: Some(fault), ..Self::new(message) }
    }
}

impl From<SseError> for ConnectFailure {
    fn from(error: SseError) -> Self {
        // Another attempt would get the same client error.
        let permanent = match &error.login {
            Some(fault) => !fault.retryable,
            None => error.status.is_some_and(|status| status.is_client_error()),
        };
        Self { message: error.message, permanent }
    }
}

pub(crate) struct SseTransport {
    requester: ServerRequester,
    endpoint: Url,
    stream: Option<SseStream>,
    inbound: InboundReader,
    incoming: MessageReader,
}

struct SseStream {
    response: Response,
    events: SseParser,
    parsed: VecDeque<Sse>,
}

impl SseTransport {
    /// Opens the stream and waits for the endpoint event. `limit` is the maximum of an event in bytes.
    pub(crate) async fn open(
        requester: ServerRequester,
        inbound: InboundReader,
        limit: usize,
    ) -> Result<Self, SseError> {
        match Self::begin(&requester, limit).await {
            Ok((endpoint, stream)) => {
                let incoming = MessageReader::new(&inbound);
                Ok(Self { requester, endpoint, stream: Some(stream), inbound, incoming })
            }
            Err(error) => Err(SseError { message: requester.redact_tokens(error.message), ..error }),
        }
    }

    async fn begin(requester: &ServerRequester, limit: usize) -> Result<(Url, SseStream), SseError> {
        let request = |request: RequestBuilder| request.header(ACCEPT, "text/event-stream");
        let response = requester.send(Method::GET, &requester.url, request).await?;
        if response.status() != StatusCode::OK {
            return Err(SseError::answered(response.status()));
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(SseError::new(format!(
                "it answered with '{}' instead of an event stream",
                quoted(kind, 64)
            )));
        }
        let mut stream = SseStream { response, events: SseParser::new(limit), parsed: VecDeque::new() };
        let endpoint = loop {
            let first =
                stream.next().await?.ok_or_else(|| SseError::new("its event stream ended immediately"))?;
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

impl SseStream {
    /// Returns the next event. `None` at the end of the stream. Cancel safe.
    async fn next(&mut self) -> Result<Option<Sse>, SseError> {
        loop {
            if let Some(event) = self.parsed.pop_front() {
                return Ok(Some(event));
            }
            let Some(bytes) = self.response.chunk().await.map_err(SseError::broken)? else { return Ok(None) };
            let came = &mut self.parsed;
            let taken = self.events.take(&bytes, |event| came.push_back(event));
            taken.map_err(|_| SseError::new("it sent an event that is too long"))?;
        }
    }
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
            if let Some(message) = self.incoming.large().await {
                return Some(message);
            }
            match self.stream.as_mut()?.next().await {
                Ok(Some(event)) if event.event.as_deref().is_some_and(|name| name != "message") => {}
                Ok(Some(event)) => {
                    let text = self.requester.redact_tokens(event.data.unwrap_or_default()).into_bytes();
                    if let Some(message) = self.incoming.add(text) {
                        return Some(message);
                    }
                }
                Ok(None) => break "the server closed its event stream".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        self.inbound.end(ConnectionEnd::new(quoted(&why, MAX_QUOTED_CHARACTERS)));
        self.stream = None;
        None
    }

    async fn close(&mut self) -> Result<(), SseError> {
        self.stream = None;
        Ok(())
    }
}
