//! Guard for messages of servers, before rmcp reads them. It redacts secrets, counts values before parsing, and parses
//! large messages outside the async runtime. A response that cannot be read only fails its own request.

mod flood;
mod pending_responses;
mod server_text;
#[cfg(test)]
mod tests;
mod transport;

use std::sync::{Arc, Mutex, OnceLock};

use futures_util::future::BoxFuture;
use gatehouse_core::{
    http::{Redactor, Secret},
    json::{MAX_VALUES, MessageSize},
    lock,
    names::quoted,
};
use rmcp::{
    RoleClient,
    model::{ErrorData, JsonRpcMessage, RequestId, ServerResult},
    service::RxJsonRpcMessage,
};
use tokio::{
    sync::{Semaphore, oneshot},
    task::spawn_blocking,
    time::Instant,
};
use tokio_util::sync::CancellationToken;

use super::connection::ConnectionEnd;
use crate::{MIN_LARGE_MESSAGE, peer_requests::answered_request, serve::response_id};
use flood::{FloodDetector, MAX_PER_SECOND, MAX_SECONDS};
use pending_responses::{DirectAnswer, PendingResponses};
pub(super) use pending_responses::{MessageMemory, ReceivedResponse};
pub(super) use server_text::is_task_only;
use server_text::{parse_call_reply, repaired};
pub(super) use transport::{GuardedTransport, ProgressWatchers, UNSENT_REQUEST};

pub(crate) type ServerMessage = RxJsonRpcMessage<RoleClient>;

/// Maximum bytes of a message, as for clients of the host.
pub(crate) const MAX_MESSAGE: usize = 16 << 20;

/// Maximum bytes of memory for the messages of one server, from parsing until their calls end.
const MAX_MEMORY: usize = 100 << 20;

/// Messages of fewer bytes are not counted: they have at most 2,048 values.
const MIN_COUNTED_MESSAGE: usize = 4 << 10;

const MEMORY_UNIT: usize = 1 << 10;

/// Limits of one server, shared by all its connections.
#[derive(Clone)]
pub(crate) struct InboundLimits {
    pub(super) redactor: Arc<Redactor>,
    memory: Arc<Semaphore>,
}

impl InboundLimits {
    pub(crate) fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, memory: Arc::new(Semaphore::new(MAX_MEMORY / MEMORY_UNIT)) }
    }
}

#[derive(Clone)]
pub(crate) struct InboundReader {
    limits: InboundLimits,
    pending: PendingResponses,
    flood: Arc<Mutex<FloodDetector>>,
    ended: Arc<OnceLock<ConnectionEnd>>,
    ending: CancellationToken,
}

impl InboundReader {
    pub(crate) fn new(limits: &InboundLimits) -> Self {
        Self {
            limits: limits.clone(),
            pending: PendingResponses::default(),
            flood: Arc::new(Mutex::new(FloodDetector::new(Instant::now()))),
            ended: Arc::default(),
            ending: CancellationToken::new(),
        }
    }

    /// Returns a reader of the same connection that redacts `secret` too.
    pub(crate) fn with_redacted(&self, secret: &Secret) -> Self {
        let redactor = Arc::new(self.limits.redactor.with_secret(secret));
        Self { limits: InboundLimits { redactor, ..self.limits.clone() }, ..self.clone() }
    }

    /// Reads a message, a large one outside the async runtime.
    pub(crate) async fn read(&self, text: Vec<u8>) -> Option<ServerMessage> {
        if text.len() < MIN_COUNTED_MESSAGE {
            return self.parse(text, MessageMemory::default());
        }
        let is_large = text.len() >= MIN_LARGE_MESSAGE;
        let count = move || (MessageSize::from_text(&text), text);
        let (size, text) = if is_large { spawn_blocking(count).await.ok()? } else { count() };
        if let Some(why) = too_large(size) {
            return self.refuse_text(&text, why);
        }
        let permit = Arc::clone(&self.limits.memory).acquire_many_owned(units(size)).await.ok()?;
        let memory = MessageMemory { bytes: text.len(), size, _permit: Some(permit) };
        let this = self.clone();
        let parse = move || this.parse(text, memory);
        if is_large { spawn_blocking(parse).await.ok()? } else { parse() }
    }

    /// Reads a message. A large result bypasses rmcp, which would parse it again on the async runtime.
    pub(crate) async fn read_with_detached_result(&self, text: Vec<u8>) -> Option<ServerMessage> {
        let is_large = text.len() >= MIN_LARGE_MESSAGE;
        match self.read(text).await {
            Some(JsonRpcMessage::Response(mut response)) if is_large && !is_for_rmcp(&response.result) => {
                let empty = ServerResult::empty(());
                let result = std::mem::replace(&mut response.result, empty);
                self.pending.detach_result(&response.id, result);
                Some(JsonRpcMessage::Response(response))
            }
            message => message,
        }
    }

    pub(crate) fn register_request(&self, id: &RequestId, is_call: bool) {
        self.pending.register(id, is_call);
    }

    /// Registers a tool call whose answer bypasses rmcp. `None` if the connection has ended.
    pub(super) fn register_direct_call(&self, id: &RequestId) -> Option<oneshot::Receiver<DirectAnswer>> {
        self.pending.register_direct(id)
    }

    /// Passes the answer to a direct call to its caller. Returns other messages.
    fn deliver_direct(&self, message: ServerMessage) -> Option<ServerMessage> {
        let Some(caller) = answered_request(&message).and_then(|id| self.pending.take_direct(id)) else {
            return Some(message);
        };
        // Ignore callers that are gone.
        let _ = match message {
            JsonRpcMessage::Error(error) => caller.send(Err(error.error)),
            JsonRpcMessage::Response(response) => caller.send(Ok(response.result)),
            JsonRpcMessage::Request(_) | JsonRpcMessage::Notification(_) => return Some(message),
        };
        None
    }

    pub(super) fn take_response(&self, id: &RequestId) -> ReceivedResponse {
        self.pending.take(id)
    }

    pub(super) fn end(&self, end: ConnectionEnd) {
        let _ = self.ended.set(end);
        self.ending.cancel();
    }

    /// Counts an unrequested message. A flood ends the connection.
    fn count_unrequested(&self) {
        if lock(&self.flood).add(Instant::now()) {
            let why = format!(
                "it sent more than {MAX_PER_SECOND} unrequested messages a second for {MAX_SECONDS} s"
            );
            self.end(ConnectionEnd { why, is_abuse: true });
        }
    }

    pub(super) fn ended(&self) -> Option<ConnectionEnd> {
        self.ended.get().cloned()
    }

    fn parse(&self, text: Vec<u8>, memory: MessageMemory) -> Option<ServerMessage> {
        let text = self.limits.redactor.redact_body(text);
        let parsed = match repaired(&text) {
            Some(text) => self.parse_message(&text),
            None => self.parse_message(&text),
        };
        match parsed {
            Ok(JsonRpcMessage::Response(response)) => {
                let arrival = ReceivedResponse { memory, ..ReceivedResponse::default() };
                let is_awaited = self.pending.record(&response.id, arrival);
                if !is_awaited {
                    self.count_unrequested();
                }
                is_awaited.then_some(JsonRpcMessage::Response(response))
            }
            Ok(message) => Some(message),
            Err(error) => self.refuse_text(&text, format!("it is not an MCP message: {error}")),
        }
    }

    fn parse_message(&self, text: &[u8]) -> serde_json::Result<ServerMessage> {
        // rmcp tries one type of message and result after the other, on copies of all values.
        if self.pending.awaits_calls()
            && let Some((id, result)) = parse_call_reply(text)
            && self.pending.is_call(&id)
        {
            return Ok(JsonRpcMessage::response(ServerResult::CallToolResult(result), id));
        }
        serde_json::from_slice(text)
    }

    pub(crate) fn refuse(&self, id: &RequestId, why: &str) -> ServerMessage {
        let why = quoted(why, 300);
        let refused = Some(why.clone());
        self.pending.record(id, ReceivedResponse { refused, ..ReceivedResponse::default() });
        JsonRpcMessage::error(ErrorData::internal_error(why, None), Some(id.clone()))
    }

    /// Fails the request that the text answers. Drops a text without a request ID.
    fn refuse_text(&self, text: &[u8], why: String) -> Option<ServerMessage> {
        let id = response_id(text).and_then(|id| serde_json::from_value(id).ok());
        if id.is_none() {
            self.count_unrequested();
            tracing::debug!("dropping a message of {} bytes from a server: {why}", text.len());
        }
        id.map(|id| self.refuse(&id, &why))
    }
}

/// Reader for transports that receive one message after another.
pub(super) struct MessageReader {
    pub(super) inbound: InboundReader,
    /// Message that is being read. Yields `None` if no request waits for it.
    reading: Option<BoxFuture<'static, Option<ServerMessage>>>,
}

impl MessageReader {
    pub(super) fn new(inbound: &InboundReader) -> Self {
        Self { inbound: inbound.clone(), reading: None }
    }

    pub(super) fn begin(&mut self, text: Vec<u8>) {
        let inbound = self.inbound.clone();
        self.reading = Some(Box::pin(async move { inbound.read(text).await }));
    }

    /// Finishes the message that was begun, if there is one. Cancel safe.
    pub(super) async fn finish(&mut self) -> Option<ServerMessage> {
        let message = self.reading.as_mut()?.await;
        self.reading = None;
        message
    }
}

/// True if rmcp needs the result itself: it negotiates with these, and reads call headers from tool lists.
fn is_for_rmcp(result: &ServerResult) -> bool {
    matches!(
        result,
        ServerResult::InitializeResult(_)
            | ServerResult::DiscoverResult(_)
            | ServerResult::ListToolsResult(_)
            | ServerResult::CustomResult(_)
    )
}

/// Returns the permits that a message takes, at most all.
fn units(size: MessageSize) -> u32 {
    u32::try_from((size.memory / MEMORY_UNIT + 1).min(MAX_MEMORY / MEMORY_UNIT)).unwrap_or(u32::MAX)
}

fn too_large(size: MessageSize) -> Option<String> {
    if size.values > MAX_VALUES {
        return Some(format!("it has {} values; the limit is {MAX_VALUES}", size.values));
    }
    (size.memory > MAX_MEMORY).then(|| {
        let (megabytes, max) = (size.memory >> 20, MAX_MEMORY >> 20);
        format!("it takes {megabytes} MiB of memory as JSON; the limit is {max} MiB")
    })
}
