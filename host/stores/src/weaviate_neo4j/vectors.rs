//! The vectors of a batch of pages: those that were kept, and those that the model makes now.

use std::sync::Arc;

use gatehouse_core::{Fault, FaultKind, ports::embed::Vector, search::embedded_text};
use sha2::{Digest as _, Sha256};

use super::{
    embedding::Embedding,
    neo4j::{Kept, Neo4j},
};
use crate::wiki::record::Record;

/// What is known of a batch.
pub(super) struct Vectors {
    /// One for each page; none where the page has to wait for it.
    pub(super) of: Vec<Option<Vector>>,
    /// Whether the model can be asked for the next batch.
    pub(super) answers: bool,
    /// Why something has to wait.
    pub(super) why: Option<Fault>,
}

impl Vectors {
    /// Nothing can be had.
    pub(super) fn none(pages: usize) -> Self {
        Self { of: vec![None; pages], answers: false, why: None }
    }

    /// The vectors of this kind; what is made is kept.
    pub(super) async fn of(
        neo4j: &Arc<Neo4j>,
        embedding: &Embedding,
        space: &str,
        pages: &[(String, Record)],
    ) -> Result<Self, Fault> {
        let known = neo4j.vectors(space, pages.iter().map(|(key, _)| key)).await?;
        let mut all = Self { of: Vec::with_capacity(pages.len()), answers: true, why: None };
        let mut missing = Vec::new();
        for (place, (key, page)) in pages.iter().enumerate() {
            let text = embedded_text(&page.title, &page.overview, &page.domains, &page.content);
            let digest = digest(&text);
            let kept = known.get(key).filter(|kept| kept.digest == digest);
            all.of.push(kept.map(|kept| kept.vector.clone()));
            if kept.is_none() {
                missing.push((place, digest, text));
            }
        }
        let texts: Vec<String> = missing.iter().map(|(_, _, text)| text.clone()).collect();
        let made = match embedding.texts(texts, space).await {
            Ok(made) => made.into_iter().map(Some).collect(),
            Err(fault) if stops(fault.kind) => {
                (all.answers, all.why) = (false, Some(fault));
                return Ok(all);
            }
            // The model takes offence at some page; the others get their vectors all the same.
            Err(_) => all.one_by_one(embedding, space, &missing).await,
        };
        let mut fresh = Vec::new();
        for ((place, digest, _), vector) in missing.into_iter().zip(made) {
            if let Some(vector) = &vector {
                fresh.push((pages[place].0.clone(), Kept { digest, vector: vector.clone() }));
            }
            all.of[place] = vector;
        }
        neo4j.keep(space, fresh).await?;
        Ok(all)
    }

    async fn one_by_one(
        &mut self,
        embedding: &Embedding,
        space: &str,
        missing: &[(usize, String, String)],
    ) -> Vec<Option<Vector>> {
        let mut made = Vec::with_capacity(missing.len());
        for (_, _, text) in missing {
            let vector =
                if self.answers { embedding.texts(vec![text.clone()], space).await } else { Ok(vec![]) };
            match vector {
                Ok(mut vectors) => made.push(vectors.pop()),
                Err(fault) => {
                    self.answers = !stops(fault.kind);
                    self.why.get_or_insert(fault);
                    made.push(None);
                }
            }
        }
        made
    }
}

/// Faults that the next page would meet as well.
fn stops(kind: FaultKind) -> bool {
    matches!(kind, FaultKind::Unavailable | FaultKind::TimedOut | FaultKind::Denied | FaultKind::Exhausted)
}

fn digest(text: &str) -> String {
    Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect()
}
