//! Tasks of a server (SEP-2663): the host polls for the result, and passes on the questions in between.
//!
//! The call of the client waits for the task, and becomes a task itself if the client follows tasks. IDs of the server
//! never reach the client.

use std::{collections::HashSet, sync::Arc, time::Duration};

use gatehouse_core::{CallContext, Fault, call_time::MAX_TASK_PAUSE, names::quoted};
use rmcp::model::CallToolResult;
use serde_json::{Value, json};
use tokio::time::{Instant, timeout};

use super::{CallFailure, Request, ServerSession, connection::read_call_result, take};
use crate::{
    OnDrop,
    downstream::peer::{MessageMemory, refusal},
};

/// Pause before the first poll, and after answers.
const FIRST_POLL: Duration = Duration::from_millis(100);

/// Pause between polls if the server does not say.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// Shortest pause between polls of a task by its age. A server can ask for ten polls a second, and a task can last an
/// hour after its client has left.
const MIN_POLL_INTERVALS: [(Duration, Duration); 3] = [
    (Duration::from_secs(300), Duration::from_secs(5)),
    (Duration::from_secs(60), Duration::from_secs(2)),
    (Duration::from_secs(10), Duration::from_secs(1)),
];

const MAX_POLL_INTERVAL: Duration = Duration::from_secs(60);

/// Maximum wait for the reply to a cancellation.
const MAX_CANCEL_WAIT: Duration = Duration::from_secs(10);

/// Maximum polls in a row that fail.
const MAX_FAILED_POLLS: u32 = 3;

/// Returns the pause before the next poll of a task of this age, if the server asks for `interval`.
fn poll_pause(interval: Duration, age: Duration) -> Duration {
    let min = MIN_POLL_INTERVALS.iter().find(|(from, _)| age >= *from).map_or(FIRST_POLL, |(_, min)| *min);
    interval.clamp(min, MAX_POLL_INTERVAL)
}

/// A task of a server, as its last answer describes it.
struct ServerTask(Value);

impl ServerTask {
    fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    fn duration(&self, key: &str) -> Option<Duration> {
        self.0.get(key)?.as_u64().map(Duration::from_millis)
    }
}

impl ServerSession {
    /// Returns the result of a task that the server began for a call.
    pub(super) async fn task_result(
        &self,
        created: Value,
        context: &Arc<CallContext>,
    ) -> Result<CallToolResult, CallFailure> {
        let task = ServerTask(created);
        let id = task.text("taskId").ok_or_else(|| CallFailure::Unreadable("its task has no ID".into()))?;
        let cancel = self.cancel_task_on_drop(id.to_owned());
        let limit = task.duration("ttlMs").unwrap_or(MAX_TASK_PAUSE);
        let ended = self.follow_task(id, context);
        let ended = context.wait_for_task(limit.min(MAX_TASK_PAUSE), ended).await;
        let mut task = ended.map_err(CallFailure::Unanswered)?.map_err(CallFailure::of_later_request)?;
        cancel.disarm();
        match task.text("status") {
            Some("completed") => read_call_result(take(&mut task.0, "result")),
            Some("failed") => Err(match take(&mut task.0, "error") {
                Value::Null => refusal("the task failed".into()),
                error => refusal(error),
            }),
            _ => {
                Err(CallFailure::Unanswered(Fault::unavailable("the server cancelled the task of this call")))
            }
        }
    }

    /// Polls a task until it ends.
    async fn follow_task(&self, id: &str, context: &Arc<CallContext>) -> Result<ServerTask, CallFailure> {
        let (began, mut pause) = (Instant::now(), FIRST_POLL);
        let (mut answered, mut failed, mut steps, mut message) = (HashSet::new(), 0, 0, None);
        loop {
            tokio::time::sleep(pause).await;
            let (mut task, memory) = match self.poll_task(id, context).await {
                Ok(polled) => polled,
                // A repeated poll is harmless, and a proxy in between may restart.
                Err(CallFailure::Transport(reason) | CallFailure::NotSent(reason))
                    if failed < MAX_FAILED_POLLS && !self.peer.is_closed() =>
                {
                    tracing::debug!(server = %self.peer.server, "cannot poll a task: {reason}");
                    (failed, pause) = (failed + 1, POLL_INTERVAL);
                    continue;
                }
                Err(failure) => return Err(failure),
            };
            let interval = task.duration("pollIntervalMs").unwrap_or(POLL_INTERVAL);
            (failed, pause) = (0, poll_pause(interval, began.elapsed()));
            match task.text("status") {
                Some("working") => {
                    let current = task.text("statusMessage").map(str::to_owned);
                    if current.is_some() && current != message {
                        message = current;
                        steps += 1;
                        if let Some(progress) = &context.progress {
                            progress.report(
                                f64::from(steps),
                                None,
                                message.as_deref().map(|text| quoted(text, 500)),
                            );
                        }
                    }
                }
                Some("input_required") => {
                    let Value::Object(mut requests) = take(&mut task.0, "inputRequests") else { continue };
                    requests.retain(|key, _| !answered.contains(key));
                    if requests.is_empty() {
                        continue;
                    }
                    answered.extend(requests.keys().cloned());
                    let answers = self.ask_client(context, requests).await?;
                    let params = json!({"taskId": id, "inputResponses": answers});
                    self.peer.request(Request::new("tasks/update", params).of_call(Some(context))).await?;
                    pause = FIRST_POLL;
                }
                Some("completed" | "failed" | "cancelled") => {
                    if memory.is_counted() {
                        context.keep_until_done(memory);
                    }
                    return Ok(task);
                }
                status => {
                    let status = quoted(status.unwrap_or_default(), 64);
                    return Err(CallFailure::Unreadable(format!(
                        "its task has the unknown status '{status}'"
                    )));
                }
            }
        }
    }

    async fn poll_task(
        &self,
        id: &str,
        context: &Arc<CallContext>,
    ) -> Result<(ServerTask, MessageMemory), CallFailure> {
        let request = Request::new("tasks/get", json!({"taskId": id})).of_call(Some(context));
        let polled = self.peer.request(request).await?;
        Ok((ServerTask(polled.value), polled.memory))
    }

    fn cancel_task_on_drop(&self, id: String) -> OnDrop<impl FnOnce()> {
        let peer = Arc::clone(&self.peer);
        OnDrop::new(move || {
            tokio::spawn(async move {
                let request = peer.request(Request::new("tasks/cancel", json!({"taskId": id})));
                let _ = timeout(MAX_CANCEL_WAIT, request).await;
            });
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_tasks_are_polled_less_often() {
        let seconds = Duration::from_secs;
        let hasty = Duration::from_millis(1);
        let pauses = [0, 10, 60, 300, 3_000].map(|age| poll_pause(hasty, seconds(age)));
        assert_eq!(pauses, [FIRST_POLL, seconds(1), seconds(2), seconds(5), seconds(5)]);
        assert_eq!(poll_pause(seconds(30), seconds(300)), seconds(30), "a server may ask for less");
    }
}
