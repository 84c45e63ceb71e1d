//! Tasks of the extension `io.modelcontextprotocol/tasks` (SEP-2663): calls that go on after their request has its reply.
//! The client polls for the result, and answers questions of the call in between.
//!
//! A task belongs to the principal and preset of its call. Its ID is random, so clients without a login cannot guess the
//! tasks of others. Tasks end with the host process.

mod kept_state;
pub(crate) mod terms;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use gatehouse_core::{Principal, call_time::MAX_PAUSE, lock, utc_time::rfc3339};
use rmcp::{
    ErrorData,
    model::{CreateTaskResult, DetailedTask, InputResponses, Task, TaskPayload, TaskStatus},
    transport::common::server_side_http::session_id,
};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::{
    kept_state::{OpenInputs, TaskEnd},
    terms::{TaskSwitch, TaskTerms},
};
use super::{
    notifications::NotificationSender,
    paused_calls::{CallOwner, ResumableCall, WorkFuture},
};
use crate::serve::{
    elicitation::PendingInput,
    principal_slots::{PrincipalSlot, PrincipalSlots},
};

/// Time to fetch a result, if the call uses all of its time and its pauses.
const RESULT_RETENTION: Duration = Duration::from_secs(600);

/// Time to fetch a result again.
const FETCHED_RETENTION: Duration = Duration::from_secs(120);

/// Interval at which clients should poll.
const POLL_INTERVAL_MS: u64 = 1_000;

const MAX_TASKS: usize = 512;
const MAX_TASKS_PER_PRINCIPAL: usize = 128;

/// Maximum bytes of all results. No new tasks begin above it.
const MAX_RESULT_BYTES: usize = 64 << 20;

#[derive(Default)]
pub(crate) struct TaskStore {
    tasks: Mutex<HashMap<String, Arc<HostTask>>>,
    /// Tasks by principal, with those that may still begin.
    slots: Arc<PrincipalSlots>,
    result_bytes: AtomicUsize,
}

/// Permission to answer one request with a task.
pub(crate) struct TaskOffer {
    _slot: PrincipalSlot,
    switch: Arc<TaskSwitch>,
}

impl Drop for TaskOffer {
    fn drop(&mut self) {
        self.switch.is_possible.store(false, Ordering::Release);
    }
}

pub(crate) struct HostTask {
    owner: CallOwner,
    created: String,
    began: Instant,
    fetched: Notify,
    notifications: Arc<NotificationSender>,
    state: Mutex<TaskState>,
}

struct TaskState {
    updated: String,
    /// How long after its beginning the task is kept.
    ttl: Duration,
    inputs: OpenInputs,
    /// Cancels the call when dropped.
    cancel: Option<DropGuard>,
    was_cancelled: bool,
    /// `None` while the call runs.
    end: Option<TaskEnd>,
}

impl TaskStore {
    /// Returns an offer for a request whose client can follow a task. `None` if there are too many tasks.
    pub(crate) fn offer(&self, principal: &Principal, terms: &TaskTerms) -> Option<TaskOffer> {
        if self.result_bytes.load(Ordering::Relaxed) > MAX_RESULT_BYTES {
            return None;
        }
        let slot = self.slots.take(principal, MAX_TASKS_PER_PRINCIPAL, MAX_TASKS)?;
        terms.switch.is_possible.store(true, Ordering::Release);
        Some(TaskOffer { _slot: slot, switch: Arc::clone(&terms.switch) })
    }

    /// Continues a call in the background. It is cancelled when the host shuts down, or when the caller's credential
    /// ends.
    pub(crate) fn begin(
        self: &Arc<Self>,
        call: ResumableCall,
        terms: &TaskTerms,
        offer: TaskOffer,
        shutdown: CancellationToken,
    ) -> CreateTaskResult {
        let ResumableCall { work, pending_input, notifications, cancel, resume_key, credential_end, .. } =
            call;
        terms.switch.has_begun.store(true, Ordering::Release);
        let id = session_id().to_string();
        let now = now();
        let task = Arc::new(HostTask {
            owner: resume_key.owner,
            created: now.clone(),
            began: Instant::now(),
            fetched: Notify::new(),
            notifications,
            state: Mutex::new(TaskState {
                updated: now,
                ttl: terms.max_time + MAX_PAUSE + RESULT_RETENTION,
                inputs: OpenInputs::default(),
                cancel: Some(cancel),
                was_cancelled: false,
                end: None,
            }),
        });
        // The client may poll as soon as it has the reply.
        lock(&self.tasks).insert(id.clone(), Arc::clone(&task));
        let created = CreateTaskResult::new(task.shown(&id).task);
        let store = Arc::downgrade(self);
        tokio::spawn(async move {
            let end = run(&task, work, pending_input, [shutdown, credential_end]).await;
            keep(&store, &id, &task, end).await;
            drop(offer);
        });
        created
    }

    pub(crate) fn find(&self, id: &str, owner: &CallOwner) -> Result<Arc<HostTask>, ErrorData> {
        let task = lock(&self.tasks).get(id).filter(|task| task.owner == *owner).cloned();
        task.ok_or_else(unknown_task)
    }

    pub(crate) fn is_empty(&self) -> bool {
        lock(&self.tasks).is_empty()
    }
}

/// Runs the work of a task to its end, and collects its questions. Each of `ends` cancels the task.
async fn run(
    task: &HostTask,
    mut work: WorkFuture,
    mut pending_input: mpsc::Receiver<PendingInput>,
    [shutdown, ended]: [CancellationToken; 2],
) -> TaskEnd {
    let result = loop {
        tokio::select! {
            biased;
            result = &mut work => break result,
            Some(input) = pending_input.recv() => {
                let mut state = lock(&task.state);
                state.inputs.add(input);
                state.updated = now();
            }
            () = shutdown.cancelled(), if !lock(&task.state).was_cancelled => task.cancel(),
            () = ended.cancelled(), if !lock(&task.state).was_cancelled => task.cancel(),
        }
    };
    TaskEnd::from_result(result, lock(&task.state).was_cancelled)
}

/// Keeps the end of a task for its client.
async fn keep(store: &Weak<TaskStore>, id: &str, task: &HostTask, mut end: TaskEnd) {
    if let Some(store) = store.upgrade() {
        let more = |bytes: usize| Some(bytes + end.json.len()).filter(|bytes| *bytes <= MAX_RESULT_BYTES);
        if store.result_bytes.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_err() {
            end = TaskEnd::too_large();
            store.result_bytes.fetch_add(end.json.len(), Ordering::Relaxed);
        }
    }
    let bytes = end.json.len();
    {
        let mut state = lock(&task.state);
        (state.updated, state.end) = (now(), Some(end));
        state.ttl = state.ttl.max(task.began.elapsed() + RESULT_RETENTION);
        state.inputs = OpenInputs::default();
        drop(state.cancel.take());
    }
    let until = |task: &HostTask| task.began + lock(&task.state).ttl;
    tokio::select! {
        () = task.fetched.notified() => tokio::time::sleep_until(until(task)).await,
        () = tokio::time::sleep_until(until(task)) => {}
    }
    if let Some(store) = store.upgrade() {
        store.result_bytes.fetch_sub(bytes, Ordering::Relaxed);
        lock(&store.tasks).remove(id);
    }
}

impl TaskState {
    /// Cancels the call if it still runs.
    fn cancel(&mut self) {
        if self.end.is_none() {
            self.was_cancelled = true;
            drop(self.cancel.take());
        }
    }
}

impl HostTask {
    pub(crate) fn shown(&self, id: &str) -> DetailedTask {
        let mut state = lock(&self.state);
        let payload = match &state.end {
            Some(end) => {
                let end = end.payload();
                state.ttl = state.ttl.min(self.began.elapsed() + FETCHED_RETENTION);
                self.fetched.notify_one();
                end
            }
            None => match state.inputs.open() {
                open if open.is_empty() => TaskPayload::Working,
                input_requests => TaskPayload::InputRequired { input_requests },
            },
        };
        let ttl = state.ttl.as_millis() as u64;
        let mut task = Task::new(id, payload.status(), &self.created, &state.updated)
            .with_ttl_ms(ttl)
            .with_poll_interval_ms(POLL_INTERVAL_MS);
        if payload.status() == TaskStatus::Working {
            task.status_message = self.notifications.last_progress();
        }
        DetailedTask::new(task, payload)
    }

    /// Passes answers to the questions of the task. Keys without a question are ignored.
    pub(crate) fn answer(&self, answers: InputResponses) {
        let mut state = lock(&self.state);
        if state.inputs.answer(answers) {
            state.updated = now();
        }
    }

    pub(crate) fn cancel(&self) {
        lock(&self.state).cancel();
    }
}

fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    rfc3339(since.as_millis() as u64)
}

fn unknown_task() -> ErrorData {
    let reason = "unknown or expired task: tasks belong to the caller and preset that began them, and end with the host. \
        Call the tool again.";
    ErrorData::invalid_params(reason, None)
}
