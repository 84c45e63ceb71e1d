//! One pass over the waiting items.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
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
};
use tokio::time::timeout;

use super::{NewVector, TextSource, VectorModel, VectorStore, WaitingItem};
use crate::worker::{PassOutcome, WorkerJob};

const BATCH_SIZE: usize = 64;

/// Maximum time for one batch, in case the provider has no limit of its own.
const BATCH_TIMEOUT: Duration = Duration::from_secs(300);

const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(300));

pub(super) struct EmbeddingJob {
    pub(super) embedder: Arc<dyn Embedder>,
    pub(super) name: String,
    pub(super) store: Arc<dyn VectorStore>,
    pub(super) texts: Arc<dyn TextSource>,
    /// Dimension of the vectors. 0 if unknown.
    pub(super) dimension: AtomicUsize,
}

#[async_trait]
impl WorkerJob for EmbeddingJob {
    /// Every change requests a pass, which must not reach a failing model each time.
    const KEEPS_PAUSE: bool = true;

    fn pauses(&self) -> (Duration, Duration) {
        PAUSES
    }

    async fn pass(&self) -> Result<PassOutcome, Fault> {
        let (mut after, mut first) = (None, Ok(PassOutcome::Complete));
        loop {
            let batch = self.store.waiting(&self.model(), after.as_ref(), BATCH_SIZE).await?;
            let Some(last) = batch.last() else { break };
            after = Some(last.item.clone());
            if let Err(fault) = self.embed(batch).await {
                tracing::warn!(model = self.name, "cannot embed texts yet: {}", fault.message);
                if stops_pass(fault.kind) {
                    return Err(fault);
                }
                first = first.and(Err(fault));
            }
        }
        first
    }
}

impl EmbeddingJob {
    pub(super) fn model(&self) -> VectorModel {
        let dimension = Some(self.dimension.load(Ordering::Relaxed)).filter(|dimension| *dimension > 0);
        VectorModel { name: self.name.clone(), dimension }
    }

    /// Embeds items and stores their vectors. If the model rejects the batch, tries each text by itself.
    async fn embed(&self, batch: Vec<WaitingItem>) -> Result<(), Fault> {
        let keys: Vec<String> = batch.iter().map(|waiting| waiting.item.key.clone()).collect();
        let texts = self.texts.texts(&keys).await?;
        let there = batch.into_iter().zip(texts).filter_map(|(waiting, text)| Some((waiting, text?)));
        let (batch, texts): (Vec<_>, Vec<String>) = there.unzip();
        match self.vectors(&texts).await {
            Ok(vectors) => self.store_vectors(batch, vectors).await,
            Err(fault) if stops_pass(fault.kind) || batch.len() == 1 => Err(fault),
            Err(_) => {
                let mut first = Ok(());
                for (waiting, text) in batch.into_iter().zip(texts) {
                    let done = match self.vectors(std::slice::from_ref(&text)).await {
                        Ok(vectors) => self.store_vectors(vec![waiting], vectors).await,
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

    async fn vectors(&self, texts: &[String]) -> Result<Vec<EmbeddingVector>, Fault> {
        if texts.is_empty() {
            return Ok(Vec::new());
        }
        let model = self.embedder.model();
        match timeout(BATCH_TIMEOUT, self.embedder.embed(texts, EmbeddingPurpose::Document)).await {
            Ok(answer) => validate_vectors(model, answer?, texts.len()),
            Err(_) => Err(Fault::new(
                FaultKind::TimedOut,
                format!("embedding model '{model}' did not respond in time"),
            )),
        }
    }

    async fn store_vectors(
        &self,
        batch: Vec<WaitingItem>,
        vectors: Vec<EmbeddingVector>,
    ) -> Result<(), Fault> {
        if let Some(vector) = vectors.iter().flatten().next() {
            self.dimension.store(vector.len(), Ordering::Relaxed);
        }
        let new = |(WaitingItem { item, version }, vector)| NewVector { item, version, vector };
        let vectors = batch.into_iter().zip(vectors).map(new).collect();
        self.store.put(&self.model(), vectors).await
    }
}

/// Returns true for faults that the next text would also cause.
fn stops_pass(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Unavailable | FaultKind::TimedOut | FaultKind::Denied | FaultKind::Exhausted)
}

/// Validates the vectors from a model.
pub(super) fn validate_vectors(
    model: &str,
    vectors: Vec<EmbeddingVector>,
    texts: usize,
) -> Result<Vec<EmbeddingVector>, Fault> {
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
