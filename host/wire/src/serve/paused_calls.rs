//! Requests that wait for the client to answer a question (MCP 2026-07-28 and later).
//!
//! The first response carries the questions and a random state token. The client repeats its request with the token and
//! the answers, which resumes the work. A token is valid only for the same principal, preset, method, name and
//! arguments.

use std::{
    collections::HashMap,
    pin::Pin,
    sync::{Arc, Mutex, Weak},
};

use gatehouse_core::{Principal, call_time::MAX_PAUSE, hash, json as bounds, lock};
use rmcp::{
    ErrorData, RoleServer,
    model::{InputRequiredResult, InputResponses, ServerResult},
    service::RequestContext,
    transport::common::server_side_http::session_id,
};
use serde_json::{Map, Value};
use tokio::{sync::mpsc, task::JoinSet};
use tokio_util::sync::DropGuard;

use super::{
    notifications::{NotificationRoute, NotificationSender},
    server_requests::PendingInput,
};

/// Larger arguments are hashed on a blocking thread.
const MAX_INLINE_DIGEST: usize = 64 << 10;

/// Values that a request must repeat to resume a call.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ResumeKey {
    pub(super) principal: Principal,
    pub(super) preset: Arc<str>,
    pub(super) method: &'static str,
    /// Name of the tool or prompt, or URI of the resource.
    pub(super) name: String,
    pub(super) digest: String,
}

pub(super) async fn digest(arguments: &Value) -> Result<String, ErrorData> {
    if bounds::encoded_len(arguments) <= MAX_INLINE_DIGEST {
        return Ok(hash::sha256_json(arguments));
    }
    let arguments = arguments.clone();
    let hashed = tokio::task::spawn_blocking(move || hash::sha256_json(&arguments)).await;
    hashed.map_err(|_| ErrorData::internal_error("cannot hash the arguments", None))
}

type WorkFuture = Pin<Box<dyn Future<Output = Result<ServerResult, ErrorData>> + Send>>;

/// A call that can continue in a later request.
pub(super) struct ResumableCall {
    pub(super) work: WorkFuture,
    /// True if the work runs in its own task.
    pub(super) spawned: bool,
    pub(super) asked: mpsc::Receiver<PendingInput>,
    pub(super) line: Arc<NotificationSender>,
    pub(super) cancel: DropGuard,
    pub(super) messages: bool,
    pub(super) binding: ResumeKey,
}

enum ResumableStep {
    Finished(Box<Result<ServerResult, ErrorData>>),
    NeedsInput(PendingInput),
    Cancelled,
}

impl ResumableCall {
    /// Waits until the call finishes or asks for input.
    pub(super) async fn resume(
        mut self,
        parked: &Arc<PausedCalls>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let way = NotificationRoute::open(&self.line, context, self.messages);
        let step = tokio::select! {
            biased;
            result = &mut self.work => ResumableStep::Finished(Box::new(result)),
            Some(asked) = self.asked.recv() => ResumableStep::NeedsInput(asked),
            () = context.ct.cancelled() => ResumableStep::Cancelled,
        };
        if let Some(way) = way {
            way.finish().await;
        }
        match step {
            // The call ends by itself and is recorded as cancelled.
            ResumableStep::Cancelled => {
                drop(self.cancel);
                self.work.await
            }
            ResumableStep::Finished(result) => *result,
            ResumableStep::NeedsInput(asked) => {
                Ok(ServerResult::InputRequiredResult(parked.pause(self, asked)))
            }
        }
    }
}

#[derive(Default)]
pub(super) struct PausedCalls {
    calls: Mutex<HashMap<String, PausedCall>>,
}

struct PausedCall {
    call: ResumableCall,
    asked: PendingInput,
    /// Removes the call after a time limit. Aborted on drop.
    _expiry: JoinSet<()>,
}

impl PausedCalls {
    /// Stores a call and returns its questions.
    fn pause(self: &Arc<Self>, mut call: ResumableCall, asked: PendingInput) -> InputRequiredResult {
        if !call.spawned {
            // No request polls this future now, so spawn it.
            let work = tokio::spawn(call.work);
            let lost = |_| Err(ErrorData::internal_error("the call ended without a result", None));
            call.work = Box::pin(async move { work.await.unwrap_or_else(lost) });
            call.spawned = true;
        }
        let state = session_id().to_string();
        let mut expiry = JoinSet::new();
        expiry.spawn(expire(Arc::downgrade(self), state.clone()));
        let result = InputRequiredResult::new(Some(asked.requests.clone()), Some(state.clone()));
        lock(&self.calls).insert(state, PausedCall { call, asked, _expiry: expiry });
        result
    }

    /// Resumes a paused call. Asks again if answers are missing.
    pub(super) async fn resume(
        self: &Arc<Self>,
        state: &str,
        binding: &ResumeKey,
        answers: Option<InputResponses>,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let PausedCall { call, asked, .. } = self.take(state, binding).ok_or_else(unknown_state)?;
        let mut answers = answers.unwrap_or_default();
        let given: Option<Vec<Map<String, Value>>> = asked
            .requests
            .keys()
            .map(|key| match answers.remove(key) {
                Some(Value::Object(answer)) => Some(answer),
                _ => None,
            })
            .collect();
        match given {
            // If this fails, the call is about to end.
            Some(given) => drop(asked.answer.send(given)),
            None => return Ok(ServerResult::InputRequiredResult(self.pause(call, asked))),
        }
        call.resume(self, context).await
    }

    /// Removes and returns the call, if `binding` matches.
    fn take(&self, state: &str, binding: &ResumeKey) -> Option<PausedCall> {
        let mut calls = lock(&self.calls);
        calls.get(state).filter(|waiting| waiting.call.binding == *binding)?;
        calls.remove(state)
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.calls).len()
    }
}

/// Drops a paused call after [`MAX_PAUSE`], which cancels it.
async fn expire(parked: Weak<PausedCalls>, state: String) {
    tokio::time::sleep(MAX_PAUSE).await;
    let Some(parked) = parked.upgrade() else { return };
    let waiting = lock(&parked.calls).remove(&state);
    if waiting.is_some() {
        tracing::debug!("cancelled a paused call: its questions were not answered in time");
    }
}

fn unknown_state() -> ErrorData {
    let minutes = MAX_PAUSE.as_secs() / 60;
    let why = format!(
        "unknown or expired `requestState`: questions stay open for {minutes} minutes, and only for the same caller, \
        tool and arguments. Call the tool again without `requestState`."
    );
    ErrorData::invalid_params(why, None)
}
