//! A task in the background that is started by the first who asks for it, serves all who asked before it began, tries
//! again by itself after failures with growing pauses, and ends with its owner.

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

/// What a worker does over and over.
#[async_trait]
pub(crate) trait WorkerJob: Send + Sync + 'static {
    /// Whether asking again does not shorten the pause after a failure.
    const KEEPS_PAUSE: bool;

    /// The pause after a failure, the first time and at most.
    fn pauses(&self) -> (Duration, Duration);

    /// Does everything that waits, as far as it goes.
    async fn pass(&self) -> Result<PassOutcome, Fault>;
}

/// What is left after a pass.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PassOutcome {
    /// Nothing.
    Complete,
    /// Another host is at it.
    OtherHost,
    /// Some, for this reason; to be tried again later.
    Incomplete(String),
}

/// The result of the last pass.
#[derive(Debug, Clone, Default)]
struct PassResult {
    /// Requests up to this number have been served by it.
    number: u64,
    result: Option<Result<PassOutcome, Fault>>,
}

impl PassResult {
    /// Why something was left behind.
    fn failure(&self) -> Option<&str> {
        match &self.result {
            Some(Err(fault)) => Some(&fault.message),
            Some(Ok(PassOutcome::Incomplete(why))) => Some(why),
            _ => None,
        }
    }
}

struct PassRequests {
    asked: AtomicU64,
    wake: Notify,
    finished: watch::Sender<PassResult>,
}

/// The task and how it is asked.
pub(crate) struct Worker<W> {
    work: Arc<W>,
    requests: Arc<PassRequests>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl<W: WorkerJob> Worker<W> {
    /// Starts nothing yet.
    pub(crate) fn new(work: W) -> Self {
        let finished = watch::Sender::new(PassResult::default());
        let requests = PassRequests { asked: AtomicU64::new(0), wake: Notify::new(), finished };
        Self { work: Arc::new(work), requests: Arc::new(requests), task: Mutex::default() }
    }

    /// What it works on.
    pub(crate) fn job(&self) -> &W {
        &self.work
    }

    /// Asks for a pass that begins from now on; gives the number of the request.
    pub(crate) fn request_pass(&self) -> u64 {
        let number = self.requests.asked.fetch_add(1, Ordering::SeqCst) + 1;
        let mut task = lock(&self.task);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(run(Arc::clone(&self.work), Arc::clone(&self.requests))));
        }
        self.requests.wake.notify_one();
        number
    }

    /// Asks for a pass and waits for its result; none where it takes longer than this.
    pub(crate) async fn wait(&self, limit: Duration) -> Option<Result<PassOutcome, Fault>> {
        let mut finished = self.requests.finished.subscribe();
        let number = self.request_pass();
        let served = |last: &PassResult| last.number >= number || W::KEEPS_PAUSE && last.failure().is_some();
        timeout(limit, finished.wait_for(served)).await.ok()?.ok()?.result.clone()
    }

    /// Why the last pass left something behind, where it did.
    pub(crate) fn failing(&self) -> Option<String> {
        self.requests.finished.borrow().failure().map(str::to_owned)
    }
}

impl<W> Worker<W> {
    /// Ends the task; what it has not done yet, whoever opens the store next makes up for.
    pub(crate) fn stop(&self) {
        if let Some(task) = lock(&self.task).take() {
            task.abort();
        }
    }
}

impl<W> Drop for Worker<W> {
    fn drop(&mut self) {
        self.stop();
    }
}

/// Waits before something is tried for the second time and later because somebody else was faster: who was needs a
/// moment, and two that wait the same moment would meet again.
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
            Some(pause) if W::KEEPS_PAUSE => sleep(pause).await,
            Some(pause) => _ = timeout(pause, requests.wake.notified()).await,
        }
        let number = requests.asked.load(Ordering::SeqCst);
        let result = work.pass().await;
        pause = match &result {
            Ok(PassOutcome::Complete) => None,
            Ok(PassOutcome::OtherHost) => Some(first),
            Ok(PassOutcome::Incomplete(_)) | Err(_) => {
                Some(pause.map_or(first, |pause| (pause * 2).min(longest)))
            }
        };
        requests.finished.send_replace(PassResult { number, result: Some(result) });
    }
}
