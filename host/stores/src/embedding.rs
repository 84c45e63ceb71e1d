//! Computes the vectors of searchable items in the background.
//!
//! Each store has one task. It sleeps until a caller reports work, embeds waiting items in batches and stores each
//! batch, so finished batches survive a crash. After a failure it retries with a pause that doubles.
//!
//! Longer than 300 lines because the task and the vectors that a search uses meanwhile depend on each other.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::{
        Embedder,
        embed::{EmbeddingPurpose, EmbeddingVector},
    },
    search::embedded::EMBEDDED_TEXT_VERSION,
};
use tokio::{sync::OnceCell, time::timeout};

use crate::{
    engine::{EmbeddingHealth, NewVector, QueryVector, StoreHealth, VectorItem, VectorModel, VectorStore},
    worker::{Worker, WorkerJob},
};

/// After this, an answer by words only is better than a late answer.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

const MAX_QUERY_CHARS: usize = 2_000;

const BATCH_SIZE: usize = 64;

/// Maximum time for one batch, in case the provider has no limit of its own.
const BATCH_TIMEOUT: Duration = Duration::from_secs(300);

const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

/// Source of the texts to embed.
#[async_trait]
pub(crate) trait TextSource: Send + Sync {
    /// Returns the text of each item key, in order. `None` if the item is gone.
    async fn texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault>;
}

/// Embedding task of a store. Without an embedder it does nothing, and search uses words only.
pub(crate) struct EmbeddingTask {
    worker: Option<Worker<EmbeddingJob>>,
}

impl EmbeddingTask {
    pub(crate) fn new(
        embedder: Option<Arc<dyn Embedder>>,
        store: Arc<dyn VectorStore>,
        texts: Arc<dyn TextSource>,
    ) -> Self {
        let worker = embedder.map(|embedder| Worker::new(EmbeddingJob::new(embedder, store, texts)));
        Self { worker }
    }

    /// Returns the model under which vectors are stored. `None` without an embedder.
    pub(crate) fn model(&self) -> Option<VectorModel> {
        self.worker.as_ref().map(|worker| worker.job().model())
    }

    /// Returns the name of the configured model. `None` without an embedder.
    pub(crate) fn configured_model(&self) -> Option<&str> {
        self.worker.as_ref().map(|worker| worker.job().embedder.model())
    }

    /// Adds the progress to the health of the store, given the number of items without a vector and the reason that the
    /// engine cannot store vectors. Adds nothing without an embedder.
    pub(crate) fn add_health(&self, health: StoreHealth) -> StoreHealth {
        let embedding = self.worker.as_ref().map(|worker| EmbeddingHealth {
            model: worker.job().embedder.model().to_owned(),
            waiting: health.without_vector,
            failing: health.no_vectors.clone().or_else(|| worker.failing()),
        });
        StoreHealth { embedding, ..health }
    }

    /// Embeds a question. If the model fails, returns a note for the caller instead of a vector.
    pub(crate) async fn embed_question(&self, text: &str) -> (Option<QueryVector>, Option<String>) {
        let Some(worker) = &self.worker else { return (None, None) };
        if text.trim().is_empty() {
            return (None, None);
        }
        match query(worker, text).await {
            Ok(values) => {
                let job = worker.job();
                // The first search can find a database that is being set up.
                let model =
                    timeout(QUERY_TIMEOUT, job.searched_model()).await.unwrap_or(&job.name).to_owned();
                (values.map(|values| QueryVector { model, values }), None)
            }
            Err(fault) => {
                tracing::warn!("searched by words only: {}", fault.message);
                (None, Some(words_only_note(&fault.message)))
            }
        }
    }

    /// Requests a pass over waiting items. Cheap enough to call after every write.
    pub(crate) fn wake(&self) {
        if let Some(worker) = &self.worker {
            worker.request_pass();
        }
    }

    /// Waits until all stored items have vectors. Returns false on failure or timeout, and true without an embedder.
    pub(crate) async fn wait_for_vectors(&self, limit: Duration) -> bool {
        match &self.worker {
            Some(worker) => worker.wait(limit).await == Some(Ok(())),
            None => true,
        }
    }

    /// Stops the task. The next process that opens the store embeds the rest.
    pub(crate) async fn stop(&self) {
        if let Some(worker) = &self.worker {
            worker.stop().await;
        }
    }
}

/// Embeds a question. Fails with `timed-out` after [`QUERY_TIMEOUT`].
async fn query(worker: &Worker<EmbeddingJob>, text: &str) -> Result<EmbeddingVector, Fault> {
    let job = worker.job();
    let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
    let texts = std::slice::from_ref(&text);
    let vector = job.vectors(texts, EmbeddingPurpose::Query).await?.pop().flatten();
    if let Some(vector) = &vector
        && job.dimension.swap(vector.len(), Ordering::Relaxed) != vector.len()
    {
        // Stored vectors may have another dimension.
        worker.request_pass();
    }
    Ok(vector)
}

/// Returns the note of a search that did not use meaning.
pub(crate) fn words_only_note(reason: &str) -> String {
    format!("Searched by words only: {}.", reason.trim_end_matches('.'))
}

struct EmbeddingJob {
    embedder: Arc<dyn Embedder>,
    name: String,
    store: Arc<dyn VectorStore>,
    texts: Arc<dyn TextSource>,
    /// Dimension of the vectors. 0 if unknown.
    dimension: AtomicUsize,
    /// Name of the model's earlier edition, as in [`Embedder::earlier_edition`].
    earlier: Option<String>,
    /// True if all items had a vector of the earlier edition, and some none of this one, when first asked.
    earlier_is_complete: OnceCell<bool>,
    /// True once a pass has tried every item.
    complete: AtomicBool,
}

#[async_trait]
impl WorkerJob for EmbeddingJob {
    fn pauses(&self) -> (Duration, Duration) {
        PAUSES
    }

    async fn pass(&self) -> Result<(), Fault> {
        // Decides which vectors searches use before the first new one is stored.
        self.searched_model().await;
        let (mut after, mut first) = (String::new(), Ok(()));
        loop {
            let batch = self.store.waiting(&self.model(), &after, BATCH_SIZE).await?;
            let Some(last) = batch.last() else { break };
            after.clone_from(&last.key);
            if let Err(fault) = self.embed(batch).await {
                tracing::warn!(model = self.name, "cannot embed texts yet: {}", fault.message);
                if stops_pass(fault.kind) {
                    return Err(fault);
                }
                first = first.and(Err(fault));
            }
        }
        // Texts that the model refuses have no vector of either edition.
        self.complete.store(true, Ordering::Relaxed);
        first
    }
}

impl EmbeddingJob {
    fn new(embedder: Arc<dyn Embedder>, store: Arc<dyn VectorStore>, texts: Arc<dyn TextSource>) -> Self {
        // The embedded text determines a vector as much as the model does.
        let stored_name = |model: &str| format!("{model} recipe {EMBEDDED_TEXT_VERSION}");
        Self {
            name: stored_name(embedder.model()),
            earlier: embedder.earlier_edition().map(stored_name),
            embedder,
            store,
            texts,
            dimension: AtomicUsize::new(0),
            earlier_is_complete: OnceCell::new(),
            complete: AtomicBool::new(false),
        }
    }

    /// Returns the model whose vectors a search uses: the earlier edition while it alone has all vectors.
    async fn searched_model(&self) -> &str {
        match &self.earlier {
            Some(earlier)
                if !self.complete.load(Ordering::Relaxed) && self.searches_earlier(earlier).await =>
            {
                earlier
            }
            _ => &self.name,
        }
    }

    async fn searches_earlier(&self, earlier: &str) -> bool {
        let is_waiting = async |name: &str| {
            let model = VectorModel { name: name.to_owned(), dimension: None, searched: None };
            self.store.waiting(&model, "", 1).await.map(|items| !items.is_empty())
        };
        let check = self.earlier_is_complete.get_or_try_init(|| async {
            Ok::<_, Fault>(is_waiting(&self.name).await? && !is_waiting(earlier).await?)
        });
        // The search that follows reports the fault of a store that cannot be read.
        check.await.is_ok_and(|earlier| *earlier)
    }

    fn model(&self) -> VectorModel {
        let dimension = Some(self.dimension.load(Ordering::Relaxed)).filter(|dimension| *dimension > 0);
        let searches_earlier =
            self.earlier_is_complete.get() == Some(&true) && !self.complete.load(Ordering::Relaxed);
        let searched = self.earlier.clone().filter(|_| searches_earlier);
        VectorModel { name: self.name.clone(), dimension, searched }
    }

    /// Embeds items and stores their vectors. If the model rejects the batch, tries each text by itself.
    async fn embed(&self, batch: Vec<VectorItem>) -> Result<(), Fault> {
        let keys: Vec<String> = batch.iter().map(|item| item.key.clone()).collect();
        let texts = self.texts.texts(&keys).await?;
        let pairs = batch.into_iter().zip(texts).filter_map(|(item, text)| Some((item, text?)));
        let (batch, texts): (Vec<_>, Vec<String>) = pairs.unzip();
        if texts.is_empty() {
            return Ok(());
        }
        let purpose = EmbeddingPurpose::Document;
        match self.vectors(&texts, purpose).await {
            Ok(vectors) => self.store_vectors(batch, vectors).await,
            Err(fault) if stops_pass(fault.kind) || batch.len() == 1 => Err(fault),
            Err(_) => {
                let mut first = Ok(());
                for (item, text) in batch.into_iter().zip(texts) {
                    let done = match self.vectors(std::slice::from_ref(&text), purpose).await {
                        Ok(vectors) => self.store_vectors(vec![item], vectors).await,
                        Err(fault) => Err(fault),
                    };
                    match done {
                        Err(fault) if stops_pass(fault.kind) => return Err(fault),
                        other => first = first.and(other),
                    }
                }
                first
            }
        }
    }

    /// Returns a vector for each text. Fails with `timed-out` after [`QUERY_TIMEOUT`] or [`BATCH_TIMEOUT`].
    async fn vectors(
        &self,
        texts: &[String],
        purpose: EmbeddingPurpose,
    ) -> Result<Vec<EmbeddingVector>, Fault> {
        let limit = if purpose == EmbeddingPurpose::Query { QUERY_TIMEOUT } else { BATCH_TIMEOUT };
        let model = self.embedder.model();
        let Ok(answer) = timeout(limit, self.embedder.embed(texts, purpose)).await else {
            let seconds = limit.as_secs();
            let message = format!("embedding model '{model}' did not respond within {seconds} s");
            return Err(Fault::new(FaultKind::TimedOut, message));
        };
        let (vectors, texts) = (answer?, texts.len());
        let mut lengths = vectors.iter().flatten().map(Vec::len);
        let dimension = lengths.next().unwrap_or(1);
        let numbers = vectors.iter().flatten().flatten().all(|value| value.is_finite());
        if vectors.len() == texts && dimension > 0 && numbers && lengths.all(|length| length == dimension) {
            return Ok(vectors);
        }
        Err(Fault::internal(format!(
            "embedding model '{model}' returned vectors that do not match its {texts} texts"
        )))
    }

    async fn store_vectors(
        &self,
        batch: Vec<VectorItem>,
        vectors: Vec<EmbeddingVector>,
    ) -> Result<(), Fault> {
        if let Some(vector) = vectors.iter().flatten().next() {
            self.dimension.store(vector.len(), Ordering::Relaxed);
        }
        let new = batch.into_iter().zip(vectors).map(|(item, vector)| NewVector { item, vector });
        self.store.put(&self.model(), new.collect()).await
    }
}

/// Returns true for faults that the next text would also cause.
fn stops_pass(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Unavailable | FaultKind::TimedOut | FaultKind::Denied | FaultKind::Exhausted)
}
