//! Gives pages their vectors, in the background, whichever engine stores them.
//!
//! One task for each engine. It sleeps until somebody says that there may be work, takes the pages that wait in
//! batches, and stores each batch as it comes; what was done when a process dies stays done. A model that fails is
//! asked again after a pause that doubles. The task ends with the engine.

mod pass;
mod store;

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::{
        Embedder,
        embed::{EmbedFor, Vector},
    },
    search::embedded::RECIPE,
};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::{Instant, timeout},
};

use pass::checked;
pub(crate) use store::{Made, VectorStore, Waiting, waiting_note, words_alone};

/// How long storing pages waits for their vectors; what takes longer goes on in the background.
pub(crate) const SETTLE: Duration = Duration::from_secs(5);

/// How long the vector of a question may take: after that, words alone are the better answer.
const QUERY_TIME: Duration = Duration::from_secs(3);

/// Letters of a question that are embedded.
const QUERY_LETTERS: usize = 2_000;

/// The pause after a failure, the first time and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// A model that gives the pages of a store their vectors.
pub(crate) struct Embedding {
    shared: Arc<Shared>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    embedder: Arc<dyn Embedder>,
    /// The name under which its vectors are stored.
    name: String,
    store: Arc<dyn VectorStore>,
    /// The dimension of its vectors; 0 while it is not known.
    dimension: AtomicUsize,
    /// How often work was announced.
    announced: AtomicU64,
    work: Notify,
    state: watch::Sender<State>,
}

/// How far the task is.
#[derive(Debug, Clone, Default)]
struct State {
    /// What was announced up to here is done, or was tried.
    done: u64,
    /// Why not everything is done; the task tries again by itself.
    failing: Option<Fault>,
}

impl Embedding {
    pub(crate) fn new(embedder: Arc<dyn Embedder>, store: Arc<dyn VectorStore>) -> Self {
        // The recipe is part of the name: what is embedded of a page decides its vector as much as the model does.
        let name = format!("{} recipe {RECIPE}", embedder.model());
        let shared = Shared {
            embedder,
            name,
            store,
            dimension: AtomicUsize::new(0),
            announced: AtomicU64::new(0),
            work: Notify::new(),
            state: watch::Sender::new(State::default()),
        };
        Self { shared: Arc::new(shared), task: Mutex::new(None) }
    }

    /// The name under which the model's vectors are stored.
    pub(crate) fn name(&self) -> &str {
        &self.shared.name
    }

    /// `provider/model`.
    pub(crate) fn model(&self) -> &str {
        self.shared.embedder.model()
    }

    /// The dimension of the model's vectors, where it is known.
    pub(crate) fn dimension(&self) -> Option<usize> {
        self.shared.dimension()
    }

    /// Why the model fails, where it does.
    pub(crate) fn failing(&self) -> Option<String> {
        self.shared.state.borrow().failing.as_ref().map(|fault| fault.message.clone())
    }

    /// The vector of a question.
    ///
    /// # Errors
    /// The model's own, and `timed-out` after three seconds.
    async fn query(&self, text: &str) -> Result<Vector, Fault> {
        let text: String = text.chars().take(QUERY_LETTERS).collect();
        let asked = self.shared.embedder.embed(std::slice::from_ref(&text), EmbedFor::Query);
        let Ok(answer) = timeout(QUERY_TIME, asked).await else {
            return Err(Fault::new(
                FaultKind::TimedOut,
                format!(
                    "the embedding model '{}' did not answer within {} s",
                    self.model(),
                    QUERY_TIME.as_secs()
                ),
            ));
        };
        let vector = checked(self.model(), answer?, 1)?.pop().flatten();
        if let Some(vector) = &vector
            && self.shared.dimension.swap(vector.len(), Ordering::Relaxed) != vector.len()
        {
            // Pages may have vectors of another dimension.
            self.announce();
        }
        Ok(vector)
    }

    /// The vector of a question; where there is none because the model failed, what to say of it.
    pub(crate) async fn ask(&self, text: &str) -> (Option<Vec<f32>>, Option<String>) {
        if text.trim().is_empty() {
            return (None, None);
        }
        match self.query(text).await {
            Ok(vector) => (vector, None),
            Err(fault) => {
                tracing::warn!("a question was answered by words alone: {}", fault.message);
                (None, Some(words_alone(&fault.message)))
            }
        }
    }

    /// Says that pages may wait. Costs nothing; starts the task where it does not run yet.
    pub(crate) fn announce(&self) -> u64 {
        let number = self.shared.announced.fetch_add(1, Ordering::SeqCst) + 1;
        let mut task = self.task.lock().unwrap_or_else(PoisonError::into_inner);
        if task.as_ref().is_none_or(JoinHandle::is_finished) {
            *task = Some(tokio::spawn(run(Arc::clone(&self.shared))));
        }
        self.shared.work.notify_one();
        number
    }

    /// Waits until the pages that are stored now have their vectors; false where they have not, because the model
    /// fails or it takes longer than this.
    pub(crate) async fn settle(&self, limit: Duration) -> bool {
        let mut state = self.shared.state.subscribe();
        let number = self.announce();
        let settled = state.wait_for(|state| state.failing.is_some() || state.done >= number);
        matches!(timeout(limit, settled).await, Ok(Ok(state)) if state.failing.is_none())
    }
}

impl Embedding {
    /// Ends the task; what it has not done yet, whoever opens the store next makes up for.
    pub(crate) fn stop(&self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
    }
}

impl Drop for Embedding {
    fn drop(&mut self) {
        self.stop();
    }
}

async fn run(shared: Arc<Shared>) {
    let mut pause = PAUSE.0;
    loop {
        let announced = shared.announced.load(Ordering::SeqCst);
        let failing = shared.pass().await.err();
        if let Some(fault) = &failing {
            tracing::warn!(model = shared.name, "pages wait for their vectors: {}", fault.message);
        }
        let failed = failing.is_some();
        shared.state.send_replace(State { done: announced, failing });
        if failed {
            // Announcements do not shorten the pause: what fails would be asked by every change.
            tokio::time::sleep_until(Instant::now() + pause).await;
            pause = (pause * 2).min(PAUSE.1);
        } else {
            pause = PAUSE.0;
            shared.work.notified().await;
        }
    }
}
