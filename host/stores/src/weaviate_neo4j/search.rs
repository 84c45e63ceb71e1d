//! Finds candidate pages: by words and by vector in Weaviate, by name in Neo4j.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use gatehouse_core::{
    Fault,
    search::{NameMatch, ScoredCandidate, SearchQuery, script::ScriptRun},
};
use tokio::task::JoinSet;

use super::{
    neo4j::{Neo4jClient, State},
    space,
    weaviate::{MAIN, SearchFilter, VECTORS, WeaviateClient},
};
use crate::{
    embedding::VectorModel,
    engine::{PageCandidates, PageQuestion},
    weaviate_neo4j::tokenizer,
    worker::run_blocking,
};

const MAX_CONCURRENT: usize = 8;

pub(super) struct WeaviateSearch<'a> {
    pub(super) neo4j: &'a Arc<Neo4jClient>,
    pub(super) weaviate: &'a Arc<WeaviateClient>,
    pub(super) state: &'a State,
    pub(super) model: Option<&'a VectorModel>,
}

/// A word of the question and its search terms.
struct SearchWord {
    text: String,
    terms: Vec<String>,
    /// True if a page must contain all terms, not just one.
    all: bool,
}

impl WeaviateSearch<'_> {
    pub(super) async fn candidates(&self, question: &PageQuestion) -> Result<PageCandidates, Fault> {
        let (words, terms) = query_words(question.query.clone()).await?;
        let notes = match self.state.waiting {
            0 => Vec::new(),
            1 => {
                vec!["1 changed page is not in Weaviate yet; results may not reflect the change.".to_owned()]
            }
            n => vec![format!(
                "{n} changed pages are not in Weaviate yet; results may not reflect the changes."
            )],
        };
        Ok(PageCandidates {
            scored: match self.search_filter(question).await? {
                Some(narrowed) => self.score_candidates(question, &terms, &narrowed).await?,
                None => Vec::new(),
            },
            unmatched_terms: self.unmatched(words).await?,
            without_vector: match self.model {
                Some(model) => self.neo4j.without_vector(model).await? as usize,
                None => 0,
            },
            notes,
        })
    }

    /// Returns the filters. `None` if no page can pass them.
    async fn search_filter(&self, question: &PageQuestion) -> Result<Option<SearchFilter>, Fault> {
        let mut narrowed = SearchFilter { types: question.types.clone(), ..SearchFilter::default() };
        if !question.domains.is_empty() {
            narrowed.domains = self.neo4j.domains(Some(question.domains.clone())).await?;
            if narrowed.domains.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(narrowed))
    }

    /// Finds the best pages by words, vector and name. Pages found in only one way are looked up in the others for a
    /// complete score.
    async fn score_candidates(
        &self,
        question: &PageQuestion,
        terms: &[String],
        narrowed: &SearchFilter,
    ) -> Result<Vec<ScoredCandidate<String>>, Fault> {
        let pool = question.pool();
        let (by_words, by_vector, by_name) = tokio::try_join!(
            self.by_words(terms, narrowed, pool),
            self.by_vector(question, narrowed, pool),
            self.neo4j.name_matches(question),
        )?;
        let (mut by_words, mut by_vector): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (by_words.into_iter().collect(), by_vector.into_iter().collect());
        let keys: BTreeSet<String> =
            by_words.keys().chain(by_vector.keys()).chain(by_name.keys()).cloned().collect();
        let without = |scores: &BTreeMap<String, f64>| {
            let keys: Vec<String> = keys.iter().filter(|key| !scores.contains_key(*key)).cloned().collect();
            SearchFilter { keys, ..SearchFilter::default() }
        };
        let (no_words, no_vector) = (without(&by_words), without(&by_vector));
        let (words, vector) = tokio::try_join!(
            self.by_words(if no_words.keys.is_empty() { &[] } else { terms }, &no_words, no_words.keys.len()),
            self.by_vector(question, &no_vector, no_vector.keys.len()),
        )?;
        by_words.extend(words);
        by_vector.extend(vector);
        let scored = |key: String| ScoredCandidate {
            name: by_name.get(&key).copied().unwrap_or(NameMatch::No),
            bm25: by_words.get(&key).copied().unwrap_or_default(),
            cosine: by_vector.get(&key).map(|cosine| *cosine as f32),
            key,
        };
        Ok(keys.into_iter().map(scored).collect())
    }

    async fn by_words(
        &self,
        terms: &[String],
        narrowed: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        self.weaviate.by_words(MAIN, terms, narrowed, limit).await
    }

    async fn by_vector(
        &self,
        question: &PageQuestion,
        narrowed: &SearchFilter,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        match &question.vector {
            Some(vector) if limit > 0 && self.model.and_then(space) == self.state.space => {
                self.weaviate.by_vector(VECTORS, &vector.values, narrowed, limit).await
            }
            _ => Ok(Vec::new()),
        }
    }

    async fn unmatched(&self, words: Vec<SearchWord>) -> Result<Vec<String>, Fault> {
        let mut unmatched = BTreeMap::new();
        let mut tasks = JoinSet::new();
        let mut words = words.into_iter().enumerate();
        loop {
            let next = if tasks.len() < MAX_CONCURRENT { words.next() } else { None };
            if let Some((place, SearchWord { text, terms, all })) = next {
                let weaviate = Arc::clone(self.weaviate);
                tasks.spawn(async move {
                    let holds = !terms.is_empty() && weaviate.contains_words(MAIN, &terms, all).await?;
                    Ok((!holds).then_some((place, text)))
                });
                continue;
            }
            match tasks.join_next().await {
                None => return Ok(unmatched.into_values().collect()),
                Some(Ok(answer)) => unmatched.extend(answer?),
                Some(Err(_)) => {
                    return Err(Fault::internal("the task that queries Weaviate failed"));
                }
            }
        }
    }
}

/// Returns the words of a question and all its distinct search terms.
async fn query_words(query: SearchQuery) -> Result<(Vec<SearchWord>, Vec<String>), Fault> {
    let work = move || {
        let SearchQuery { words, joined, stretches } = query;
        let mut cut = tokenizer::tokenize(&[words.as_slice(), joined.as_slice()].concat())
            .map_err(|error| Fault::internal(format!("cannot tokenize the question: {error}")))?;
        let joined = cut.split_off(words.len());
        let words = words.into_iter().zip(cut).map(|(text, terms)| SearchWord { text, terms, all: false });
        let stretches = stretches.into_iter().map(|ScriptRun { text, pieces, any, .. }| SearchWord {
            text,
            terms: pieces,
            all: !any,
        });
        let words: Vec<SearchWord> = words.chain(stretches).collect();
        let mut seen = BTreeSet::new();
        let terms = words.iter().flat_map(|word| &word.terms).chain(joined.iter().flatten());
        let terms = terms.filter(|term| seen.insert((*term).clone())).cloned().collect();
        Ok((words, terms))
    };
    run_blocking(work).await
}
