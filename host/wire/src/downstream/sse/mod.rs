//! HTTP with server-sent events, as servers of the first version of the protocol have it: a stream of everything that the
//! server says, whose first event names the address that everything for it is sent to.
//!
//! The address has to be of the same origin as the stream: what is sent there has the headers of the server's definition,
//! and those are for nobody else. A stream that ends is not resumed, for nothing tells what was lost with it.

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

pub(crate) use self::{
    events::{SseEvent, SseParser},
    server_requester::ServerRequester,
};
use super::{
    connection::{ConnectFailure, ConnectionEnd},
    inbound::{InboundReader, MessageReader, ServerMessage},
};

/// The most of an answer that is quoted where it is no stream.
const MAX_QUOTED_BYTES: usize = 300;

/// Why the transport does not work, in a sentence without a stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SseError {
    message: String,
    /// What the server answered with, where it answered.
    status: Option<StatusCode>,
    /// What is wrong with the login, where something is.
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
        let message = fault.in_one_line().trim_end_matches('.').to_owned();
        Self { login: Some(fault), ..Self::new(message) }
    }
}

impl From<SseError> for ConnectFailure {
    fn from(error: SseError) -> Self {
        // What a server says of the request itself it will say again.
        let permanent = match &error.login {
            Some(fault) => !fault.retryable,
            None => error.status.is_some_and(|status| status.is_client_error()),
        };
        Self { message: error.message, permanent }
    }
}

/// An open stream, and where answers to it go.
pub(crate) struct SseTransport {
    asking: ServerRequester,
    endpoint: Url,
    stream: Option<SseStream>,
    inbound: InboundReader,
    incoming: MessageReader,
}

/// What comes from the server.
struct SseStream {
    response: Response,
    events: SseParser,
    /// Complete, and not yet taken.
    parsed: VecDeque<SseEvent>,
}

impl SseTransport {
    /// Opens the stream and waits for its first event. No event may have more than `limit` bytes.
    ///
    /// # Errors
    /// Where there is no stream at this address, or where it names an address of another origin.
    pub(crate) async fn open(
        asking: ServerRequester,
        inbound: InboundReader,
        limit: usize,
    ) -> Result<Self, SseError> {
        match Self::begin(&asking, limit).await {
            Ok((endpoint, stream)) => {
                let incoming = MessageReader::new(&inbound);
                Ok(Self { asking, endpoint, stream: Some(stream), inbound, incoming })
            }
            Err(error) => Err(SseError { message: asking.redact_tokens(error.message), ..error }),
        }
    }

    async fn begin(asking: &ServerRequester, limit: usize) -> Result<(Url, SseStream), SseError> {
        let request = |request: RequestBuilder| request.header(ACCEPT, "text/event-stream");
        let response = asking.send(Method::GET, asking.url(), request).await?;
        if response.status() != StatusCode::OK {
            return Err(SseError::answered(response.status()));
        }
        let kind =
            response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
        if !kind.starts_with("text/event-stream") {
            return Err(SseError::new(format!(
                "it answered with '{}' and no stream of events",
                quoted(kind, 64)
            )));
        }
        let mut stream = SseStream { response, events: SseParser::new(limit), parsed: VecDeque::new() };
        let endpoint = loop {
            let first = stream.next().await?.ok_or_else(|| SseError::new("its stream ended at once"))?;
            if first.name == "endpoint" {
                break endpoint(asking.url(), &first.data)?;
            }
        };
        Ok((endpoint, stream))
    }
}

/// The address that a server names, which may be relative to that of its stream.
fn endpoint(stream: &Url, named: &str) -> Result<Url, SseError> {
    let told = quoted(named, MAX_QUOTED_BYTES);
    let url = stream
        .join(named)
        .map_err(|error| SseError::new(format!("it wants answers at '{told}': {error}")))?;
    if url.origin() != stream.origin() {
        return Err(SseError::new(format!(
            "it wants answers at '{told}', which is not where its stream is: nothing is sent to another host"
        )));
    }
    Ok(url)
}

impl SseStream {
    /// The next event; none at the end. Nothing is lost where the future is dropped.
    async fn next(&mut self) -> Result<Option<SseEvent>, SseError> {
        loop {
            if let Some(event) = self.parsed.pop_front() {
                return Ok(Some(event));
            }
            let Some(bytes) = self.response.chunk().await.map_err(SseError::broken)? else { return Ok(None) };
            let came = &mut self.parsed;
            let taken = self.events.take(&bytes, |event| came.push_back(event));
            taken.map_err(|_| SseError::new("it sent an event that is longer than any may be"))?;
        }
    }
}

impl Transport<RoleClient> for SseTransport {
    type Error = SseError;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), SseError>> + Send + 'static {
        let (asking, endpoint) = (self.asking.clone(), self.endpoint.clone());
        async move {
            let body = serde_json::to_vec(&message)
                .map_err(|error| SseError::new(format!("the message cannot be written: {error}")))?;
            let body = Bytes::from(body);
            let request = |request: RequestBuilder| {
                request.header(CONTENT_TYPE, "application/json").body(Body::from(body.clone()))
            };
            let response = asking.send(Method::POST, &endpoint, request).await?;
            // What it says comes over the stream; this answer says only that the message is there.
            if response.status().is_success() { Ok(()) } else { Err(SseError::answered(response.status())) }
        }
    }

    async fn receive(&mut self) -> Option<ServerMessage> {
        let why = loop {
            if let Some(message) = self.incoming.large().await {
                return Some(message);
            }
            match self.stream.as_mut()?.next().await {
                Ok(Some(event)) if !matches!(&*event.name, "" | "message") => {}
                Ok(Some(event)) => {
                    let text = self.asking.redact_tokens(event.data).into_bytes();
                    if let Some(message) = self.incoming.add(text) {
                        return Some(message);
                    }
                }
                Ok(None) => break "the server ended its stream of events".to_owned(),
                Err(error) => break error.to_string(),
            }
        };
        self.inbound.end(ConnectionEnd::new(quoted(&why, MAX_QUOTED_BYTES)));
        self.stream = None;
        None
    }

    async fn close(&mut self) -> Result<(), SseError> {
        self.stream = None;
        Ok(())
    }
}
