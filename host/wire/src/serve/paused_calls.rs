//! Calls of clients since 2026-07-28 that wait for answers, and what else may ask: prompts, and reading. The request that
//! began such a call is answered with its questions and the name under which it is parked; the client's next request brings
//! that name and the answers, and waits for the call to go on. The name is random and of use only to whom it was given, for
//! the same method, name and arguments.

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

/// Bytes of arguments that are hashed on a thread that serves requests.
const MAX_INLINE_DIGEST: usize = 64 << 10;

/// Whose call it is, and which: what a request has to say again to have it go on.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct ResumeKey {
    pub(super) principal: Principal,
    pub(super) preset: Arc<str>,
    pub(super) method: &'static str,
    /// Of the tool or prompt, or the address.
    pub(super) name: String,
    /// Of the arguments.
    pub(super) digest: String,
}

/// SHA-256 of arguments.
pub(super) async fn digest(arguments: &Value) -> Result<String, ErrorData> {
    if bounds::encoded_len(arguments) <= MAX_INLINE_DIGEST {
        return Ok(hash::sha256_json(arguments));
    }
    let arguments = arguments.clone();
    let hashed = tokio::task::spawn_blocking(move || hash::sha256_json(&arguments)).await;
    hashed.map_err(|_| ErrorData::internal_error("The arguments could not be hashed", None))
}

type WorkFuture = Pin<Box<dyn Future<Output = Result<ServerResult, ErrorData>> + Send>>;

/// A call that goes on from one request of its client to the next.
pub(super) struct ResumableCall {
    pub(super) work: WorkFuture,
    /// Whether the work goes on by itself.
    pub(super) spawned: bool,
    pub(super) asked: mpsc::Receiver<PendingInput>,
    pub(super) line: Arc<NotificationSender>,
    /// Cancels the call when nobody waits for it any more.
    pub(super) cancel: DropGuard,
    pub(super) messages: bool,
    pub(super) binding: ResumeKey,
}

/// What a call has come to.
enum ResumableStep {
    Finished(Box<Result<ServerResult, ErrorData>>),
    NeedsInput(PendingInput),
    Cancelled,
}

impl ResumableCall {
    /// Waits for the call on behalf of this request: until it is over, or has questions.
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
            // It ends by itself, and is recorded as cancelled.
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

/// All calls of a host that wait for answers so.
#[derive(Default)]
pub(super) struct PausedCalls {
    calls: Mutex<HashMap<String, PausedCall>>,
}

struct PausedCall {
    call: ResumableCall,
    asked: PendingInput,
    /// Ends the wait; aborted when dropped.
    _expiry: JoinSet<()>,
}

impl PausedCalls {
    /// Keeps a call until its answers come, and says so to the client.
    fn pause(self: &Arc<Self>, mut call: ResumableCall, asked: PendingInput) -> InputRequiredResult {
        if !call.spawned {
            // Nobody else drives it while there is no request that waits for it.
            let work = tokio::spawn(call.work);
            let lost = |_| Err(ErrorData::internal_error("The call ended without an outcome", None));
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

    /// Has a parked call go on with the answers that the client brings. Where it does not bring all, it is asked again.
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
            // Where the call has stopped waiting, it is about to end.
            Some(given) => drop(asked.answer.send(given)),
            None => return Ok(ServerResult::InputRequiredResult(self.pause(call, asked))),
        }
        call.resume(self, context).await
    }

    /// Takes a call out for whoever may have it go on; anybody else learns nothing.
    fn take(&self, state: &str, binding: &ResumeKey) -> Option<PausedCall> {
        let mut calls = lock(&self.calls);
        calls.get(state).filter(|waiting| waiting.call.binding == *binding)?;
        calls.remove(state)
    }

    /// How many wait.
    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        lock(&self.calls).len()
    }
}

/// Drops a call whose answers do not come, which cancels it.
async fn expire(parked: Weak<PausedCalls>, state: String) {
    tokio::time::sleep(MAX_PAUSE).await;
    let Some(parked) = parked.upgrade() else { return };
    let waiting = lock(&parked.calls).remove(&state);
    if waiting.is_some() {
        tracing::debug!("a call was given up: nobody answered its questions");
    }
}

fn unknown_state() -> ErrorData {
    let minutes = MAX_PAUSE.as_secs() / 60;
    let why = format!(
        "The questions that this answers are not open any more, or belong to another call: they are kept for {minutes} \
         minutes, for the same caller, tool and arguments. Call the tool again without requestState"
    );
    ErrorData::invalid_params(why, None)
}
