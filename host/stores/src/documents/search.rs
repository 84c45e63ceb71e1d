//! Document search: embeds the question, gets candidates from the engine, and ranks them.

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
};

use crate::{
    embedding::words_only_note,
    engine::{PrefixQuery, QueryVector},
};

const MAX_RESULTS: usize = 1_000;

/// Number of hits whose text is read, to locate the answer and rate the hit.
const MAX_READ_HITS: usize = 10;

/// Maximum total tokens of these texts.
const MAX_READ_TOKENS: u32 = 500_000;

/// Minimum score of a hit. Lower ones would be shown as 0.00.
const MIN_SCORE: f64 = 0.01;

/// Longer questions are cut.
const MAX_QUESTION_BYTES: usize = 16 * 1024;

impl DocumentLibrary {
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
            text: text.to_owned(),
            prefixes: Vec::new(),
            name: NameQuery::new(text),
            vector,
            limit,
            pool: limit.max(MIN_CANDIDATE_POOL),
        });
        let mut result = self.engine.get().await?.candidates(&question).await?;
        if mode == SearchMode::Text && !result.answers_by_words() {
            let prefix_question = DocumentQuestion::by_prefixes(&question);
            let by_prefixes = match &prefix_question {
                Some(prefix_question) => Some(self.engine.get().await?.candidates(prefix_question).await?),
                None => None,
            };
            if let (Some(prefix_question), Some(by_prefixes)) = (prefix_question, by_prefixes)
                && by_prefixes.answers_by_words()
            {
                notes.push(prefix_note(&result.unmatched_terms));
                result = DocumentCandidates { unmatched_terms: result.unmatched_terms, ..by_prefixes };
                question = prefix_question;
            }
        }
        notes.extend(std::mem::take(&mut result.notes));
        if result.without_vector > 0 && self.embedding.configured_model().is_some() {
            // Another process may have stored these documents.
            self.embedding.wake();
            notes.push(waiting_note(result.without_vector));
        }
        let mut candidates: HashMap<String, DocumentCandidate> = result
            .candidates
            .into_iter()
            .map(|candidate| (candidate.scored.key.clone(), candidate))
            .collect();
        let scored = candidates.values().map(|candidate| candidate.scored.clone()).collect();
        let scorer = Arc::new(FitScorer::new(text));
        let answers = |ranked: &RankedCandidate<String>| {
            let has_words = candidates.get(&ranked.key).is_some_and(|candidate| candidate.scored.bm25 > 0.0);
            has_words || ranked.name != NameMatch::No || ranked.score >= MIN_SCORE
        };
        let ranked: Vec<_> =
            fuse(matching_candidates(scored)).into_iter().filter(answers).take(limit).collect();
        let mut hits = Vec::new();
        let mut remaining_tokens = MAX_READ_TOKENS;
        for ranked in ranked {
            let Some(candidate) = candidates.remove(&ranked.key) else { continue };
            let DocumentCandidate { tokens, mut best, abstract_text, .. } = candidate;
            let mut passage = String::new();
            if hits.len() < MAX_READ_HITS && tokens <= remaining_tokens {
                remaining_tokens -= tokens;
                let read = self.passage(&question.repository, &ranked.key, &scorer).await?;
                if let Some((lines, text)) = read {
                    best = best.or(Some(lines));
                    passage = text;
                }
            }
            let texts = [ranked.key.as_str(), &abstract_text, &passage];
            let fit = scorer.fit(ranked.name, ranked.cosine, &texts);
            hits.push(DocumentHit {
                path: ranked.key,
                score: ranked.score.max(MIN_SCORE),
                fit,
                tokens,
                best,
            });
        }
        let note = (!notes.is_empty()).then(|| notes.join(" "));
        Ok(DocumentSearchResult { hits, unmatched_terms: result.unmatched_terms, note })
    }

    /// Returns the passage in which the words of the question are closest together.
    async fn passage(
        &self,
        repository: &str,
        path: &str,
        scorer: &Arc<FitScorer>,
    ) -> Result<Option<(LineRange, String)>, Fault> {
        let Some(StoredFile { text, .. }) = self.engine.get().await?.file(repository, path).await? else {
            return Ok(None);
        };
        let scorer = Arc::clone(scorer);
        let read = tokio::task::spawn_blocking(move || {
            let passage = scorer.best_passage(&text)?;
            let lines = LineRange { first: passage.first, last: passage.last };
            Some((lines, lines::cut(&text, lines).to_owned()))
        });
        Ok(read.await.unwrap_or_default())
    }

    /// Embeds the question. Without a vector that fits the stored ones, returns notes with the reason.
    async fn vector(&self, text: &str) -> Result<(Option<QueryVector>, Vec<String>), Fault> {
        let Some(model) = self.embedding.configured_model() else {
            return Ok((None, vec![words_only_note("no embedding model is configured")]));
        };
        let (vector, failed) = self.embedding.embed_question(text).await;
        let Some(vector) = vector else { return Ok((None, failed.into_iter().collect())) };
        let dimension = vector.values.len();
        if let Some(stored) = self.engine.get().await?.fixed_vectors().await?
            && stored.dimension != dimension
        {
            return Ok((None, vec![other_dimension(&stored, model, dimension)]));
        }
        Ok((Some(vector), Vec::new()))
    }
}

impl DocumentQuestion {
    /// Returns the same question as prefix queries. `None` if all its words are too short.
    fn by_prefixes(&self) -> Option<Arc<Self>> {
        let prefixes = prefix_queries(&self.query);
        if prefixes.is_empty() {
            return None;
        }
        let (repository, text) = (self.repository.clone(), self.text.clone());
        let (query, name) = (self.query.clone(), self.name.clone());
        Some(Arc::new(Self { repository, query, text, prefixes, name, vector: None, ..*self }))
    }
}

impl DocumentCandidates {
    fn answers_by_words(&self) -> bool {
        self.candidates.iter().any(|candidate| candidate.scored.bm25 > 0.0)
    }
}

/// Returns the note about hits that contain longer words than the question.
fn prefix_note(words: &[String]) -> String {
    format!(
        "No document contains the whole word {}; these contain words that start with it.",
        words.iter().map(|word| format!("'{word}'")).collect::<Vec<_>>().join(" or ")
    )
}

fn waiting_note(documents: usize) -> String {
    match documents {
        1 => "1 document has chunks without vectors yet, which are searched by words only.".to_owned(),
        _ => format!(
            "{documents} documents have chunks without vectors yet, which are searched by words only."
        ),
    }
}

/// Returns the note about a model that does not fit the stored vectors.
fn other_dimension(stored: &FixedVectors, model: &str, dimension: usize) -> String {
    let makers = stored.likely_models.join(" or ");
    let makers = if makers.is_empty() { String::new() } else { format!(" (as produced by {makers})") };
    words_only_note(&format!(
        "the stored vectors have {} dimensions{makers}, but '{model}' produces {dimension}; configure the model that \
        produced them",
        stored.dimension
    ))
}

/// Shorter prefixes match too many words.
const MIN_LETTERS: usize = 3;

/// Endings that complete a prefix longer than the stem.
const ENDINGS: [&str; 8] = ["e", "ed", "es", "ing", "ion", "er", "s", "ss"];

/// Returns the prefix queries of a question, for documents that contain none of its whole words, in lowercase letters
/// and digits.
fn prefix_queries(query: &SearchQuery) -> Vec<PrefixQuery> {
    query.words.iter().chain(&query.joined).filter_map(|word| prefix_query(word)).collect()
}

fn prefix_query(word: &str) -> Option<PrefixQuery> {
    let word: String = word.chars().flat_map(char::to_lowercase).filter(|c| c.is_alphanumeric()).collect();
    if word.chars().count() < MIN_LETTERS {
        return None;
    }
    // Stemmers change or drop these two letters.
    let shorter = word.strip_suffix(['y', 'e']).filter(|shorter| shorter.chars().count() >= MIN_LETTERS);
    let prefix = shorter.unwrap_or(&word).to_owned();
    let words = ENDINGS.iter().map(|ending| format!("{word}{ending}")).collect();
    Some(PrefixQuery { prefix, words })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_queried_by_its_stemmed_form() {
        let of = |text: &str| prefix_queries(&SearchQuery::new(text));
        assert_eq!(of("Encry")[0].prefix, "encr");
        assert_eq!(of("benchm")[0].prefix, "benchm");
        assert!(of("configurat")[0].words.contains(&"configuration".to_owned()));
        assert_eq!(of("be"), []);
        for form in of("it's \"x*y\" NEAR(abc) gpt-4o").iter().flat_map(|b| b.words.iter().chain([&b.prefix]))
        {
            assert!(form.chars().all(char::is_alphanumeric), "{form}");
        }
    }
}
