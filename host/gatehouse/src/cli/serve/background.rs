//! Tasks that a host runs besides serving. They end before the runtime does: a task that is in the middle of blocking
//! work would otherwise go on in a runtime that has ended, and panic at its next timer.

use std::time::Duration;

use tokio::{task::JoinSet, time::timeout};

/// Maximum wait for the tasks to end. One that reads from a disk that does not answer cannot be ended.
const MAX_WAIT: Duration = Duration::from_secs(5);

/// The tasks. Dropping this aborts them.
#[derive(Default)]
pub(super) struct BackgroundTasks(JoinSet<()>);

impl BackgroundTasks {
    pub(super) fn spawn(&mut self, task: impl Future<Output = ()> + Send + 'static) {
        self.0.spawn(task);
    }

    /// Aborts the tasks and waits until each has ended.
    pub(super) async fn end(mut self) {
        if timeout(MAX_WAIT, self.0.shutdown()).await.is_err() {
            tracing::warn!("a task that blocks did not end within {} s", MAX_WAIT.as_secs());
        }
    }
}
