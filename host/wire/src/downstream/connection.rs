//! Traits for connections to servers, independent of the transport.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    CallContext, Fault,
    completion::{CompletionRequest, Completions},
    outcome::{EmbeddedResource, Reply},
    ports::{client::ClientFeatures, servers::ServerDefinition},
    prompt::FilledPrompt,
    resource::ResourcePage,
    source::Listing,
    tool::ToolSpec,
};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::peer::{InboundLimits, Lifecycle, NegotiationFailure};
use crate::{ConnectedClients, login::LoginId};

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallFailure {
    /// The connection failed, or the server violated the protocol.
    Transport(String),
    /// The server could not be reached, so it did not get the request.
    NotSent(String),
    /// The server answered with an HTTP status instead of a message, which begins with the status in words.
    Status { status: u16, message: String },
    /// The server answered with a JSON-RPC error.
    Refused { code: i32, message: String },
    /// The server asked for input, which the client did not give.
    Unanswered(Fault),
    /// The login is missing, expired or insufficient. The server did not run the request.
    Login(Fault),
    /// The server does not know the session anymore. It did not run this request.
    SessionEnded {
        /// True if it ran an earlier request of the same call.
        has_begun: bool,
    },
    /// The answer exceeds a limit or cannot be parsed; the text is the reason.
    Unreadable(String),
}

impl CallFailure {
    /// Returns the failure of a call for that of its second or later request.
    pub(super) fn of_later_request(self) -> Self {
        match self {
            Self::SessionEnded { .. } => Self::SessionEnded { has_begun: true },
            failure => failure,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectionEnd {
    /// One line without a full stop.
    pub(super) reason: String,
    /// True if the server's behavior caused it. A new connection would end the same way.
    pub(super) is_abuse: bool,
}

impl ConnectionEnd {
    pub(super) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_abuse: false }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub(super) struct ConnectFailure {
    /// One clause without a full stop.
    pub(super) message: String,
    /// True if another attempt would fail the same way.
    pub(super) permanent: bool,
    /// True if the lifecycle of the protocol may be the cause, so another one may succeed.
    pub(super) wrong_lifecycle: bool,
    /// True if nothing listens at the server's address.
    pub(super) refused: bool,
}

impl From<CallFailure> for ConnectFailure {
    fn from(failure: CallFailure) -> Self {
        match failure {
            CallFailure::Transport(reason) | CallFailure::Unreadable(reason) => Self::transient(reason),
            CallFailure::NotSent(reason) => Self { refused: true, ..Self::transient(reason) },
            CallFailure::Status { status, message } => {
                Self { permanent: status == 401, ..Self::transient(format!("it answered {message}")) }
            }
            CallFailure::Refused { code, message } => {
                Self::transient(format!("it answered: {message} ({code})"))
            }
            CallFailure::Login(fault) | CallFailure::Unanswered(fault) => {
                Self { permanent: !fault.retryable, ..Self::transient(fault_as_clause(&fault)) }
            }
            CallFailure::SessionEnded { .. } => Self::transient("it ended the session"),
        }
    }
}

impl ConnectFailure {
    pub(super) fn transient(message: impl Into<String>) -> Self {
        Self { message: message.into(), permanent: false, wrong_lifecycle: false, refused: false }
    }

    pub(super) fn timed_out(limit: Duration) -> Self {
        let seconds = limit.as_secs_f64();
        Self::transient(format!("it did not answer within {seconds} s (`connection_timeout`)"))
    }

    /// Returns the failure of the handshake, which tells more: few servers know discovery.
    pub(super) fn from_negotiation(NegotiationFailure(failures): NegotiationFailure) -> Self {
        let (handshake, discovery): (Vec<_>, Vec<_>) =
            failures.into_iter().partition(|(lifecycle, _)| *lifecycle == Lifecycle::Handshake);
        let mut failures = handshake.into_iter().chain(discovery).map(|(_, failure)| Self::from(failure));
        let first = failures.next().unwrap_or_else(|| Self::transient("it did not answer"));
        match failures.next() {
            Some(other) => first.after(&other),
            None => first,
        }
    }

    /// Adds what happened to an earlier attempt with another lifecycle, if that was something else.
    pub(super) fn after(self, refused: &Self) -> Self {
        if self.message == refused.message {
            return self;
        }
        let message = format!("{} (and at `server/discover` before: {})", self.message, refused.message);
        Self { message, ..self }
    }

    pub(super) fn permanent(message: impl Into<String>) -> Self {
        Self { permanent: true, ..Self::transient(message) }
    }
}

/// Returns the message and the hint of a fault, without a full stop at the end.
pub(super) fn fault_as_clause(fault: &Fault) -> String {
    fault.in_one_line().trim_end_matches('.').to_owned()
}

/// Callback for changes in the lists of a server.
pub(super) type ListChanged = Arc<dyn Fn() + Send + Sync>;

#[derive(Clone)]
pub(super) struct ConnectionContext {
    /// The login to use, if the server requires one.
    pub(super) login: LoginId,
    /// `None` if changes of the lists do not matter on this connection.
    pub(super) changed: Option<ListChanged>,
    pub(super) limits: InboundLimits,
    pub(super) clients: Arc<ConnectedClients>,
    pub(super) declared: ClientFeatures,
    /// How to begin, which may be what worked the last time.
    pub(super) start: ConnectionStart,
}

/// How a connection to a server begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct ConnectionStart {
    /// The lifecycle to try first.
    pub(super) lifecycle: Lifecycle,
    /// True for the HTTP transport of MCP 2024-11-05.
    pub(super) is_sse: bool,
}

impl Default for ConnectionStart {
    fn default() -> Self {
        Self { lifecycle: Lifecycle::Discovery, is_sse: false }
    }
}

#[cfg(test)]
impl ConnectionContext {
    pub(super) fn of_test(changed: Option<ListChanged>, limits: InboundLimits) -> Self {
        let declared = ClientFeatures::default();
        Self {
            login: LoginId::shared("test"),
            changed,
            limits,
            clients: Arc::default(),
            declared,
            start: ConnectionStart::default(),
        }
    }
}

/// Connected server, with its own names and URIs. Dropping a pending future cancels its request.
#[async_trait]
pub(super) trait ServerConnection: Send + Sync {
    /// Lists everything, unfiltered and unchecked. `limit` is for the tools; other lists have limits of their own.
    async fn list(&self, limit: Duration) -> Result<Listing, CallFailure>;

    /// Sends one call, once, with its `_meta`. Questions of the server go to the client of `context`.
    async fn call(
        &self,
        tool: &ToolSpec,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Reply, CallFailure>;

    async fn list_resources(&self, cursor: Option<&str>) -> Result<ResourcePage, CallFailure>;

    /// Subscribes to a resource. The counter changes with each update. `None` if the server does not report updates.
    ///
    /// Dropping the receiver unsubscribes; the sender is dropped with the connection.
    async fn follow_resource(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure>;

    fn is_followed(&self) -> bool;

    /// Returns how the connection began.
    fn start(&self) -> ConnectionStart;

    /// True if the server has refused the session, so that the next request needs a new one.
    fn has_lost_session(&self) -> bool;

    /// Reads a resource. The server may ask questions, as during a call.
    async fn read_resource(
        &self,
        uri: &str,
        context: &Arc<CallContext>,
    ) -> Result<Vec<EmbeddedResource>, CallFailure>;

    /// Returns a prompt. The server may ask questions, as during a call.
    async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<FilledPrompt, CallFailure>;

    async fn complete(&self, typed: CompletionRequest) -> Result<Completions, CallFailure>;

    async fn ended(&self) -> ConnectionEnd;

    async fn close(&self);

    /// Closes a connection that gets no more requests: subscriptions at once and, over HTTP, the rest when no request waits
    /// for its answer.
    async fn close_after_requests(&self);
}

#[async_trait]
pub(super) trait Connector: Send + Sync {
    /// Makes one attempt. `limit` starts when a process gets a start slot.
    async fn connect(
        &self,
        server: &ServerDefinition,
        context: ConnectionContext,
        limit: Duration,
    ) -> Result<Arc<dyn ServerConnection>, ConnectFailure>;
}
