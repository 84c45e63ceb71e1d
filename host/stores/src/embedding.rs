//! Gives what is searched by meaning its vectors, in the background, whatever it is and whichever engine stores it.
//!
//! One task for each store. It sleeps until somebody says that there may be work, takes the items that wait in
//! batches, and stores each batch as it comes; what was done when a process dies stays done. A model that fails is
//! asked again after a pause that doubles. The task ends with the store.

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
    search::embedded::RECIPE,
};
use tokio::time::timeout;

use crate::worker::{PassOutcome, Worker};
use pass::{EmbeddingJob, checked};
pub(crate) use store::{NewVector, TextSource, VectorItem, VectorModel, VectorStore, WaitingItem};

/// How long the vector of a question may take: after that, words alone are the better answer.
const QUERY_TIMEOUT: Duration = Duration::from_secs(3);

/// Letters of a question that are embedded.
const MAX_QUERY_CHARS: usize = 2_000;

/// A model that gives the items of a store their vectors.
pub(crate) struct EmbeddingTask {
    task: Worker<EmbeddingJob>,
}

impl EmbeddingTask {
    pub(crate) fn new(
        embedder: Arc<dyn Embedder>,
        store: Arc<dyn VectorStore>,
        texts: Arc<dyn TextSource>,
    ) -> Self {
        // The recipe is part of the name: what is embedded decides a vector as much as the model does.
        let name = format!("{} recipe {RECIPE}", embedder.model());
        let dimension = AtomicUsize::new(0);
        Self { task: Worker::new(EmbeddingJob { embedder, name, store, texts, dimension }) }
    }

    /// Whose vectors these are.
    pub(crate) fn vectors(&self) -> VectorModel {
        self.task.job().model()
    }

    /// `provider/model`.
    pub(crate) fn model(&self) -> &str {
        self.task.job().embedder.model()
    }

    /// Why the model fails, where it does.
    pub(crate) fn failing(&self) -> Option<String> {
        self.task.failing()
    }

    /// The vector of a question.
    ///
    /// # Errors
    /// The model's own, and `timed-out` after three seconds.
    async fn query(&self, text: &str) -> Result<EmbeddingVector, Fault> {
        let text: String = text.chars().take(MAX_QUERY_CHARS).collect();
        let asked = self.task.job().embedder.embed(std::slice::from_ref(&text), EmbeddingPurpose::Query);
        let Ok(answer) = timeout(QUERY_TIMEOUT, asked).await else {
            let (model, seconds) = (self.model(), QUERY_TIMEOUT.as_secs());
            let message = format!("the embedding model '{model}' did not answer within {seconds} s");
            return Err(Fault::new(FaultKind::TimedOut, message));
        };
        let vector = checked(self.model(), answer?, 1)?.pop().flatten();
        if let Some(vector) = &vector
            && self.task.job().dimension.swap(vector.len(), Ordering::Relaxed) != vector.len()
        {
            // What is stored may have vectors of another dimension.
            self.wake();
        }
        Ok(vector)
    }

    /// The vector of a question; where there is none because the model failed, what to say of it.
    pub(crate) async fn embed_question(&self, text: &str) -> (Option<Vec<f32>>, Option<String>) {
        if text.trim().is_empty() {
            return (None, None);
        }
        match self.query(text).await {
            Ok(vector) => (vector, None),
            Err(fault) => {
                tracing::warn!("a question was answered by words alone: {}", fault.message);
                (None, Some(words_only_note(&fault.message)))
            }
        }
    }

    /// Says that items may wait. Costs nothing; starts the task where it does not run yet.
    pub(crate) fn wake(&self) {
        self.task.request_pass();
    }

    /// Waits until the items that are stored now have their vectors; false where they have not, because the model
    /// fails or it takes longer than this.
    pub(crate) async fn wait_for_vectors(&self, limit: Duration) -> bool {
        self.task.wait(limit).await == Some(Ok(PassOutcome::Complete))
    }

    /// Ends the task; what it has not done yet, whoever opens the store next makes up for.
    pub(crate) fn stop(&self) {
        self.task.stop();
    }
}

/// What a search says where meaning had no part in it.
pub(crate) fn words_only_note(why: &str) -> String {
    format!("Found by words alone: {}.", why.trim_end_matches('.'))
}
