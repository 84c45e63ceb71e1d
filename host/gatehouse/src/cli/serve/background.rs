//! Tasks of a host that run beside its calls.

use std::time::Duration;

use tokio::{task::JoinSet, time::timeout};

/// Maximum wait for the tasks to end. A task that reads from a disk that does not respond cannot be ended.
const MAX_TASK_WAIT: Duration = Duration::from_secs(5);

/// Background tasks of a host. They must end before the runtime does: a task in blocking work would otherwise continue
/// after it, and panic at its next timer. Dropping this aborts them.
#[derive(Default)]
pub(super) struct BackgroundTasks(JoinSet<()>);

impl BackgroundTasks {
    pub(super) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }

    pub(super) async fn end(mut self) {
        if timeout(MAX_TASK_WAIT, self.0.shutdown()).await.is_err() {
            tracing::warn!("a blocked task did not end within {} s", MAX_TASK_WAIT.as_secs());
        }
    }
}
