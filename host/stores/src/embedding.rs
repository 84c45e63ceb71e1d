//! Computes the vectors of searchable items in the background.
//!
//! Each store has one task. It sleeps until a caller reports work, embeds waiting items in batches and stores each
//! batch, so finished batches survive a crash. After a failure it retries with a pause that doubles.

mod pass;

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::{
        Embedder,
        embed::{EmbeddingPurpose, EmbeddingVector},
    },
};
use tokio::time::timeout;

use crate::{
    engine::{EmbeddingHealth, QueryVector},
    worker::{PassOutcome, Worker},
};
use pass::{EmbeddingJob, validate_vectors};

/// After this, an answer by words only is better than a late answer.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

const MAX_QUERY_CHARS: usize = 2_000;

/// Key of an item in a corpus, which is one kind of searchable text, such as wiki pages.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct VectorItem {
    pub(crate) corpus: String,
    /// Unique within the corpus.
    pub(crate) key: String,
}

/// An item without a vector of the current model.
#[derive(Debug, Clone)]
pub(crate) struct WaitingItem {
    pub(crate) item: VectorItem,
    /// Identifies the item's text.
    pub(crate) version: String,
}

#[derive(Debug, Clone)]
pub(crate) struct NewVector {
    pub(crate) item: VectorItem,
    /// Identifies the embedded text. The vector is dropped if the item has another version by now.
    pub(crate) version: String,
    /// `None` if the model returned no vector for the text.
    pub(crate) vector: Option<Vec<f32>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorModel {
    pub(crate) name: String,
    /// `None` if not yet known.
    pub(crate) dimension: Option<usize>,
}

#[async_trait]
pub(crate) trait VectorStore: Send + Sync {
    /// Returns up to `limit` items after `after` that have no vector of this model or one of another dimension. All
    /// items are of the corpus that the store's text source reads.
    async fn waiting(
        &self,
        model: &VectorModel,
        after: Option<&VectorItem>,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault>;

    /// Stores vectors of items whose version is unchanged.
    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault>;
}

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

    /// Returns the progress, given the number of items without a vector and the reason that the engine cannot store
    /// vectors. `None` without an embedder.
    pub(crate) fn health(&self, waiting: u32, vector_error: Option<String>) -> Option<EmbeddingHealth> {
        let worker = self.worker.as_ref()?;
        let model = worker.job().embedder.model().to_owned();
        Some(EmbeddingHealth { model, waiting, failing: vector_error.or_else(|| worker.failing()) })
    }

    /// Embeds a question. If the model fails, returns a note for the caller instead of a vector.
    pub(crate) async fn embed_question(&self, text: &str) -> (Option<QueryVector>, Option<String>) {
        let Some(worker) = &self.worker else { return (None, None) };
        if text.trim().is_empty() {
            return (None, None);
        }
        match query(worker, text).await {
            Ok(values) => {
                let model = worker.job().searched_model().await.to_owned();
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
            Some(worker) => worker.wait(limit).await == Some(Ok(PassOutcome::Complete)),
            None => true,
        }
    }

    /// Stops the task. The next process that opens the store embeds the rest.
    pub(crate) fn stop(&self) {
        if let Some(worker) = &self.worker {
            worker.stop();
        }
    }
}

/// Embeds a question. Fails with `timed-out` after [`QUERY_TIMEOUT`].
async fn query(worker: &Worker<EmbeddingJob>, text: &str) -> Result<EmbeddingVector, Fault> {
    let EmbeddingJob { embedder, dimension, .. } = worker.job();
    let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
    let embed = embedder.embed(std::slice::from_ref(&text), EmbeddingPurpose::Query);
    let Ok(answer) = timeout(QUERY_TIMEOUT, embed).await else {
        let (model, seconds) = (embedder.model(), QUERY_TIMEOUT.as_secs());
        let message = format!("embedding model '{model}' did not respond within {seconds} s");
        return Err(Fault::new(FaultKind::TimedOut, message));
    };
    let vector = validate_vectors(embedder.model(), answer?, 1)?.pop().flatten();
    if let Some(vector) = &vector
        && dimension.swap(vector.len(), Ordering::Relaxed) != vector.len()
    {
        // Stored vectors may have another dimension.
        worker.request_pass();
    }
    Ok(vector)
}

/// Returns the note of a search that did not use meaning.
pub(crate) fn words_only_note(why: &str) -> String {
    format!("Searched by words only: {}.", why.trim_end_matches('.'))
}
