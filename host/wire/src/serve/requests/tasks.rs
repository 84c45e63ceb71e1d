//! Tasks of the extension `io.modelcontextprotocol/tasks` (SEP-2663): calls that go on after their request has its reply.
//! The client polls for the result, and answers questions of the call in between.
//!
//! A task belongs to the principal and preset of its call. Its ID is random, so clients without a login cannot guess the
//! tasks of others. Tasks end with the host process.

mod open_input;

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, Weak,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use gatehouse_core::{
    Catalog, Principal, SourceId, call_time::MAX_PAUSE, catalog::ToolEntry, json as bounds, lock,
    names::quoted, utc_time::rfc3339,
};
use rmcp::{
    ErrorData, RoleServer,
    model::{
        CancelTaskParams, ClientCapabilities, CreateTaskResult, DetailedTask, GetTaskParams, GetTaskResult,
        InputResponses, ServerResult, Task, TaskPayload, TaskStatus, UpdateTaskParams,
    },
    service::RequestContext,
    transport::common::server_side_http::session_id,
};
use serde_json::{Map, Value};
use tokio::{
    sync::{Notify, mpsc},
    time::Instant,
};
use tokio_util::{sync::DropGuard, task::task_tracker::TaskTrackerToken};

use self::open_input::OpenInputs;
use super::{
    notifications::NotificationSender,
    paused_calls::{CallOwner, ResumableCall, WorkFuture},
};
use crate::serve::{elicitation::PendingInput, handler::Handler};

/// Time limit of a gate's calls from which they can become tasks.
pub(crate) const MIN_TASK_TIME_LIMIT: Duration = Duration::from_secs(60);

/// Time after which a call becomes a task. Faster calls are answered at once.
pub(crate) const TASK_DELAY: Duration = Duration::from_millis(500);

/// Maximum time of a server's task, which pauses the time limit of its call.
pub(crate) const MAX_SERVER_TASK_TIME: Duration = Duration::from_secs(3_600);

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

/// The tasks of all clients.
#[derive(Default)]
pub(crate) struct TaskStore {
    tasks: Mutex<HashMap<String, Arc<HostTask>>>,
    /// Tasks by principal, with those that may still begin.
    slots: Mutex<HashMap<Principal, usize>>,
    result_bytes: AtomicUsize,
}

/// Place for one task of a principal.
struct TaskSlot {
    store: Arc<TaskStore>,
    principal: Principal,
}

impl Drop for TaskSlot {
    fn drop(&mut self) {
        let mut slots = lock(&self.store.slots);
        if let Some(own) = slots.get_mut(&self.principal) {
            *own -= 1;
            if *own == 0 {
                slots.remove(&self.principal);
            }
        }
    }
}

/// Whether a call may become a task, shared with its work.
#[derive(Default)]
pub(crate) struct TaskSwitch {
    /// True while the request that waits for the call can be answered with a task.
    is_possible: AtomicBool,
    has_begun: AtomicBool,
    requested: Notify,
}

impl TaskSwitch {
    /// Makes the call a task. Returns false if that is not possible.
    pub(crate) fn begin(&self) -> bool {
        if self.has_begun.load(Ordering::Acquire) {
            return true;
        }
        let is_possible = self.is_possible.load(Ordering::Acquire);
        if is_possible {
            self.requested.notify_one();
        }
        is_possible
    }

    pub(crate) async fn requested(&self) {
        self.requested.notified().await;
    }
}

/// Terms on which a call becomes a task.
pub(crate) struct TaskTerms {
    pub(crate) switch: Arc<TaskSwitch>,
    /// Delay after which it does so by itself. `None` if only the task of a server makes it one.
    pub(crate) delay: Option<Duration>,
    /// Maximum time of the call without its questions.
    pub(crate) max_time: Duration,
    /// Counts the task as a running request.
    pub(crate) running: TaskTrackerToken,
}

/// Permission to answer one request with a task.
pub(crate) struct TaskOffer {
    _slot: TaskSlot,
    switch: Arc<TaskSwitch>,
}

impl Drop for TaskOffer {
    fn drop(&mut self) {
        self.switch.is_possible.store(false, Ordering::Release);
    }
}

struct HostTask {
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
    end: Option<TaskPayload>,
}

impl TaskStore {
    /// Returns an offer for a request whose client can follow a task. `None` if there are too many tasks.
    pub(crate) fn offer(self: &Arc<Self>, principal: &Principal, terms: &TaskTerms) -> Option<TaskOffer> {
        if self.result_bytes.load(Ordering::Relaxed) > MAX_RESULT_BYTES {
            return None;
        }
        let mut slots = lock(&self.slots);
        let own = slots.get(principal).copied().unwrap_or_default();
        if own >= MAX_TASKS_PER_PRINCIPAL || slots.values().sum::<usize>() >= MAX_TASKS {
            return None;
        }
        slots.insert(principal.clone(), own + 1);
        terms.switch.is_possible.store(true, Ordering::Release);
        let slot = TaskSlot { store: Arc::clone(self), principal: principal.clone() };
        Some(TaskOffer { _slot: slot, switch: Arc::clone(&terms.switch) })
    }

    /// Continues a call in the background.
    pub(crate) fn begin(
        self: &Arc<Self>,
        call: ResumableCall,
        terms: TaskTerms,
        offer: TaskOffer,
    ) -> CreateTaskResult {
        let ResumableCall { work, pending_input, notifications, cancel, resume_key, .. } = call;
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
            let end = run(&task, work, pending_input).await;
            drop(terms.running);
            keep(&store, &id, &task, end).await;
            drop(offer);
        });
        created
    }

    fn find(&self, id: &str, owner: &CallOwner) -> Result<Arc<HostTask>, ErrorData> {
        let task = lock(&self.tasks).get(id).filter(|task| task.owner == *owner).cloned();
        task.ok_or_else(unknown_task)
    }

    fn is_empty(&self) -> bool {
        lock(&self.tasks).is_empty()
    }
}

/// Runs the work of a task to its end, and collects its questions.
async fn run(
    task: &HostTask,
    mut work: WorkFuture,
    mut pending_input: mpsc::Receiver<PendingInput>,
) -> TaskPayload {
    let result = loop {
        tokio::select! {
            biased;
            result = &mut work => break result,
            Some(input) = pending_input.recv() => {
                let mut state = lock(&task.state);
                state.inputs.add(input);
                state.updated = now();
            }
        }
    };
    payload(result, lock(&task.state).was_cancelled)
}

/// Keeps the end of a task for its client.
async fn keep(store: &Weak<TaskStore>, id: &str, task: &HostTask, end: TaskPayload) {
    let bytes = match &end {
        TaskPayload::Completed { result: object } | TaskPayload::Failed { error: object } => {
            object.iter().map(|(key, value)| key.len() + bounds::encoded_len(value)).sum()
        }
        _ => 0,
    };
    if let Some(store) = store.upgrade() {
        store.result_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
    {
        let mut state = lock(&task.state);
        (state.updated, state.end) = (now(), Some(end));
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

impl HostTask {
    fn shown(&self, id: &str) -> DetailedTask {
        let mut state = lock(&self.state);
        let payload = match &state.end {
            Some(end) => {
                let end = end.clone();
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
}

/// Returns the end of a task. Errors of the tool are results; errors of the protocol make the task fail.
fn payload(result: Result<ServerResult, ErrorData>, was_cancelled: bool) -> TaskPayload {
    let is_error = |result: &Map<String, Value>| result.get("isError") == Some(&Value::Bool(true));
    let object = |value: Result<Value, serde_json::Error>| match value {
        Ok(Value::Object(object)) => object,
        _ => Map::new(),
    };
    match result {
        Ok(result) => match object(serde_json::to_value(result)) {
            result if was_cancelled && is_error(&result) => TaskPayload::Cancelled,
            result => TaskPayload::Completed { result },
        },
        Err(_) if was_cancelled => TaskPayload::Cancelled,
        Err(error) => TaskPayload::Failed { error: object(serde_json::to_value(error)) },
    }
}

fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    rfc3339(since.as_millis() as u64)
}

fn unknown_task() -> ErrorData {
    let why = "unknown or expired task: tasks belong to the caller and preset that began them, and end with the host. \
        Call the tool again.";
    ErrorData::invalid_params(why, None)
}

/// Returns the error of a tool that runs only as a task, for a client that cannot follow one.
pub(crate) fn tasks_required(tool: &str) -> ErrorData {
    let required = ClientCapabilities::builder().enable_tasks().build();
    let error = ErrorData::missing_required_client_capability(required);
    let tool = quoted(tool, 64);
    ErrorData {
        message: format!("tool '{tool}' runs only as a task, and this client cannot follow tasks").into(),
        ..error
    }
}

impl Handler {
    /// Whether `tasks/*` must work: the preset can begin tasks, or some have begun.
    pub(crate) fn has_tasks(&self, catalog: &Catalog) -> bool {
        can_begin_tasks(catalog) || !self.presets.tasks.is_empty()
    }

    fn task_owner(&self, context: &RequestContext<RoleServer>) -> CallOwner {
        let caller = self.caller_of(&context.extensions);
        let preset = Arc::clone(&self.served.catalog(&caller).preset);
        self.owner(&caller, preset)
    }

    pub(crate) fn task(
        &self,
        request: &GetTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let task = self.presets.tasks.find(&request.task_id, &self.task_owner(context))?;
        Ok(GetTaskResult::new(task.shown(&request.task_id)))
    }

    /// Passes answers to the questions of a task. Keys without a question are ignored.
    pub(crate) fn answer_task(
        &self,
        request: UpdateTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let task = self.presets.tasks.find(&request.task_id, &self.task_owner(context))?;
        let answers: InputResponses = request.input_responses;
        let mut state = lock(&task.state);
        if state.inputs.answer(answers) {
            state.updated = now();
        }
        Ok(())
    }

    /// Cancels a task that still runs.
    pub(crate) fn stop_task(
        &self,
        request: &CancelTaskParams,
        context: &RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let task = self.presets.tasks.find(&request.task_id, &self.task_owner(context))?;
        let mut state = lock(&task.state);
        if state.end.is_none() {
            state.was_cancelled = true;
            drop(state.cancel.take());
        }
        Ok(())
    }
}

/// `_meta` key by which a gate declares that a tool runs only as a task, with the value [`TASK_REQUIRED`].
const TASK_KEY: &str = "gatehouse/task";

const TASK_REQUIRED: &str = "required";

/// Whether calls of this catalog can become tasks: of gates with a long time limit, and of servers.
pub(crate) fn can_begin_tasks(catalog: &Catalog) -> bool {
    catalog.awaits_listings() || catalog.entries().iter().any(|entry| is_long(entry) || is_of_server(entry))
}

/// Whether a gate's tool runs only as a task. A server reports it by itself.
pub(crate) fn requires_task(entry: &ToolEntry) -> bool {
    let meta = entry.declared.meta.as_ref();
    !is_of_server(entry) && meta.and_then(|meta| meta.get(TASK_KEY)).is_some_and(|it| it == TASK_REQUIRED)
}

fn is_long(entry: &ToolEntry) -> bool {
    !is_of_server(entry) && (requires_task(entry) || entry.source.time_limit() > MIN_TASK_TIME_LIMIT)
}

fn is_of_server(entry: &ToolEntry) -> bool {
    matches!(entry.id.source, SourceId::Server(_))
}

impl TaskTerms {
    /// Returns the terms for a tool.
    pub(crate) fn new(entry: &ToolEntry, running: TaskTrackerToken) -> Self {
        let delay = match is_long(entry) {
            true if requires_task(entry) => Some(Duration::ZERO),
            true => Some(TASK_DELAY),
            false => None,
        };
        let max_time = entry.source.time_limit() + MAX_SERVER_TASK_TIME;
        Self { switch: Arc::default(), delay, max_time, running }
    }
}
