//! Calls that outlive their request: those that wait for the client to answer a question, and
//! [tasks](super::tasks) (MCP 2026-07-28 and later).
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
use tokio_util::sync::{CancellationToken, DropGuard};

use super::{
    interactive_request::is_since_2026,
    notifications::{NotificationRoute, NotificationSender},
    tasks::{TaskOffer, terms::TaskTerms},
};
use crate::{
    MIN_LARGE_MESSAGE,
    serve::{ServedPresets, elicitation::PendingInput},
};

/// The client of a call that outlives its request.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CallOwner {
    pub(crate) principal: Principal,
    /// Number of what the caller may use. A paused call or task does not survive a change of it.
    pub(crate) access: u64,
    pub(crate) preset: Arc<str>,
}

/// Values that a request must repeat to resume a call.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct ResumeKey {
    pub(crate) owner: CallOwner,
    pub(crate) method: &'static str,
    /// Name of the tool or prompt, or URI of the resource.
    pub(crate) name: String,
    pub(crate) digest: String,
}

pub(crate) async fn digest(arguments: &Value) -> Result<String, ErrorData> {
    if bounds::encoded_len(arguments) < MIN_LARGE_MESSAGE {
        return Ok(hash::sha256_json(arguments));
    }
    let arguments = arguments.clone();
    let hashed = tokio::task::spawn_blocking(move || hash::sha256_json(&arguments)).await;
    hashed.map_err(|_| ErrorData::internal_error("cannot hash the arguments", None))
}

pub(crate) type WorkFuture = Pin<Box<dyn Future<Output = Result<ServerResult, ErrorData>> + Send>>;

/// A call that can continue in a later request.
pub(crate) struct ResumableCall {
    pub(crate) work: WorkFuture,
    /// True if the work runs in its own task.
    pub(crate) spawned: bool,
    pub(crate) pending_input: mpsc::Receiver<PendingInput>,
    pub(crate) notifications: Arc<NotificationSender>,
    pub(crate) cancel: DropGuard,
    /// Cancelled when the credential of the caller is revoked or expires.
    pub(crate) credential_end: CancellationToken,
    pub(crate) messages: bool,
    pub(crate) resume_key: ResumeKey,
    /// `None` if the call cannot become a task.
    pub(crate) task_terms: Option<TaskTerms>,
}

enum ResumableStep {
    Finished(Box<Result<ServerResult, ErrorData>>),
    BecomesTask(TaskTerms, TaskOffer),
    NeedsInput(PendingInput),
    Cancelled,
}

impl ResumableCall {
    /// Waits until the call finishes, asks for input, or becomes a task.
    pub(crate) async fn resume(
        mut self,
        presets: &ServedPresets,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let route = NotificationRoute::open(&self.notifications, context, self.messages);
        let terms = self.task_terms.as_ref().filter(|_| has_tasks(context));
        let principal = &self.resume_key.owner.principal;
        let mut offer = terms.and_then(|terms| presets.tasks.offer(principal, terms));
        let step = tokio::select! {
            biased;
            result = &mut self.work => ResumableStep::Finished(Box::new(result)),
            () = task_is_due(self.task_terms.as_ref().filter(|_| offer.is_some())) => {
                match (self.task_terms.take(), offer.take()) {
                    (Some(terms), Some(offer)) => ResumableStep::BecomesTask(terms, offer),
                    _ => ResumableStep::Cancelled,
                }
            }
            Some(input) = self.pending_input.recv() => ResumableStep::NeedsInput(input),
            () = context.ct.cancelled() => ResumableStep::Cancelled,
        };
        if let Some(route) = route {
            route.finish().await;
        }
        let is_cancelled = matches!(step, ResumableStep::BecomesTask(..)) && context.ct.is_cancelled();
        let step = if is_cancelled { ResumableStep::Cancelled } else { step };
        match step {
            // The call ends by itself and is recorded as cancelled.
            ResumableStep::Cancelled => {
                drop(self.cancel);
                self.work.await
            }
            ResumableStep::Finished(result) => *result,
            ResumableStep::BecomesTask(terms, offer) => Ok(ServerResult::CreateTaskResult(
                presets.tasks.begin(self, &terms, offer, presets.shutdown.refusing()),
            )),
            ResumableStep::NeedsInput(input) => {
                drop(offer);
                Ok(ServerResult::InputRequiredResult(presets.paused_calls.pause(self, input)))
            }
        }
    }
}

/// Waits until a call on these terms becomes a task. Waits forever without any.
async fn task_is_due(terms: Option<&TaskTerms>) {
    let Some(terms) = terms else { return std::future::pending().await };
    match terms.delay {
        Some(delay) => drop(tokio::time::timeout(delay, terms.switch.requested()).await),
        None => terms.switch.requested().await,
    }
}

/// Whether the client of this request can follow a task.
pub(crate) fn has_tasks(context: &RequestContext<RoleServer>) -> bool {
    is_since_2026(context) && context.client_capabilities().is_some_and(|client| client.supports_tasks())
}

#[derive(Default)]
pub(crate) struct PausedCalls {
    pub(crate) calls: Mutex<HashMap<String, PausedCall>>,
}

pub(crate) struct PausedCall {
    call: ResumableCall,
    input: PendingInput,
    /// Removes the call after a time limit. Aborted on drop.
    _expiry: JoinSet<()>,
}

impl PausedCalls {
    /// Stores a call and returns its questions.
    fn pause(self: &Arc<Self>, mut call: ResumableCall, input: PendingInput) -> InputRequiredResult {
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
        let result = InputRequiredResult::new(Some(input.requests.clone()), Some(state.clone()));
        lock(&self.calls).insert(state, PausedCall { call, input, _expiry: expiry });
        result
    }

    /// Resumes a paused call. Asks again if answers are missing.
    pub(crate) async fn resume(
        self: &Arc<Self>,
        state: &str,
        resume_key: &ResumeKey,
        answers: Option<InputResponses>,
        presets: &ServedPresets,
        context: &RequestContext<RoleServer>,
    ) -> Result<ServerResult, ErrorData> {
        let PausedCall { call, input, .. } = self.take(state, resume_key).ok_or_else(unknown_state)?;
        let mut answers = answers.unwrap_or_default();
        let ordered_answers: Option<Vec<Map<String, Value>>> = input
            .requests
            .keys()
            .map(|key| match answers.remove(key) {
                Some(Value::Object(answer)) => Some(answer),
                _ => None,
            })
            .collect();
        match ordered_answers {
            // If this fails, the call is about to end.
            Some(ordered_answers) => drop(input.answer.send(ordered_answers)),
            None => return Ok(ServerResult::InputRequiredResult(self.pause(call, input))),
        }
        call.resume(presets, context).await
    }

    /// Removes and returns the call, if `resume_key` matches.
    fn take(&self, state: &str, resume_key: &ResumeKey) -> Option<PausedCall> {
        let mut calls = lock(&self.calls);
        calls.get(state).filter(|waiting| waiting.call.resume_key == *resume_key)?;
        calls.remove(state)
    }
}

/// Drops a paused call after [`MAX_PAUSE`], which cancels it.
async fn expire(paused: Weak<PausedCalls>, state: String) {
    tokio::time::sleep(MAX_PAUSE).await;
    let Some(paused) = paused.upgrade() else { return };
    let waiting = lock(&paused.calls).remove(&state);
    if waiting.is_some() {
        tracing::debug!("cancelled a paused call: its questions were not answered in time");
    }
}

fn unknown_state() -> ErrorData {
    let minutes = MAX_PAUSE.as_secs() / 60;
    let reason = format!(
        "unknown or expired `requestState`: questions stay open for {minutes} minutes, and only for the same caller, \
        tool and arguments. Call the tool again without `requestState`."
    );
    ErrorData::invalid_params(reason, None)
}
