//! Tasks of a server (SEP-2663): the host polls for the result, and passes on the questions in between.
//!
//! The call of the client waits for the task, and becomes a task itself if the client follows tasks. IDs of the server
//! never reach the client.

use std::{collections::HashSet, sync::Arc, time::Duration};

use gatehouse_core::{CallContext, Fault, call_time::MAX_TASK_PAUSE, names::quoted};
use rmcp::{
    model::{
        CallToolResult, CancelTaskParams, CancelTaskRequest, ClientRequest, DetailedTask, GetTaskParams,
        GetTaskRequest, JsonObject, ServerResult, Task, TaskPayload, UpdateTaskParams, UpdateTaskRequest,
    },
    service::PeerRequestOptions,
};
use serde_json::Value;

use tokio::time::timeout;

use super::{CallFailure, MessageMemory, ServerSession, active_calls, unexpected_response};
use crate::{OnDrop, peer_requests::await_answer};

/// Pause before the first poll, and after answers.
const FIRST_POLL: Duration = Duration::from_millis(100);

/// Pause between polls if the server does not say.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

const MAX_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum wait for the reply to a cancellation.
const MAX_CANCEL_WAIT: Duration = Duration::from_secs(10);

/// Maximum polls in a row that fail.
const MAX_FAILED_POLLS: u32 = 3;

impl ServerSession {
    /// Returns the result of a task that the server began for a call.
    pub(super) async fn task_result(
        &self,
        task: Task,
        context: &Arc<CallContext>,
    ) -> Result<CallToolResult, CallFailure> {
        let cancel = self.cancel_task_on_drop(task.task_id.clone());
        let limit = task.ttl_ms.map_or(MAX_TASK_PAUSE, Duration::from_millis);
        let ended = self.follow_task(task, context);
        let ended = context.wait_for_task(limit.min(MAX_TASK_PAUSE), ended).await;
        let payload = ended.map_err(CallFailure::Unanswered)?.map_err(CallFailure::of_later_request)?;
        cancel.disarm();
        match payload {
            TaskPayload::Completed { result } => serde_json::from_value(Value::Object(result))
                .map_err(|error| CallFailure::Unreadable(format!("the result of its task: {error}"))),
            TaskPayload::Failed { error } => Err(refused(&error)),
            _ => {
                Err(CallFailure::Unanswered(Fault::unavailable("the server cancelled the task of this call")))
            }
        }
    }

    /// Polls a task until it ends.
    async fn follow_task(&self, task: Task, context: &Arc<CallContext>) -> Result<TaskPayload, CallFailure> {
        let (id, mut pause) = (task.task_id, FIRST_POLL);
        let (mut answered, mut failed, mut steps, mut message) = (HashSet::new(), 0, 0, None);
        loop {
            tokio::time::sleep(pause).await;
            let (DetailedTask { task, payload, .. }, memory) = match self.poll_task(&id, context).await {
                Ok(polled) => polled,
                // A repeated poll is harmless, and a proxy in between may restart.
                Err(CallFailure::Transport(why)) if failed < MAX_FAILED_POLLS && !self.is_closed() => {
                    tracing::debug!(server = %self.host.server, "cannot poll a task: {why}");
                    (failed, pause) = (failed + 1, POLL_INTERVAL);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let interval = task.poll_interval_ms.map_or(POLL_INTERVAL, Duration::from_millis);
            (failed, pause) = (0, interval.clamp(FIRST_POLL, MAX_POLL_INTERVAL));
            match payload {
                TaskPayload::Working if task.status_message.is_some() && task.status_message != message => {
                    message = task.status_message;
                    steps += 1;
                    if let Some(progress) = &context.progress {
                        progress.report(steps, None, message.as_deref().map(|text| quoted(text, 500)));
                    }
                }
                TaskPayload::Working => {}
                TaskPayload::InputRequired { mut input_requests } => {
                    input_requests.retain(|key, _| !answered.contains(key));
                    if input_requests.is_empty() {
                        continue;
                    }
                    answered.extend(input_requests.keys().cloned());
                    let answers =
                        active_calls::answer_input_requests(&self.host.server, context, input_requests);
                    let answers = answers.await.map_err(CallFailure::Unanswered)?;
                    let update = UpdateTaskRequest::new(UpdateTaskParams::new(id.clone(), answers));
                    self.measured_request(update.into(), Some(context)).await?;
                    pause = FIRST_POLL;
                }
                end => {
                    if memory.is_counted() {
                        context.keep_until_done(memory);
                    }
                    return Ok(end);
                }
            }
        }
    }

    async fn poll_task(
        &self,
        id: &str,
        context: &Arc<CallContext>,
    ) -> Result<(DetailedTask, MessageMemory), CallFailure> {
        let request: ClientRequest = GetTaskRequest::new(GetTaskParams::new(id)).into();
        match self.measured_request(request, Some(context)).await? {
            (ServerResult::GetTaskResult(got), memory) => Ok((got.task, memory)),
            _ => Err(unexpected_response("tasks/get")),
        }
    }

    fn is_closed(&self) -> bool {
        self.end.borrow().is_some() || self.peer.is_transport_closed()
    }

    fn cancel_task_on_drop(&self, id: String) -> OnDrop<impl FnOnce()> {
        let (peer, inbound) = (self.peer.clone(), self.host.inbound.clone());
        OnDrop::new(move || {
            tokio::spawn(async move {
                let request = CancelTaskRequest::new(CancelTaskParams::new(id));
                let options = PeerRequestOptions::no_options();
                let Ok(handle) = peer.send_request_with_option(request.into(), options).await else { return };
                let request = handle.id.clone();
                let _ = timeout(MAX_CANCEL_WAIT, await_answer(handle, "The task was cancelled.")).await;
                // Frees the memory of the response.
                inbound.take_response(&request);
            });
        })
    }
}

fn refused(error: &JsonObject) -> CallFailure {
    let code = error.get("code").and_then(Value::as_i64).and_then(|code| i32::try_from(code).ok());
    let message = error.get("message").and_then(Value::as_str).unwrap_or("the task failed");
    CallFailure::Refused { code: code.unwrap_or(-32603), message: quoted(message, 2_000) }
}
