//! What a connection to a server is to the rest: it lists, it calls, it ends. How it is made is the transports' matter.

use std::{fmt, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    CallContext, Fault,
    completion::{CompletionRequest, Completions},
    outcome::{EmbeddedResource, Reply},
    ports::servers::ServerDefinition,
    prompt::PromptMessage,
    resource::ResourcePage,
    source::Listing,
};
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::inbound::InboundLimits;

/// Why something that was asked of a connected server has no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CallFailure {
    /// It did not get through: the server is gone, or it does not speak the protocol.
    Transport(String),
    /// The server answered that it will not.
    Refused {
        /// The code of JSON-RPC.
        code: i32,
        /// In the server's words.
        message: String,
    },
    /// The server wants something first that nobody gave.
    Unanswered(Fault),
    /// The login to the server is missing, has ended or does not suffice. The server did nothing.
    Login(Fault),
    /// The server answered, and the answer is not read, for this reason.
    Unreadable(String),
}

/// How a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectionEnd {
    /// In one line, without a stop.
    pub(super) why: String,
    /// Whether the host ended it because of what the server did. Another connection would end the same way.
    pub(super) is_abuse: bool,
}

impl ConnectionEnd {
    pub(super) fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_abuse: false }
    }

    pub(super) fn abuse(why: impl Into<String>) -> Self {
        Self { why: why.into(), is_abuse: true }
    }
}

/// Why there is no connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ConnectFailure {
    /// In a sentence, without a stop.
    pub(super) message: String,
    /// Whether another attempt would end the same way.
    pub(super) permanent: bool,
}

impl ConnectFailure {
    /// One that may pass.
    pub(super) fn transient(message: impl Into<String>) -> Self {
        Self { message: message.into(), permanent: false }
    }

    /// The end of an attempt that took longer than it may.
    pub(super) fn timed_out(limit: Duration) -> Self {
        Self::transient(format!("it did not answer within {} s", limit.as_secs_f64()))
    }

    /// Adds that the server refused the handshake of 2025-11-25 and earlier before this.
    pub(super) fn after(self, refused: &Self) -> Self {
        let message = format!("{} (it refused `initialize` before: {})", self.message, refused.message);
        Self { message, ..self }
    }

    /// One that stays until somebody mends it.
    pub(super) fn permanent(message: impl Into<String>) -> Self {
        Self { message: message.into(), permanent: true }
    }
}

impl fmt::Display for ConnectFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Is told that what a server lists is not what it was.
pub(super) type ListChanged = Arc<dyn Fn() + Send + Sync>;

/// What a connection needs to take in messages of its server.
#[derive(Clone)]
pub(super) struct ConnectionContext {
    pub(super) changed: ListChanged,
    pub(super) limits: InboundLimits,
}

/// A connected server. Dropping a future that waits for an answer tells the server that nobody does.
#[async_trait]
pub(super) trait ServerConnection: Send + Sync {
    /// All pages of what it lists, as it says it: neither cleaned nor checked.
    async fn list(&self) -> Result<Listing, CallFailure>;

    /// Sends one call, once, with what goes beside its arguments (`_meta`). What the server asks meanwhile goes to the
    /// client of `context`.
    async fn call(
        &self,
        tool: &str,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Reply, CallFailure>;

    /// A page of what there is to read, from a cursor of the server's on.
    async fn list_resources(&self, cursor: Option<&str>) -> Result<ResourcePage, CallFailure>;

    /// Has the server tell of changes of what stands at an address of its own: the count changes with each. None where it does
    /// not tell. Dropping the receiver takes that back; the sender goes with the connection.
    async fn follow_resource(&self, uri: &str) -> Result<Option<watch::Receiver<u64>>, CallFailure>;

    /// Whether anybody follows one of its resources.
    fn is_followed(&self) -> bool;

    /// What stands at an address of the server's own. The server may ask, as during a call.
    async fn read_resource(
        &self,
        uri: &str,
        context: &Arc<CallContext>,
    ) -> Result<Vec<EmbeddedResource>, CallFailure>;

    /// The messages of a prompt, by the server's own name. The server may ask, as during a call.
    async fn get_prompt(
        &self,
        name: &str,
        arguments: Map<String, Value>,
        context: &Arc<CallContext>,
    ) -> Result<Vec<PromptMessage>, CallFailure>;

    /// What may be meant by what is typed, in the server's own names.
    async fn complete(&self, typed: CompletionRequest) -> Result<Completions, CallFailure>;

    /// Waits until it is over.
    async fn ended(&self) -> ConnectionEnd;

    /// Ends it, and whatever was started for it.
    async fn close(&self);
}

/// Makes connections.
#[async_trait]
pub(super) trait Connector: Send + Sync {
    /// Makes one attempt. `limit` begins when a program may start: few start at the same time, and others wait for them.
    async fn connect(
        &self,
        server: &ServerDefinition,
        intake: ConnectionContext,
        limit: Duration,
    ) -> Result<Arc<dyn ServerConnection>, ConnectFailure>;
}
