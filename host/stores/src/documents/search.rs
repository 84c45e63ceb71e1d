//! Finding documents, whatever engine holds them: the question becomes a vector where meaning is asked for, the engine
//! brings candidates, and here they are put in order, judged and turned into hits.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::{
    outcome::Fault,
    ports::documents::{DocumentHit, DocumentSearchResult, LineRange, SearchMode},
    search::{
        FitScorer, MIN_CANDIDATE_POOL, NameMatch, NameQuery, RankedCandidate, SearchQuery, fuse,
        matching_candidates,
    },
};

use super::{
    DocumentLibrary,
    engine::{DocumentCandidate, DocumentCandidates, DocumentQuestion, FixedVectors, StoredFile},
    lines,
    prefix_queries::prefix_queries,
};
use crate::{embedding::words_only_note, engine::QueryVector};

/// The most documents that one search gives.
const MAX_RESULTS: usize = 1_000;

/// Hits of which the text is looked at, to say where the answer stands and how well it fits; the others are judged by
/// their beginnings.
const MAX_JUDGED_HITS: usize = 10;

/// Tokens that those hits have together at most.
const MAX_READ_TOKENS: u32 = 500_000;

/// Minimum score of a hit: the weakest one would be shown with the score 0.00.
const MIN_SCORE: f64 = 0.01;

/// Bytes of a question that count: what follows adds nothing that a search could use.
const MAX_QUESTION_BYTES: usize = 16 * 1024;

impl DocumentLibrary {
    /// Searches the repository of this exact name.
    pub(super) async fn find(
        &self,
        repository: String,
        text: &str,
        mode: SearchMode,
        limit: usize,
    ) -> Result<DocumentSearchResult, Fault> {
        let text = &text[..text.floor_char_boundary(MAX_QUESTION_BYTES)];
        let limit = limit.min(MAX_RESULTS);
        let (vector, mut notes) = match mode {
            SearchMode::Text => (None, Vec::new()),
            SearchMode::Semantic => self.vector(text).await?,
        };
        let mut question = Arc::new(DocumentQuestion {
            repository,
            query: SearchQuery::new(text),
            beginnings: Vec::new(),
            name: NameQuery::new(text),
            vector,
            limit,
            pool: limit.max(MIN_CANDIDATE_POOL),
        });
        let mut found = self.engine.candidates(&question).await?;
        if mode == SearchMode::Text && !found.answers_by_words() {
            let longer = DocumentQuestion::by_prefixes(&question);
            let by_beginnings = match &longer {
                Some(longer) => Some(self.engine.candidates(longer).await?),
                None => None,
            };
            if let (Some(longer), Some(by_beginnings)) = (longer, by_beginnings)
                && by_beginnings.answers_by_words()
            {
                notes.push(prefix_note(&found.unmatched_terms));
                found = DocumentCandidates { unmatched_terms: found.unmatched_terms, ..by_beginnings };
                question = longer;
            }
        }
        notes.extend(std::mem::take(&mut found.notes));
        if found.without_vector > 0
            && let Some(embedding) = &self.embedding
        {
            // Another process may have stored them.
            embedding.wake();
            notes.push(waiting_note(found.without_vector));
        }
        let mut facts: HashMap<String, DocumentCandidate> =
            found.candidates.into_iter().map(|found| (found.scored.key.clone(), found)).collect();
        let scored = facts.values().map(|found| found.scored.clone()).collect();
        let judge = Arc::new(FitScorer::new(text));
        let answers = |ranked: &RankedCandidate<String>| {
            let has_words = facts.get(&ranked.key).is_some_and(|found| found.scored.bm25 > 0.0);
            has_words || ranked.name != NameMatch::No || ranked.score >= MIN_SCORE
        };
        let ranked: Vec<_> =
            fuse(matching_candidates(scored)).into_iter().filter(answers).take(limit).collect();
        let mut hits = Vec::new();
        let mut left = MAX_READ_TOKENS;
        for ranked in ranked {
            let Some(found) = facts.remove(&ranked.key) else { continue };
            let DocumentCandidate { tokens, mut best, abstract_text, .. } = found;
            let mut passage = String::new();
            if hits.len() < MAX_JUDGED_HITS && tokens <= left {
                left -= tokens;
                let read = self.passage(&question.repository, &ranked.key, &judge).await?;
                if let Some((lines, text)) = read {
                    best = best.or(Some(lines));
                    passage = text;
                }
            }
            let texts = [ranked.key.as_str(), &abstract_text, &passage];
            let fit = judge.fit(ranked.name, ranked.cosine, &texts);
            hits.push(DocumentHit {
                path: ranked.key,
                score: ranked.score.max(MIN_SCORE),
                fit,
                tokens,
                best,
            });
        }
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        Ok(DocumentSearchResult { hits, unmatched_terms: found.unmatched_terms, note })
    }

    /// The place of a document where the words of the question stand closest together.
    async fn passage(
        &self,
        repository: &str,
        path: &str,
        judge: &Arc<FitScorer>,
    ) -> Result<Option<(LineRange, String)>, Fault> {
        let Some(StoredFile { text, .. }) = self.engine.file(repository, path).await? else {
            return Ok(None);
        };
        let judge = Arc::clone(judge);
        let read = tokio::task::spawn_blocking(move || {
            let found = judge.best_passage(&text)?;
            let lines = LineRange { first: found.first, last: found.last };
            Some((lines, lines::cut(&text, lines).to_owned()))
        });
        Ok(read.await.unwrap_or_default())
    }

    /// The question as a vector that the stored ones can be compared with; where there is none, what to say of it.
    async fn vector(&self, text: &str) -> Result<(Option<QueryVector>, Vec<String>), Fault> {
        let Some(embedding) = &self.embedding else {
            return Ok((None, vec![words_only_note("no embedding model is configured")]));
        };
        let (values, failed) = embedding.embed_question(text).await;
        let Some(values) = values else { return Ok((None, failed.into_iter().collect())) };
        if let Some(stored) = self.engine.fixed_vectors().await?
            && stored.dimension != values.len()
        {
            return Ok((None, vec![other_dimension(&stored, embedding.model(), values.len())]));
        }
        Ok((Some(QueryVector { model: embedding.vectors().name, values }), Vec::new()))
    }
}

impl DocumentQuestion {
    /// The same question, for words that begin with its words. `None` if they are too short for that.
    fn by_prefixes(&self) -> Option<Arc<Self>> {
        let beginnings = prefix_queries(&self.query);
        if beginnings.is_empty() {
            return None;
        }
        let (repository, query, name) = (self.repository.clone(), self.query.clone(), self.name.clone());
        Some(Arc::new(Self { repository, query, beginnings, name, vector: None, ..*self }))
    }
}

impl DocumentCandidates {
    /// True if a word of the question is in a document.
    fn answers_by_words(&self) -> bool {
        self.candidates.iter().any(|found| found.scored.bm25 > 0.0)
    }
}

/// Note of a search whose hits have longer words than the question.
fn prefix_note(words: &[String]) -> String {
    format!(
        "No document has the whole word {}; these have words that begin like it.",
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" or ")
    )
}

/// What a search says where documents have no vectors yet.
fn waiting_note(documents: usize) -> String {
    match documents {
        1 => "1 document has chunks without vectors yet and is found by its words alone as far as these go."
            .to_owned(),
        _ => format!(
            "{documents} documents have chunks without vectors yet and are found by their words alone as far as these go."
        ),
    }
}

/// What a search says where the model's vectors cannot be compared with the stored ones.
fn other_dimension(stored: &FixedVectors, model: &str, dimension: usize) -> String {
    let makers = stored.likely_models.join(" or ");
    let makers = if makers.is_empty() { String::new() } else { format!(", such as {makers} makes them") };
    words_only_note(&format!(
        "the stored vectors have {} dimensions{makers}, and those of '{model}' have {dimension}; configure the model \
         that made them",
        stored.dimension
    ))
}
