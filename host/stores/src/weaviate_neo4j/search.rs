//! Finds candidate pages: by words and by name in Neo4j, by vector in Weaviate.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use gatehouse_core::{
    Fault, FaultKind,
    search::{NameMatch, ScoredCandidate, SearchQuery, script::ScriptRun},
};
use tokio::time::timeout;

use super::{
    ServerPair,
    neo4j::PageFilter,
    tokenizer::Tokenizer,
    vectors::{ComparedPages, recorded_name},
    weaviate::collection_name,
};
use crate::{
    embedding::words_only_note,
    engine::{PageCandidates, PageQuestion, QueryVector},
    worker::run_blocking,
};

/// Searches for one question, of which each but the last deletes the vectors of removed pages that it returned.
const MAX_SEARCHES: u32 = 3;

/// Time for each of the two rounds of vectors in a search. After this, an answer by words only is better than a late answer.
const MAX_VECTOR_WAIT: Duration = Duration::from_secs(3);

/// A word of the question and the index query that finds it.
struct SearchWord {
    text: String,
    query: String,
}

/// A collection, and the name under which Neo4j records its vectors.
struct SearchedCollection {
    name: String,
    recorded: String,
}

/// Pages near to a question, by key.
#[derive(Default)]
struct NearPages {
    cosines: BTreeMap<String, f32>,
    without_vector: usize,
    /// `None` if there are no vectors.
    collection: Option<SearchedCollection>,
    notes: Vec<String>,
}

impl ServerPair {
    pub(super) async fn candidates(
        &self,
        graph: &str,
        question: &PageQuestion,
    ) -> Result<PageCandidates, Fault> {
        let (words, terms) = query_words(question.query.clone()).await?;
        let (filter, pool) = (PageFilter::from_question(question), question.pool());
        let (mut by_words, by_name, mut near, unmatched) = tokio::try_join!(
            self.neo4j.by_words(&terms, &filter, pool),
            self.neo4j.name_matches(question, &filter),
            self.near_pages(graph, question.vector.as_ref(), &filter, pool),
            self.neo4j.unmatched(words.into_iter().map(|word| (word.text, word.query)).collect()),
        )?;
        let keys: BTreeSet<String> =
            by_words.keys().chain(near.cosines.keys()).chain(by_name.keys()).cloned().collect();
        let unknown = |is_known: &dyn Fn(&String) -> bool| -> Vec<String> {
            keys.iter().filter(|key| !is_known(key)).cloned().collect()
        };
        let no_words = unknown(&|key| by_words.contains_key(key));
        let no_vector = unknown(&|key| near.cosines.contains_key(key));
        let (limit, no_words) = (no_words.len(), PageFilter::keys(no_words));
        let (more_words, more_cosines) = tokio::join!(
            self.neo4j.by_words(&terms, &no_words, limit),
            self.cosines(near.collection.as_ref(), question.vector.as_ref(), &no_vector),
        );
        by_words.extend(more_words?);
        near.add(more_cosines);
        let scored = |key: String| ScoredCandidate {
            name: by_name.get(&key).copied().unwrap_or(NameMatch::No),
            bm25: by_words.get(&key).copied().unwrap_or_default(),
            cosine: near.cosines.get(&key).copied(),
            key,
        };
        Ok(PageCandidates {
            scored: keys.into_iter().map(scored).collect(),
            unmatched_terms: unmatched,
            without_vector: near.without_vector,
            notes: near.notes,
        })
    }

    /// Returns the nearest pages that pass the filter. If Weaviate fails, returns a note instead.
    async fn near_pages(
        &self,
        graph: &str,
        vector: Option<&QueryVector>,
        filter: &PageFilter,
        limit: usize,
    ) -> Result<NearPages, Fault> {
        let mut near = NearPages::default();
        let Some(QueryVector { model, values }) = vector else { return Ok(near) };
        let among = if filter.is_empty() { None } else { Some(self.neo4j.keys(filter).await?) };
        match self.in_time(self.nearest_of_all(graph, model, values, among.as_deref(), limit)).await {
            Ok(nearest) => near = nearest,
            Err(fault) => near.add(Err(fault)),
        }
        Ok(near)
    }

    /// Returns the nearest pages, of `among` if given, and the number of pages without a vector.
    async fn nearest_of_all(
        &self,
        graph: &str,
        model: &str,
        vector: &[f32],
        among: Option<&[String]>,
        limit: usize,
    ) -> Result<NearPages, Fault> {
        let mut near = NearPages::default();
        let facts = self.collection(graph, model, Some(vector.len())).await?;
        if let Some(facts) = &facts {
            self.check_once(graph, facts).await?;
        }
        let recorded = recorded_name(model, facts.as_ref());
        near.without_vector = self.neo4j.count_waiting(&recorded).await? as usize;
        if facts.is_some() {
            let collection = SearchedCollection { name: collection_name(graph, model), recorded };
            near.add(Ok(self.nearest(&collection, vector, among, limit).await?));
            near.collection = Some(collection);
        }
        Ok(near)
    }

    /// Returns the cosines of these pages, without those that have no current vector.
    async fn cosines(
        &self,
        collection: Option<&SearchedCollection>,
        vector: Option<&QueryVector>,
        keys: &[String],
    ) -> Result<Vec<(String, f32)>, Fault> {
        match (collection, vector) {
            (Some(collection), Some(vector)) if !keys.is_empty() => {
                self.in_time(self.nearest(collection, &vector.values, Some(keys), keys.len())).await
            }
            _ => Ok(Vec::new()),
        }
    }

    async fn in_time<T>(&self, search: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
        timeout(MAX_VECTOR_WAIT, search).await.unwrap_or_else(|_| {
            let (address, seconds) = (self.weaviate.address(), MAX_VECTOR_WAIT.as_secs());
            let cause = format!("knowledge engine 'weaviate' at {address}: no answer within {seconds} s");
            Err(Fault::new(FaultKind::TimedOut, cause))
        })
    }

    async fn nearest(
        &self,
        collection: &SearchedCollection,
        vector: &[f32],
        among: Option<&[String]>,
        limit: usize,
    ) -> Result<Vec<(String, f32)>, Fault> {
        let mut searches = 1;
        loop {
            let matches = self.weaviate.nearest(&collection.name, vector, among, limit).await?;
            let ComparedPages { current, removed } = self.compare(&collection.recorded, matches).await?;
            if removed.is_empty() || searches == MAX_SEARCHES {
                return Ok(current);
            }
            // Vectors of removed pages took the places of others.
            if let Err(fault) = self.weaviate.remove(&collection.name, &removed).await {
                tracing::warn!(%fault, "vectors of removed pages are still in Weaviate");
                return Ok(current);
            }
            searches += 1;
        }
    }
}

impl NearPages {
    fn add(&mut self, cosines: Result<Vec<(String, f32)>, Fault>) {
        match cosines {
            Ok(cosines) => self.cosines.extend(cosines),
            Err(fault) if self.notes.is_empty() => self.notes.push(words_only_note(&fault.message)),
            Err(_) => {}
        }
    }
}

/// Returns the words of a question and all its distinct search terms.
async fn query_words(query: SearchQuery) -> Result<(Vec<SearchWord>, Vec<String>), Fault> {
    let work = move || {
        let SearchQuery { words, joined, stretches } = query;
        let mut cut = Tokenizer::new()
            .and_then(|tokenizer| tokenizer.words(&[words.as_slice(), joined.as_slice()].concat()))
            .map_err(|error| Fault::internal(format!("cannot tokenize the question: {error}")))?;
        let mut terms: BTreeSet<String> = cut.split_off(words.len()).into_iter().flatten().collect();
        let mut found_by = Vec::new();
        for (text, own) in words.into_iter().zip(cut) {
            found_by.push(SearchWord { text, query: own.join(" ") });
            terms.extend(own);
        }
        for ScriptRun { text, pieces, any, .. } in stretches {
            let required = if any { "" } else { "+" };
            let query: Vec<String> = pieces.iter().map(|piece| format!("{required}{piece}")).collect();
            found_by.push(SearchWord { text, query: query.join(" ") });
            terms.extend(pieces);
        }
        Ok((found_by, terms.into_iter().collect()))
    };
    run_blocking(work).await
}
