//! Artifact search: embeds the question, gets candidates from the engine, and ranks them.

use std::{collections::HashMap, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::artifacts::ArtifactHit,
    search::{FitScorer, MIN_CANDIDATE_POOL, SearchQuery, fuse, matching_candidates},
};

use super::{
    ArtifactStore,
    engine::{ArtifactQuestion, OwnerScope},
    tables::ArtifactTables,
};
use crate::embedding::TextSource;

/// Longer questions are cut.
const MAX_QUESTION_BYTES: usize = 16 * 1024;

impl ArtifactStore {
    /// Returns the best artifacts. If vectors are unavailable, searches by words only and logs the reason.
    pub(super) async fn find(
        &self,
        scope: OwnerScope,
        text: &str,
        limit: usize,
    ) -> Result<Vec<ArtifactHit>, Fault> {
        let text = &text[..text.floor_char_boundary(MAX_QUESTION_BYTES)];
        let (vector, _) = self.embedding.embed_question(text).await;
        let (query, pool) = (SearchQuery::new(text), limit.max(MIN_CANDIDATE_POOL));
        let question = ArtifactQuestion { scope, query, vector, near: Vec::new(), limit, pool };
        #[cfg(feature = "chroma")]
        let question = self.with_chroma_results(question).await;
        let result = self.tables.candidates(question).await?;
        if let Some(reason) = result.words_only_reason {
            tracing::warn!("searched artifacts by words only: {reason}");
        }
        if result.without_vector > 0 {
            // Another process may have stored these artifacts.
            self.embedding.wake();
        }
        let (mut scored, mut artifacts) = (Vec::new(), HashMap::new());
        for candidate in result.candidates {
            artifacts.insert(candidate.artifact.id.clone(), (candidate.artifact, candidate.body));
            scored.push(candidate.scored);
        }
        let scorer = FitScorer::new(text);
        let hits = fuse(matching_candidates(scored)).into_iter().take(limit).filter_map(|ranked| {
            let (artifact, body) = artifacts.remove(&ranked.key)?;
            let tags = artifact.tags.join("\n");
            let names = [&artifact.tool, &artifact.source].into_iter().flatten().map(String::as_str);
            let texts: Vec<&str> = names.chain([&*tags, &*body]).collect();
            let fit = scorer.fit(ranked.name, ranked.cosine, &texts);
            Some(ArtifactHit { score: ranked.score, fit, artifact })
        });
        Ok(hits.collect())
    }

    /// Searches the vectors in ChromaDB, if it has them.
    #[cfg(feature = "chroma")]
    async fn with_chroma_results(&self, mut question: ArtifactQuestion) -> ArtifactQuestion {
        if let Some(chroma) = &self.chroma
            && let Err(fault) = chroma.find_nearest(&mut question).await
        {
            tracing::warn!("searched artifacts by words only: {}", fault.message);
            // ChromaDB may have lost its vectors.
            self.embedding.wake();
        }
        question
    }
}

/// Texts to embed, of summaries and subjects.
pub(super) struct SummaryTexts(pub(super) Arc<ArtifactTables>);

#[async_trait]
impl TextSource for SummaryTexts {
    async fn texts(&self, keys: &[String]) -> Result<Vec<Option<String>>, Fault> {
        self.0.texts_to_embed(keys).await
    }
}
