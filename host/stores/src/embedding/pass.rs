//! One pass over the pages that wait.

use std::{sync::atomic::Ordering, time::Duration};

use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::embed::{EmbedFor, Vector},
    search::embedded::embedded_text,
};
use tokio::time::timeout;

use super::{Made, Shared, Waiting};

/// Pages that are embedded and stored together.
const BATCH: usize = 64;

/// How long one batch may take. Providers have limits of their own; this one is for those that forgot.
const BATCH_TIME: Duration = Duration::from_secs(300);

impl Shared {
    pub(super) fn dimension(&self) -> Option<usize> {
        Some(self.dimension.load(Ordering::Relaxed)).filter(|dimension| *dimension > 0)
    }

    /// Goes over all pages that wait, once.
    pub(super) async fn pass(&self) -> Result<(), Fault> {
        let (mut after, mut first) = (i64::MIN, Ok(()));
        loop {
            let batch = self.store.waiting(&self.name, self.dimension(), after, BATCH).await?;
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
            Ok(made) => self.keep(pages, made).await,
            Err(fault) if stops(fault.kind) || pages.len() == 1 => Err(fault),
            Err(_) => {
                let mut first = Ok(());
                for (page, text) in pages.into_iter().zip(texts) {
                    let done = match self.vectors(std::slice::from_ref(&text)).await {
                        Ok(made) => self.keep(vec![page], made).await,
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

    async fn keep(&self, pages: Vec<Waiting>, vectors: Vec<Vector>) -> Result<(), Fault> {
        if let Some(vector) = vectors.iter().flatten().next() {
            self.dimension.store(vector.len(), Ordering::Relaxed);
        }
        let made = pages.into_iter().zip(vectors);
        let made: Vec<Made> =
            made.map(|(page, vector)| Made { page: page.page, hash: page.hash, vector }).collect();
        self.store.store(&self.name, made).await
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
pub(super) fn checked(model: &str, vectors: Vec<Vector>, texts: usize) -> Result<Vec<Vector>, Fault> {
    let mut lengths = vectors.iter().flatten().map(Vec::len);
    let dimension = lengths.next().unwrap_or(1);
    let numbers = vectors.iter().flatten().flatten().all(|value| value.is_finite());
    if vectors.len() == texts && dimension > 0 && numbers && lengths.all(|length| length == dimension) {
        return Ok(vectors);
    }
    Err(Fault::internal(format!("the embedding model '{model}' gave no vectors that fit its {texts} texts")))
}
