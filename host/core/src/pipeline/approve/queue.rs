//! Calls that wait for a person at the host, because their client cannot ask, or until it has asked.
//!
//! A request for approval is bound to its caller, tool and arguments by its [`ApprovalKey`]. If the client leaves before
//! the answer, the request stays until it expires: an approval then lets the same call run once when it is repeated.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{oneshot, watch},
    time::Instant,
};

use super::ApprovalAnswer;
use crate::{
    CallContext, Fault, Principal, ToolEntry,
    approval::{ApprovalKey, ApprovalScope},
    call_time::MAX_PAUSE,
    lock,
};

/// Maximum requests of one principal, and of a host.
const MAX_REQUESTS: (usize, usize) = (64, 512);

/// Answered requests to remember, so that a second answer is told about the first.
const MAX_ANSWERED: usize = 256;

/// A call that a person must approve.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApprovalRequest {
    /// Id of the call that asked first.
    pub id: String,
    pub preset: String,
    pub tool: String,
    pub principal: String,
    /// Name of the client, or empty.
    pub client: String,
    /// Names the tool, its effect and its caller, and shows the arguments. May contain line breaks.
    pub question: String,
    pub waiting_seconds: u64,
    /// Seconds until the request expires.
    pub remaining_seconds: u64,
    /// False if the client has given up. An approval then counts for the next call that is the same.
    pub is_connected: bool,
}

/// Effect of an answer to an [`ApprovalRequest`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "effect", rename_all = "kebab-case")]
pub enum AnswerEffect {
    /// The answer counts. `is_connected` is false if the client has to call again.
    Taken { is_connected: bool },
    /// Another answer came first.
    AnsweredBefore { allowed: bool, by: String },
    /// The request has expired, or was never there.
    Unknown,
}

/// Requests of a host, oldest first.
#[derive(Debug, Default)]
pub struct ApprovalQueue {
    requests: Mutex<QueuedRequests>,
    /// Requests that were ever added.
    added: watch::Sender<u64>,
    /// True while a person can answer.
    is_open: AtomicBool,
}

#[derive(Debug, Default)]
struct QueuedRequests {
    open: Vec<OpenRequest>,
    /// Approvals whose clients have left, and when they expire.
    given: Vec<(ApprovalKey, Instant)>,
    answered: VecDeque<(String, bool, &'static str)>,
}

#[derive(Debug)]
struct OpenRequest {
    key: ApprovalKey,
    principal: Principal,
    about: ApprovalRequest,
    /// True if an approval applies to all calls with this key.
    is_shared: bool,
    since: Instant,
    until: Instant,
    /// `None` if the client has given up.
    answer: Option<oneshot::Sender<bool>>,
}

impl QueuedRequests {
    fn remove_expired(&mut self) {
        let now = Instant::now();
        self.open.retain(|request| request.until > now);
        self.given.retain(|(_, until)| *until > now);
    }

    fn remove(&mut self, id: &str) -> Option<OpenRequest> {
        let place = self.open.iter().position(|request| request.about.id == id)?;
        Some(self.open.remove(place))
    }

    /// Answers a request that was removed. Returns false if its client has given up.
    fn answer(&mut self, request: OpenRequest, allow: bool) -> bool {
        self.record_answer(&request.about.id, allow, "the operator");
        let is_connected = request.answer.is_some_and(|answer| answer.send(allow).is_ok());
        if !is_connected && allow {
            self.given.push((request.key, Instant::now() + MAX_PAUSE));
        }
        is_connected
    }

    fn record_answer(&mut self, id: &str, allowed: bool, by: &'static str) {
        self.answered.push_back((id.to_owned(), allowed, by));
        if self.answered.len() > MAX_ANSWERED {
            self.answered.pop_front();
        }
    }
}

impl ApprovalQueue {
    /// Sets whether a person can answer. Calls use the queue only then.
    pub fn set_open(&self, is_open: bool) {
        self.is_open.store(is_open, Ordering::Release);
    }

    pub(super) fn is_open(&self) -> bool {
        self.is_open.load(Ordering::Acquire)
    }

    /// Adds a request of a call. A request of the same caller with the same tool and arguments, whose client has left,
    /// goes on as this one.
    ///
    /// # Errors
    ///
    /// `exhausted` if too many calls wait.
    pub(super) fn add(
        self: &Arc<Self>,
        context: &CallContext,
        entry: &ToolEntry,
        key: &ApprovalKey,
        question: &str,
    ) -> Result<QueuedCall, Fault> {
        let (sender, answer) = oneshot::channel();
        let (since, principal) = (Instant::now(), context.principal());
        let mut requests = lock(&self.requests);
        requests.remove_expired();
        let left = requests.open.iter().position(|open| open.answer.is_none() && open.key == *key);
        let earlier = left.map(|place| requests.open.remove(place));
        let own = requests.open.iter().filter(|open| open.principal == *principal).count();
        if own >= MAX_REQUESTS.0 || requests.open.len() >= MAX_REQUESTS.1 {
            let reason =
                format!("'{}' needs an approval, and {own} calls of this caller wait for one", entry.name);
            return Err(Fault::exhausted(reason).hint("Ask the user to run `gatehouse approve`."));
        }
        let id = earlier.map_or_else(|| context.id.to_string(), |earlier| earlier.about.id);
        let about = ApprovalRequest {
            id: id.clone(),
            preset: context.catalog.preset.to_string(),
            tool: entry.name.to_string(),
            principal: principal.to_string(),
            client: context.client.profile().name,
            question: question.to_owned(),
            waiting_seconds: 0,
            remaining_seconds: 0,
            is_connected: true,
        };
        requests.open.push(OpenRequest {
            key: key.clone(),
            principal: principal.clone(),
            about,
            is_shared: matches!(entry.approval, Some(ApprovalScope::For(_))),
            since,
            until: since + MAX_PAUSE,
            answer: Some(sender),
        });
        drop(requests);
        self.added.send_modify(|count| *count += 1);
        Ok(QueuedCall { queue: Arc::clone(self), id, key: key.clone(), answer })
    }

    /// Returns the requests that wait for an answer, oldest first.
    pub fn requests(&self) -> Vec<ApprovalRequest> {
        let mut requests = lock(&self.requests);
        requests.remove_expired();
        let now = Instant::now();
        let about = |open: &OpenRequest| ApprovalRequest {
            waiting_seconds: (now - open.since).as_secs(),
            remaining_seconds: (open.until - now).as_secs(),
            is_connected: open.answer.is_some(),
            ..open.about.clone()
        };
        requests.open.iter().map(about).collect()
    }

    /// Answers a request in the name of a person at the host. Only the first answer counts.
    pub fn answer(&self, id: &str, allow: bool) -> AnswerEffect {
        let mut requests = lock(&self.requests);
        requests.remove_expired();
        let Some(request) = requests.remove(id) else {
            let earlier = requests.answered.iter().rev().find(|(answered, ..)| answered == id);
            return earlier.map_or(AnswerEffect::Unknown, |(_, allowed, by)| AnswerEffect::AnsweredBefore {
                allowed: *allowed,
                by: (*by).to_owned(),
            });
        };
        let shared = |open: &mut OpenRequest| allow && request.is_shared && open.key == request.key;
        let others: Vec<OpenRequest> = requests.open.extract_if(.., shared).collect();
        // The approval is remembered for their callers, too, so those that have left need none of their own.
        for other in others.into_iter().filter(|other| other.answer.is_some()) {
            requests.answer(other, allow);
        }
        AnswerEffect::Taken { is_connected: requests.answer(request, allow) }
    }

    /// Uses up an approval that was given after its client had left. Returns false if there is none.
    pub(super) fn take_given(&self, key: &ApprovalKey) -> bool {
        let mut requests = lock(&self.requests);
        requests.remove_expired();
        let place = requests.given.iter().position(|(given, _)| given == key);
        place.map(|place| requests.given.remove(place)).is_some()
    }

    /// Follows how many requests there ever were.
    pub fn follow(&self) -> watch::Receiver<u64> {
        self.added.subscribe()
    }
}

/// A call in the queue. Dropping this before the answer leaves the request to the next call that is the same.
pub(super) struct QueuedCall {
    queue: Arc<ApprovalQueue>,
    id: String,
    key: ApprovalKey,
    answer: oneshot::Receiver<bool>,
}

impl QueuedCall {
    /// Waits for the answer of a person at the host.
    pub(super) async fn answered(&mut self) -> bool {
        match (&mut self.answer).await {
            Ok(allowed) => allowed,
            // The request has expired, and so has the time of the call.
            Err(_) => std::future::pending().await,
        }
    }

    /// Records that the user answered in the client. Returns the answer that counts: the operator's may be earlier.
    pub(super) fn answered_by_client(&mut self, allowed: bool) -> ApprovalAnswer {
        let mut requests = lock(&self.queue.requests);
        if let Ok(earlier) = self.answer.try_recv() {
            return ApprovalAnswer::by_operator(earlier);
        }
        requests.remove(&self.id);
        requests.record_answer(&self.id, allowed, "the client's form");
        ApprovalAnswer::by_client(allowed)
    }

    /// Removes the request: no later answer counts.
    pub(super) fn withdraw(self) {
        lock(&self.queue.requests).remove(&self.id);
    }
}

impl Drop for QueuedCall {
    fn drop(&mut self) {
        let mut requests = lock(&self.queue.requests);
        if let Some(open) = requests.open.iter_mut().find(|open| open.about.id == self.id) {
            open.answer = None;
        } else if self.answer.try_recv() == Ok(true) {
            // The client left at the moment of the approval, which waits for the next call.
            requests.given.push((self.key.clone(), Instant::now() + MAX_PAUSE));
        }
    }
}
