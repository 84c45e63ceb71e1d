//! MCP session over any transport: a connection whose lifecycle has begun.

mod connection;
mod follow;
mod listing;
mod task;

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use gatehouse_core::{CallContext, Fault, json, ports::client::MessageLevel};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use super::{
    connection::CallFailure,
    peer::{Peer, ReceivedResult, Request, ServerInfo, answer_input_requests},
    process::ServerProcess,
};
pub(super) use follow::UpstreamSubscriptions;

/// Maximum rounds of questions during one call.
const MAX_INPUT_ROUNDS: usize = 10;

/// Maximum wait for a server to set its log level.
const MAX_LEVEL_WAIT: Duration = Duration::from_secs(2);

/// Key of a request's `_meta` for the minimum level of log messages, since 2026-07-28.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

pub(super) struct ServerSession {
    peer: Arc<Peer>,
    info: Arc<ServerInfo>,
    /// Server process. `None` for HTTP.
    process: Option<Arc<ServerProcess>>,
    /// The lowest level of log messages that was requested.
    log_level: tokio::sync::Mutex<Option<MessageLevel>>,
    /// Cancelled when the subscriptions end because the session has ended.
    unsubscribed: CancellationToken,
}

impl Drop for ServerSession {
    fn drop(&mut self) {
        self.peer.closing().cancel();
    }
}

impl ServerSession {
    pub(super) fn new(peer: Arc<Peer>, info: Arc<ServerInfo>, process: Option<Arc<ServerProcess>>) -> Self {
        let log_level = tokio::sync::Mutex::default();
        Self { peer, info, process, log_level, unsubscribed: CancellationToken::new() }
    }

    /// Sends a request of the host itself.
    async fn request(&self, method: &'static str, params: Value) -> Result<ReceivedResult, CallFailure> {
        self.peer.request(Request::new(method, params)).await
    }

    /// Sends a request for a client. As long as the server asks for input, sends it again with the client's answers.
    async fn request_with_input(
        &self,
        context: &Arc<CallContext>,
        request: Request<'_>,
    ) -> Result<Value, CallFailure> {
        let Request { method, mut params, headers, .. } = request;
        let mut meta = context.meta.as_deref().cloned().unwrap_or_default();
        if let Some(level) = context.client.profile().messages {
            if self.info.is_since_2026() {
                meta.insert(LOG_LEVEL.to_owned(), json!(level));
            } else {
                self.lower_log_level(level).await;
            }
        }
        if !meta.is_empty() {
            params.insert("_meta".into(), Value::Object(meta));
        }
        for round in 0..MAX_INPUT_ROUNDS {
            // Only a server of 2026 asks for more.
            let sent = if self.info.is_since_2026() { params.clone() } else { std::mem::take(&mut params) };
            let request = Request { method, params: sent, call: Some(context), headers: headers.clone() };
            let answer = self.peer.request(request).await;
            let answer =
                answer.map_err(|failure| if round > 0 { failure.of_later_request() } else { failure });
            let ReceivedResult { mut value, memory } = answer?;
            let asks = self.info.is_since_2026() && result_type(&value) == Some("input_required");
            if !asks {
                // The result holds its memory until the call ends.
                if memory.is_counted() {
                    context.keep_until_done(memory);
                }
                return Ok(value);
            }
            let requests = match value.get_mut("inputRequests").map(Value::take) {
                Some(Value::Object(requests)) => requests,
                _ => Map::new(),
            };
            let answers = self.ask_client(context, requests).await?;
            params.insert("inputResponses".into(), json!(answers));
            params
                .extend(value.get_mut("requestState").map(|state| ("requestState".to_owned(), state.take())));
        }
        Err(CallFailure::Unanswered(Fault::exhausted(format!(
            "it asked more than {MAX_INPUT_ROUNDS} times during one call"
        ))))
    }

    async fn ask_client(
        &self,
        context: &CallContext,
        requests: Map<String, Value>,
    ) -> Result<BTreeMap<String, Value>, CallFailure> {
        answer_input_requests(&self.peer.server, context, requests).await.map_err(CallFailure::Unanswered)
    }

    /// Asks a server from before 2026-07-28 for the log messages that a client wants. Clients with a higher level do not
    /// get the others.
    async fn lower_log_level(&self, level: MessageLevel) {
        if !self.info.has("logging") {
            return;
        }
        // Requests that overtake each other would leave a higher level.
        let mut current = self.log_level.lock().await;
        if current.is_some_and(|current| current <= level) {
            return;
        }
        let request = self.request("logging/setLevel", json!({"level": level}));
        match timeout(MAX_LEVEL_WAIT, request).await {
            Ok(Ok(_)) => *current = Some(level),
            Ok(Err(failure)) => {
                tracing::debug!(server = %self.peer.server, "it did not set its log level: {failure:?}");
            }
            Err(_) => {
                tracing::debug!(server = %self.peer.server, "it did not answer logging/setLevel in time")
            }
        }
    }
}

/// Takes a member of an object. Null if it is missing.
fn take(object: &mut Value, key: &str) -> Value {
    object.get_mut(key).map(Value::take).unwrap_or_default()
}

fn result_type(result: &Value) -> Option<&str> {
    result.get("resultType")?.as_str()
}

/// Reads a result, or the part of one.
fn parse<T: DeserializeOwned>(method: &str, result: Value) -> Result<T, CallFailure> {
    json::from_value(result).map_err(|error| {
        CallFailure::Unreadable(format!("its result of {method} is not as the protocol has it: {error}"))
    })
}
