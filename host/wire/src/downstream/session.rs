//! MCP session over any transport. Sends each request once, without rmcp's helpers that repeat calls or cache answers.

mod connection;
mod follow;
mod listing;
mod pipe_calls;
#[cfg(test)]
mod scripted;
mod task;

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{CallContext, Fault, names::quoted, ports::client::MessageLevel};
use rmcp::{
    RoleClient,
    model::{
        ClientRequest, DEFAULT_MRTR_MAX_ROUNDS, GetMeta, InputResponses, MetaObject, ProgressToken,
        RequestId, RequestMetaObject, ServerResult,
    },
    service::{Peer, PeerRequestOptions, RunningService, RunningServiceCancellationToken, ServiceError},
};
use serde_json::{Map, json};
use tokio::{sync::watch, time::timeout};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    active_calls,
    connection::{CallFailure, ConnectionEnd, ServerConnection as _},
    host_client::{HostClient, is_since_2026},
    inbound::{InboundReader, MessageMemory},
    process::ServerProcess,
};
use crate::peer_requests::{await_answer, cancel_on_drop};
pub(super) use follow::UpstreamSubscriptions;
pub(super) use pipe_calls::PipeCalls;

/// Answers of the client, and the request state of the server.
type InputAnswers = (Option<InputResponses>, Option<String>);

/// Maximum wait for the reason that a connection closed.
const MAX_CLOSE_REASON_WAIT: Duration = Duration::from_secs(1);

pub(super) struct ServerSession {
    host: HostClient,
    peer: Peer<RoleClient>,
    /// `None` if rmcp sends the tool calls, as over HTTP.
    pipe_calls: Option<PipeCalls>,
    stop: Mutex<Option<RunningServiceCancellationToken>>,
    /// Server process. `None` for HTTP.
    process: Option<Arc<ServerProcess>>,
    end: watch::Receiver<Option<ConnectionEnd>>,
    since_2026: bool,
    /// True if the server sends log messages.
    logs: bool,
    /// The lowest level of log messages that was requested.
    log_level: tokio::sync::Mutex<Option<MessageLevel>>,
    /// Requests that wait for their answers.
    requests: TaskTracker,
    /// Cancelled when the subscriptions end because the session has ended.
    unsubscribed: CancellationToken,
}

/// Maximum wait for a server to set its log level.
const MAX_LEVEL_WAIT: Duration = Duration::from_secs(2);

/// Key of a request's `_meta` for the minimum level of log messages, since 2026-07-28.
const LOG_LEVEL: &str = "io.modelcontextprotocol/logLevel";

impl ServerSession {
    pub(super) fn new(
        running: RunningService<RoleClient, HostClient>,
        process: Option<ServerProcess>,
        pipe_calls: Option<PipeCalls>,
    ) -> Self {
        let peer = running.peer().clone();
        let host = running.service().clone();
        let stop = Mutex::new(Some(running.cancellation_token()));
        let process = process.map(Arc::new);
        let (sender, end) = watch::channel(None);
        let (watched, guard) = (process.clone(), host.inbound.clone());
        tokio::spawn(async move {
            let why = match &watched {
                // A descendant may hold the output open after the process exits, and a process that exits closes its
                // output a moment earlier.
                Some(process) => tokio::select! {
                    how = process.ended() => how,
                    _ = running.waiting() => {
                        let how = tokio::time::timeout(MAX_CLOSE_REASON_WAIT / 2, process.ended()).await;
                        how.unwrap_or_else(|_| "it closed its output".into())
                    }
                },
                None => {
                    let _ = running.waiting().await;
                    "the connection is closed".into()
                }
            };
            let stderr = watched.and_then(|process| process.error_summary());
            let stderr = stderr.map(|stderr| format!("; stderr: {stderr}")).unwrap_or_default();
            let end = guard.ended().unwrap_or_else(|| ConnectionEnd::new(why));
            sender.send_replace(Some(ConnectionEnd { why: format!("{}{stderr}", end.why), ..end }));
        });
        let since_2026 = is_since_2026(&peer);
        let logs = peer.peer_info().is_some_and(|info| info.capabilities.logging.is_some());
        Self {
            host,
            peer,
            pipe_calls,
            stop,
            process,
            end,
            since_2026,
            logs,
            log_level: tokio::sync::Mutex::default(),
            requests: TaskTracker::new(),
            unsubscribed: CancellationToken::new(),
        }
    }

    /// Sends a request. Its result holds its memory until the call ends.
    async fn request(
        &self,
        request: ClientRequest,
        call: Option<&Arc<CallContext>>,
    ) -> Result<ServerResult, CallFailure> {
        let (result, memory) = self.measured_request(request, call).await?;
        if let Some(call) = call.filter(|_| memory.is_counted()) {
            call.keep_until_done(memory);
        }
        Ok(result)
    }

    async fn measured_request(
        &self,
        request: ClientRequest,
        call: Option<&Arc<CallContext>>,
    ) -> Result<(ServerResult, MessageMemory), CallFailure> {
        let _waiting = self.requests.token();
        let watch = |token: ProgressToken| {
            let progress = call.and_then(|call| call.progress.clone());
            progress.map(|progress| self.host.watchers.watch(token, progress))
        };
        let register = |id: &RequestId| call.map(|call| self.host.calls.register(id.clone(), call));
        const ABANDONED: &str = "The caller stopped waiting.";
        let direct =
            self.pipe_calls.as_ref().filter(|_| matches!(request, ClientRequest::CallToolRequest(_)));
        let (id, answer);
        if let Some(direct) = direct {
            id = direct.next_id();
            let (_watched, _run) = (watch(ProgressToken(id.clone())), register(&id));
            let sent = direct.request(&id, request, &self.host.inbound);
            answer = cancel_on_drop(&self.peer, id.clone(), ABANDONED, sent).await;
        } else {
            let starting = call.map(|_| self.host.calls.start());
            let handle = self.peer.send_request_with_option(request, PeerRequestOptions::no_options()).await;
            let handle = match handle {
                Ok(handle) => handle,
                Err(error) => return Err(self.failure(error).await),
            };
            id = handle.id.clone();
            let (_watched, _run) = (watch(handle.progress_token.clone()), register(&id));
            drop(starting);
            answer = await_answer(handle, ABANDONED).await;
        }
        let arrival = self.host.inbound.take_response(&id);
        match (answer, arrival.refused) {
            (_, Some(why)) => Err(CallFailure::Unreadable(why)),
            (Ok(answer), None) => Ok((arrival.result.unwrap_or(answer), arrival.memory)),
            (Err(error), None) => Err(self.failure(error).await),
        }
    }

    /// Sends a request for a client. As long as the server asks for input, sends it again with the client's answers.
    async fn request_with_input(
        &self,
        context: &Arc<CallContext>,
        make: impl Fn(InputAnswers) -> ClientRequest,
    ) -> Result<ServerResult, CallFailure> {
        let mut answers = (None, None);
        for round in 0..DEFAULT_MRTR_MAX_ROUNDS {
            let mut request = make(answers);
            if let Some(meta) = &context.meta {
                request.get_meta_mut().extend(RequestMetaObject(MetaObject(Map::clone(meta))));
            }
            if let Some(level) = context.client.profile().messages {
                if self.since_2026 {
                    request.get_meta_mut().insert(LOG_LEVEL.to_owned(), json!(level));
                } else {
                    self.lower_log_level(level).await;
                }
            }
            let answer = self.request(request, Some(context)).await;
            let answer =
                answer.map_err(|failure| if round > 0 { failure.of_later_request() } else { failure });
            let required = match answer? {
                ServerResult::InputRequiredResult(required) => required,
                result => return Ok(result),
            };
            let requests = required.input_requests.unwrap_or_default();
            let given = active_calls::answer_input_requests(&self.host.server, context, requests).await;
            answers = (Some(given.map_err(CallFailure::Unanswered)?), required.request_state);
        }
        Err(CallFailure::Unanswered(Fault::exhausted(format!(
            "it asked more than {DEFAULT_MRTR_MAX_ROUNDS} times during one call"
        ))))
    }

    /// Asks a server from before 2026-07-28 for the log messages that a client wants. Clients with a higher level do not
    /// get the others.
    // rmcp deprecates this request, which later versions lack.
    #[allow(deprecated)]
    async fn lower_log_level(&self, level: MessageLevel) {
        if !self.logs {
            return;
        }
        // Requests that overtake each other would leave a higher level.
        let mut current = self.log_level.lock().await;
        if current.is_some_and(|current| current <= level) {
            return;
        }
        let Ok(lowest) = serde_json::from_value(json!(level)) else { return };
        let request = rmcp::model::SetLevelRequest::new(rmcp::model::SetLevelRequestParams::new(lowest));
        match timeout(MAX_LEVEL_WAIT, self.request(request.into(), None)).await {
            Ok(Ok(_)) => *current = Some(level),
            Ok(Err(failure)) => {
                tracing::debug!(server = %self.host.server, "it did not set its log level: {failure:?}");
            }
            Err(_) => {
                tracing::debug!(server = %self.host.server, "it did not answer logging/setLevel in time")
            }
        }
    }

    async fn failure(&self, error: ServiceError) -> CallFailure {
        match error {
            ServiceError::McpError(error) => {
                CallFailure::Refused { code: error.code.0, message: quoted(&error.message, 2_000) }
            }
            ServiceError::TransportClosed => {
                // The output may close before the exit status and the last lines of standard error are known.
                let end = tokio::time::timeout(MAX_CLOSE_REASON_WAIT, self.ended()).await;
                CallFailure::Transport(end.map_or_else(|_| "the connection closed".into(), |end| end.why))
            }
            other if crate::login::is_session_ended(&other) => CallFailure::SessionEnded { has_begun: false },
            other => match crate::login::fault_of(&other) {
                Some(fault) => CallFailure::Login(fault.clone()),
                None => CallFailure::Transport(quoted(&crate::login::cause_in_words(&other), 500)),
            },
        }
    }
}

fn unexpected_response(method: &str) -> CallFailure {
    CallFailure::Transport(format!("it answered {method} with an unexpected result"))
}
