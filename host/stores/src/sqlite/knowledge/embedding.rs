//! Gives pages their vectors, in the background.
//!
//! One task for each engine. It sleeps until somebody says that there may be work, takes the pages that wait in
//! batches, and stores each batch as it comes; what was done when a process dies stays done. A model that fails is
//! asked again after a pause that doubles. The task ends with the engine.

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
    search::embedded::{RECIPE, embedded_text},
};
use tokio::{
    sync::{Notify, watch},
    task::JoinHandle,
    time::{Instant, timeout},
};

use super::vectors::{self, Made, Waiting};
use crate::sqlite::db::Database;

/// Pages that are embedded and stored together.
const BATCH: usize = 64;

/// How long one batch may take. Providers have limits of their own; this one is for those that forgot.
const BATCH_TIME: Duration = Duration::from_secs(300);

/// How long the vector of a question may take: after that, words alone are the better answer.
const QUERY_TIME: Duration = Duration::from_secs(3);

/// Letters of a question that are embedded.
const QUERY_LETTERS: usize = 2_000;

/// The pause after a failure, the first time and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// A model that gives the pages of a database their vectors.
pub(super) struct Embedding {
    shared: Arc<Shared>,
    task: Mutex<Option<JoinHandle<()>>>,
}

struct Shared {
    embedder: Arc<dyn Embedder>,
    /// The name under which its vectors are stored.
    name: String,
    db: Arc<Database>,
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
    pub(super) fn new(embedder: Arc<dyn Embedder>, db: Arc<Database>) -> Self {
        // The recipe is part of the name: what is embedded of a page decides its vector as much as the model does.
        let name = format!("{} recipe {RECIPE}", embedder.model());
        let shared = Shared {
            embedder,
            name,
            db,
            dimension: AtomicUsize::new(0),
            announced: AtomicU64::new(0),
            work: Notify::new(),
            state: watch::Sender::new(State::default()),
        };
        Self { shared: Arc::new(shared), task: Mutex::new(None) }
    }

    /// The name under which the model's vectors are stored.
    pub(super) fn name(&self) -> &str {
        &self.shared.name
    }

    /// `provider/model`.
    pub(super) fn model(&self) -> &str {
        self.shared.embedder.model()
    }

    /// The dimension of the model's vectors, where it is known.
    pub(super) fn dimension(&self) -> Option<usize> {
        self.shared.dimension()
    }

    /// Why the model fails, where it does.
    pub(super) fn failing(&self) -> Option<String> {
        self.shared.state.borrow().failing.as_ref().map(|fault| fault.message.clone())
    }

    /// The vector of a question.
    ///
    /// # Errors
    /// The model's own, and `timed-out` after three seconds.
    pub(super) async fn query(&self, text: &str) -> Result<Vector, Fault> {
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

    /// Says that pages may wait. Costs nothing; starts the task where it does not run yet.
    pub(super) fn announce(&self) -> u64 {
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
    pub(super) async fn settle(&self, limit: Duration) -> bool {
        let mut state = self.shared.state.subscribe();
        let number = self.announce();
        let settled = state.wait_for(|state| state.failing.is_some() || state.done >= number);
        matches!(timeout(limit, settled).await, Ok(Ok(state)) if state.failing.is_none())
    }
}

impl Drop for Embedding {
    fn drop(&mut self) {
        if let Some(task) = self.task.lock().unwrap_or_else(PoisonError::into_inner).take() {
            task.abort();
        }
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

impl Shared {
    fn dimension(&self) -> Option<usize> {
        Some(self.dimension.load(Ordering::Relaxed)).filter(|dimension| *dimension > 0)
    }

    /// Goes over all pages that wait, once.
    async fn pass(&self) -> Result<(), Fault> {
        let (mut after, mut first) = (i64::MIN, Ok(()));
        loop {
            let (name, dimension) = (self.name.clone(), self.dimension());
            let batch = self.db.read(move |db| vectors::waiting(db, &name, dimension, after, BATCH)).await?;
            let Some(last) = batch.last() else { return first };
            after = last.page;
            if let Err(fault) = self.embed(batch).await {
                if stops(fault.kind) {
                    return Err(fault);
                }
                first = first.and(Err(fault));
            }
        }
    }

    /// Embeds pages and stores their vectors. Where the model takes offence at a page, the others are embedded all
    /// the same.
    async fn embed(&self, pages: Vec<Waiting>) -> Result<(), Fault> {
        let texts: Vec<String> = pages.iter().map(text).collect();
        match self.vectors(&texts).await {
            Ok(made) => self.store(pages, made).await,
            Err(fault) if stops(fault.kind) || pages.len() == 1 => Err(fault),
            Err(_) => {
                let mut first = Ok(());
                for (page, text) in pages.into_iter().zip(texts) {
                    let done = match self.vectors(std::slice::from_ref(&text)).await {
                        Ok(made) => self.store(vec![page], made).await,
                        Err(fault) => Err(fault),
                    };
                    match done {
                        Err(fault) if stops(fault.kind) => return Err(fault),
                        other => first = first.and(other),
                    }
                }
                first
            }
        }
    }

    async fn vectors(&self, texts: &[String]) -> Result<Vec<Vector>, Fault> {
        let model = self.embedder.model();
        match timeout(BATCH_TIME, self.embedder.embed(texts, EmbedFor::Document)).await {
            Ok(answer) => checked(model, answer?, texts.len()),
            Err(_) => Err(Fault::new(
                FaultKind::TimedOut,
                format!("the embedding model '{model}' did not answer in time"),
            )),
        }
    }

    async fn store(&self, pages: Vec<Waiting>, vectors: Vec<Vector>) -> Result<(), Fault> {
        if let Some(vector) = vectors.iter().flatten().next() {
            self.dimension.store(vector.len(), Ordering::Relaxed);
        }
        let made = pages.into_iter().zip(vectors);
        let made: Vec<Made> =
            made.map(|(page, vector)| Made { page: page.page, hash: page.hash, vector }).collect();
        let name = self.name.clone();
        self.db.write(move |db| vectors::store(db, &name, &made), |_| ()).await
    }
}

/// Faults that the next page would meet as well.
fn stops(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Unavailable | FaultKind::TimedOut | FaultKind::Denied | FaultKind::Exhausted)
}

fn text(page: &Waiting) -> String {
    embedded_text(&page.title, &page.overview, &page.domains, &page.content)
}

/// What the model gave, where it is what was asked for.
fn checked(model: &str, vectors: Vec<Vector>, texts: usize) -> Result<Vec<Vector>, Fault> {
    let mut lengths = vectors.iter().flatten().map(Vec::len);
    let dimension = lengths.next().unwrap_or(1);
    let numbers = vectors.iter().flatten().flatten().all(|value| value.is_finite());
    if vectors.len() == texts && dimension > 0 && numbers && lengths.all(|length| length == dimension) {
        return Ok(vectors);
    }
    Err(Fault::internal(format!("the embedding model '{model}' gave no vectors that fit its {texts} texts")))
}
