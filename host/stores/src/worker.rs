//! A background task that the first request starts. One pass serves all requests made before it began. After a failure
//! it retries with growing pauses. Also tasks that a caller waits for.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{Fault, lock};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::{sleep, timeout},
};

#[async_trait]
pub(crate) trait WorkerJob: Send + Sync + 'static {
    /// Returns the first and the longest pause after a failure.
    fn pauses(&self) -> (Duration, Duration);

    /// Processes everything that waits, as far as possible.
    async fn pass(&self) -> Result<(), Fault>;
}

#[derive(Debug, Clone, Default)]
struct PassResult {
    number: u64,
    result: Option<Result<(), Fault>>,
}

impl PassResult {
    fn failure(&self) -> Option<&str> {
        Some(&self.result.as_ref()?.as_ref().err()?.message)
    }
}

struct PassRequests {
    requested: AtomicU64,
    wake: Notify,
    finished: watch::Sender<PassResult>,
}

pub(crate) struct Worker<W> {
    work: Arc<W>,
    requests: Arc<PassRequests>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl<W: WorkerJob> Worker<W> {
    /// Creates a worker without starting its task.
    pub(crate) fn new(work: W) -> Self {
        let finished = watch::Sender::new(PassResult::default());
        let requests = PassRequests { requested: AtomicU64::new(0), wake: Notify::new(), finished };
        Self { work: Arc::new(work), requests: Arc::new(requests), task: Mutex::default() }
    }

    pub(crate) fn job(&self) -> &W {
        &self.work
    }

    /// Requests a pass that begins after this call, and returns the number of the request.
    pub(crate) fn request_pass(&self) -> u64 {
        let number = self.requests.requested.fetch_add(1, Ordering::SeqCst) + 1;
        let mut task = lock(&self.task);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(run(Arc::clone(&self.work), Arc::clone(&self.requests))));
        }
        self.requests.wake.notify_one();
        number
    }

    /// Requests a pass and waits for its result. `None` if `limit` passes first. While a failed pass waits to be
    /// repeated, this is its failure.
    pub(crate) async fn wait(&self, limit: Duration) -> Option<Result<(), Fault>> {
        let mut finished = self.requests.finished.subscribe();
        let number = self.request_pass();
        let served = |last: &PassResult| last.number >= number || last.failure().is_some();
        timeout(limit, finished.wait_for(served)).await.ok()?.ok()?.result.clone()
    }

    /// Returns the reason that the last pass left work. `None` if it left none.
    pub(crate) fn failing(&self) -> Option<String> {
        self.requests.finished.borrow().failure().map(str::to_owned)
    }
}

impl<W> Worker<W> {
    /// Aborts the task, and returns when it has ended, so that it finds no closed store. The next process that opens the
    /// store does the rest.
    pub(crate) async fn stop(&self) {
        let task = lock(&self.task).take();
        if let Some(task) = task {
            task.abort();
            let _ = task.await;
        }
    }
}

impl<W> Drop for Worker<W> {
    fn drop(&mut self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

/// Runs work that blocks or computes for long.
pub(crate) async fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Fault> + Send + 'static,
) -> Result<T, Fault> {
    finish(tokio::task::spawn_blocking(work)).await
}

/// Runs work that completes even if the caller is canceled.
pub(crate) async fn run_detached<T: Send + 'static>(
    work: impl Future<Output = Result<T, Fault>> + Send + 'static,
) -> Result<T, Fault> {
    finish(tokio::spawn(work)).await
}

pub(crate) async fn finish<T>(task: JoinHandle<Result<T, Fault>>) -> Result<T, Fault> {
    task.await.unwrap_or_else(|_| {
        Err(Fault::internal("a task of a store ended unexpectedly")
            .hint("This is a bug in gatehouse; see its log on stderr."))
    })
}

/// Waits before another attempt after a conflict. The random part keeps two writers from colliding again.
pub(crate) async fn back_off(attempt: u64) {
    if attempt > 0 {
        let random = RandomState::new().build_hasher().finish();
        sleep(Duration::from_millis(10 * attempt + random % (10 * attempt))).await;
    }
}

async fn run<W: WorkerJob>(work: Arc<W>, requests: Arc<PassRequests>) {
    let (first, longest) = work.pauses();
    let mut pause: Option<Duration> = None;
    loop {
        match pause {
            None => requests.wake.notified().await,
            // Every change requests a pass, which must not reach a failing model each time.
            Some(pause) => sleep(pause).await,
        }
        let number = requests.requested.load(Ordering::SeqCst);
        let result = work.pass().await;
        pause = match &result {
            Ok(()) => None,
            Err(_) => Some(pause.map_or(first, |pause| (pause * 2).min(longest))),
        };
        requests.finished.send_replace(PassResult { number, result: Some(result) });
    }
}
