//! Terms on which calls become tasks.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{Catalog, SourceId, call_time::MAX_TASK_PAUSE, catalog::ToolEntry, names::quoted};
use rmcp::{ErrorData, model::ClientCapabilities};
use tokio::sync::Notify;

/// Time limit of a gate's calls from which they can become tasks.
const MIN_TIME_LIMIT: Duration = Duration::from_secs(60);

/// Time after which a call becomes a task. Faster calls are answered at once.
const TASK_DELAY: Duration = Duration::from_millis(500);

/// Says if a call may become a task, shared with its work.
#[derive(Default)]
pub(crate) struct TaskSwitch {
    /// True while the request that waits for the call can be answered with a task.
    pub(super) is_possible: AtomicBool,
    pub(super) has_begun: AtomicBool,
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
    !is_of_server(entry) && (requires_task(entry) || entry.source.time_limit() > MIN_TIME_LIMIT)
}

fn is_of_server(entry: &ToolEntry) -> bool {
    matches!(entry.id.source, SourceId::Server(_))
}

impl TaskTerms {
    pub(crate) fn new(entry: &ToolEntry) -> Self {
        let delay = match is_long(entry) {
            true if requires_task(entry) => Some(Duration::ZERO),
            true => Some(TASK_DELAY),
            false => None,
        };
        let max_time = entry.source.time_limit() + MAX_TASK_PAUSE;
        Self { switch: Arc::default(), delay, max_time }
    }
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
