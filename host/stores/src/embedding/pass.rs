//! One pass over the waiting items.

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
    /// Name of the model's earlier edition, as in [`Embedder::earlier_edition`].
    earlier: Option<String>,
    /// True if all items had a vector of the earlier edition, and some none of this one, when first asked.
    earlier_is_complete: OnceCell<bool>,
    /// True once a pass has given every item a vector.
    complete: AtomicBool,
}

#[async_trait]
impl WorkerJob for EmbeddingJob {
    /// Every change requests a pass, which must not reach a failing model each time.
    const KEEPS_PAUSE: bool = true;

    fn pauses(&self) -> (Duration, Duration) {
        PAUSES
    }

    async fn pass(&self) -> Result<PassOutcome, Fault> {
        // Decides which vectors searches use before the first new one is stored.
        self.searched_model().await;
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
        if first.is_ok() {
            self.complete.store(true, Ordering::Relaxed);
        }
        first
    }
}

impl EmbeddingJob {
    pub(super) fn new(
        embedder: Arc<dyn Embedder>,
        store: Arc<dyn VectorStore>,
        texts: Arc<dyn TextSource>,
    ) -> Self {
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
    pub(super) async fn searched_model(&self) -> &str {
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
            let model = VectorModel { name: name.to_owned(), dimension: None };
            self.store.waiting(&model, None, 1).await.map(|items| !items.is_empty())
        };
        let asked = self.earlier_is_complete.get_or_try_init(|| async {
            Ok::<_, Fault>(is_waiting(&self.name).await? && !is_waiting(earlier).await?)
        });
        // The search that follows reports the fault of a store that cannot be read.
        asked.await.is_ok_and(|earlier| *earlier)
    }

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
