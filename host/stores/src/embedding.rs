//! Computes the vectors of searchable items in the background.
//!
//! Each store has one task. It sleeps until a caller reports work, embeds waiting items in batches and stores each
//! batch, so finished batches survive a crash. After a failure it retries with a pause that doubles.

mod pass;
mod store;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::{
        Embedder,
        embed::{EmbeddingPurpose, EmbeddingVector},
    },
    search::embedded::EMBEDDED_TEXT_VERSION,
};
use tokio::time::timeout;

use crate::worker::{PassOutcome, Worker};
use pass::{EmbeddingJob, checked};
pub(crate) use store::{NewVector, TextSource, VectorItem, VectorModel, VectorStore, WaitingItem};

/// After this, an answer by words only is better than a late answer.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

const MAX_QUERY_CHARS: usize = 2_000;

pub(crate) struct EmbeddingTask {
    task: Worker<EmbeddingJob>,
}

impl EmbeddingTask {
    pub(crate) fn new(
        embedder: Arc<dyn Embedder>,
        store: Arc<dyn VectorStore>,
        texts: Arc<dyn TextSource>,
    ) -> Self {
        // The embedded text determines a vector as much as the model does.
        let name = format!("{} recipe {EMBEDDED_TEXT_VERSION}", embedder.model());
        let dimension = AtomicUsize::new(0);
        Self { task: Worker::new(EmbeddingJob { embedder, name, store, texts, dimension }) }
    }

    pub(crate) fn vectors(&self) -> VectorModel {
        self.task.job().model()
    }

    pub(crate) fn model(&self) -> &str {
        self.task.job().embedder.model()
    }

    /// Returns the last failure of the model. `None` if it works.
    pub(crate) fn failing(&self) -> Option<String> {
        self.task.failing()
    }

    /// Embeds a question. Fails with `timed-out` after [`QUERY_TIMEOUT`].
    async fn query(&self, text: &str) -> Result<EmbeddingVector, Fault> {
        let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
        let asked = self.task.job().embedder.embed(std::slice::from_ref(&text), EmbeddingPurpose::Query);
        let Ok(answer) = timeout(QUERY_TIMEOUT, asked).await else {
            let (model, seconds) = (self.model(), QUERY_TIMEOUT.as_secs());
            let message = format!("embedding model '{model}' did not respond within {seconds} s");
            return Err(Fault::new(FaultKind::TimedOut, message));
        };
        let vector = checked(self.model(), answer?, 1)?.pop().flatten();
        if let Some(vector) = &vector
            && self.task.job().dimension.swap(vector.len(), Ordering::Relaxed) != vector.len()
        {
            // Stored vectors may have another dimension.
            self.wake();
        }
        Ok(vector)
    }

    /// Embeds a question. If the model fails, returns a note for the caller instead of a vector.
    pub(crate) async fn embed_question(&self, text: &str) -> (Option<Vec<f32>>, Option<String>) {
        if text.trim().is_empty() {
            return (None, None);
        }
        match self.query(text).await {
            Ok(vector) => (vector, None),
            Err(fault) => {
                tracing::warn!("searched by words only: {}", fault.message);
                (None, Some(words_only_note(&fault.message)))
            }
        }
    }

    /// Requests a pass over waiting items. Cheap enough to call after every write.
    pub(crate) fn wake(&self) {
        self.task.request_pass();
    }

    /// Waits until all stored items have vectors. Returns false on failure or timeout.
    pub(crate) async fn wait_for_vectors(&self, limit: Duration) -> bool {
        self.task.wait(limit).await == Some(Ok(PassOutcome::Complete))
    }

    /// Stops the task. The next process that opens the store embeds the rest.
    pub(crate) fn stop(&self) {
        self.task.stop();
    }
}

/// Returns the note of a search that did not use meaning.
pub(crate) fn words_only_note(why: &str) -> String {
    format!("Searched by words only: {}.", why.trim_end_matches('.'))
}
