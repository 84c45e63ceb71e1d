//! Finds pages: candidates by words and by meaning from Weaviate, by name from Neo4j; their order by the house's
//! one way of fusing; the pages themselves from Neo4j, which knows whether they still exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use gatehouse_core::{
    Fault,
    page::{Filters, Hit, SearchResult},
    search::{Judge, NameQuery, Named, POOL, Query, Ranked, Scored, answering, fuse, script::Stretch},
};
use tokio::task::JoinSet;

use super::{
    embedding::Embedding,
    neo4j::{Neo4j, Stage, State},
    weaviate::{Collection, MAIN, STAND_IN, Weaviate, Where},
    words,
};
use crate::embedding::{waiting_note, words_alone};

/// Questions to Weaviate about single words at the same time.
const AT_ONCE: usize = 8;

/// Keys looked up beyond those that are wanted: pages that were removed and that Weaviate still has.
const SPARE: usize = 16;

/// What a search works with.
pub(super) struct Search<'a> {
    pub(super) neo4j: &'a Arc<Neo4j>,
    pub(super) weaviate: &'a Arc<Weaviate>,
    pub(super) embedding: &'a Embedding,
    pub(super) state: &'a State,
}

/// A word of the question, as it was written and as pages are found by it.
struct Word {
    text: String,
    terms: Vec<String>,
    /// Whether a page that holds it holds all of these, and not only any.
    all: bool,
}

/// What was found, and whether the model makes other vectors than those that are there.
pub(super) struct Outcome {
    pub(super) result: SearchResult,
    pub(super) other_space: bool,
}

/// The question's vector, or why there is none.
enum Meaning {
    /// To be compared with those of the pages.
    Vector(Vec<f32>),
    /// The model has nothing to say, or there is none.
    None,
    /// The pages' vectors are of another kind.
    OtherSpace,
    /// The model failed, so.
    Failed(String),
}

impl Search<'_> {
    pub(super) async fn run(&self, text: &str, filters: &Filters, limit: usize) -> Result<Outcome, Fault> {
        let query = Query::of(text);
        let (words, terms) = cut(query).await?;
        let meaning = self.meaning(text).await;
        let hits = match self.narrowed(filters).await? {
            Some(narrowed) => self.hits(text, &terms, &meaning, (filters, &narrowed), limit).await?,
            None => Vec::new(),
        };
        let unmatched_terms = self.unmatched(words).await?;
        let note = self.note(&meaning);
        let result = SearchResult { hits, unmatched_terms, note, ..SearchResult::default() };
        Ok(Outcome { result, other_space: matches!(meaning, Meaning::OtherSpace) })
    }

    async fn hits(
        &self,
        text: &str,
        terms: &[String],
        meaning: &Meaning,
        narrowed: (&Filters, &Where),
        limit: usize,
    ) -> Result<Vec<Hit>, Fault> {
        let vector = if let Meaning::Vector(vector) = meaning { Some(vector.as_slice()) } else { None };
        let candidates = self.candidates(text, terms, vector, narrowed, limit.max(POOL)).await?;
        let least = narrowed.0.min_score.unwrap_or(0.0);
        let ranked = fuse(answering(candidates)).into_iter().filter(|ranked| ranked.score >= least);
        let ranked: Vec<_> = ranked.take(limit.saturating_add(SPARE)).collect();
        if ranked.is_empty() {
            return Ok(Vec::new());
        }
        let mut pages = self.neo4j.pages(ranked.iter().map(|ranked| ranked.key.clone()).collect()).await?;
        let judge = Judge::of(text);
        let hit = |Ranked { key, score, name, cosine }| {
            let page = pages.remove(&key)?;
            Some(Hit { fit: judge.fit(name, cosine, &page), page, score })
        };
        Ok(ranked.into_iter().filter_map(hit).take(limit).collect())
    }

    /// What the caller should know of how this was found.
    fn note(&self, meaning: &Meaning) -> Option<String> {
        let mut notes = Vec::new();
        match meaning {
            Meaning::Failed(why) => notes.push(words_alone(why)),
            Meaning::OtherSpace => notes.push(waiting_note(self.state.pages as usize)),
            Meaning::Vector(_) | Meaning::None => {}
        }
        let State { waiting, queued, .. } = self.state;
        if *waiting > 0 {
            notes.push(match waiting {
                1 => "1 changed page is not in Weaviate yet; this search did not see it as it is.".to_owned(),
                _ => format!("{waiting} changed pages are not in Weaviate yet; this search did not see them as they are."),
            });
        }
        if matches!(meaning, Meaning::Vector(_)) && queued > waiting {
            notes.push(waiting_note((queued - waiting) as usize));
        }
        (!notes.is_empty()).then(|| notes.join(" "))
    }

    /// The collection that serves.
    fn collection(&self) -> Collection {
        match self.state.stage {
            Stage::Steady | Stage::Copy => MAIN,
            Stage::Swap | Stage::Fill => STAND_IN,
        }
    }

    /// The question's vector, where the collection's are of the same kind.
    async fn meaning(&self, text: &str) -> Meaning {
        if text.trim().is_empty() {
            return Meaning::None;
        }
        match self.embedding.question(text).await {
            Ok(None) => Meaning::None,
            Ok(Some((vector, space))) => {
                let same = self.state.space.as_ref() == Some(&space) && self.state.stage == Stage::Steady;
                if same { Meaning::Vector(vector) } else { Meaning::OtherSpace }
            }
            Err(fault) => {
                tracing::warn!(%fault, "a question was answered by words alone");
                Meaning::Failed(fault.message)
            }
        }
    }

    /// The filters; none where no page can pass them.
    async fn narrowed(&self, filters: &Filters) -> Result<Option<Where>, Fault> {
        let mut narrowed = Where { types: filters.page_types.clone(), ..Where::default() };
        if !filters.domains.is_empty() {
            narrowed.domains = self.neo4j.domains(Some(filters.domains.clone())).await?;
            if narrowed.domains.is_empty() {
                return Ok(None);
            }
        }
        Ok(Some(narrowed))
    }

    /// The best by words, by meaning and by name, each with all that is known of it: a page that is among the best
    /// in one way only is looked up in the other.
    async fn candidates(
        &self,
        text: &str,
        terms: &[String],
        vector: Option<&[f32]>,
        (filters, narrowed): (&Filters, &Where),
        pool: usize,
    ) -> Result<Vec<Scored<String>>, Fault> {
        let name = NameQuery::of(text);
        let (by_words, by_meaning, by_name) = tokio::try_join!(
            self.by_words(terms, narrowed, pool),
            self.by_meaning(vector, narrowed, pool),
            self.neo4j.called(&name, filters),
        )?;
        let (mut by_words, mut by_meaning): (BTreeMap<_, _>, BTreeMap<_, _>) =
            (by_words.into_iter().collect(), by_meaning.into_iter().collect());
        let keys: BTreeSet<&String> =
            by_words.keys().chain(by_meaning.keys()).chain(by_name.keys()).collect();
        let without = |known: &BTreeMap<String, f64>| -> Vec<String> {
            keys.iter().filter(|key| !known.contains_key(**key)).map(|key| (*key).clone()).collect()
        };
        let (no_words, no_meaning) = (without(&by_words), without(&by_meaning));
        let keys: Vec<String> = keys.into_iter().cloned().collect();
        let terms = if no_words.is_empty() { &[] } else { terms };
        let vector = vector.filter(|_| !no_meaning.is_empty());
        let only = |keys: Vec<String>| (keys.len(), Where { keys, ..Where::default() });
        let ((no_words, these), (no_meaning, those)) = (only(no_words), only(no_meaning));
        let (words, meaning) = tokio::try_join!(
            self.by_words(terms, &these, no_words),
            self.by_meaning(vector, &those, no_meaning),
        )?;
        by_words.extend(words);
        by_meaning.extend(meaning);
        let scored = |key: String| Scored {
            name: by_name.get(&key).copied().unwrap_or(Named::No),
            bm25: by_words.get(&key).copied().unwrap_or_default(),
            cosine: by_meaning.get(&key).map(|cosine| *cosine as f32),
            key,
        };
        Ok(keys.into_iter().map(scored).collect())
    }

    async fn by_words(
        &self,
        terms: &[String],
        narrowed: &Where,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        if terms.is_empty() {
            return Ok(Vec::new());
        }
        self.weaviate.by_words(self.collection(), terms, narrowed, limit).await
    }

    async fn by_meaning(
        &self,
        vector: Option<&[f32]>,
        narrowed: &Where,
        limit: usize,
    ) -> Result<Vec<(String, f64)>, Fault> {
        let Some(vector) = vector else { return Ok(Vec::new()) };
        self.weaviate.by_meaning(self.collection(), vector, narrowed, limit).await
    }

    /// The words that no page holds.
    async fn unmatched(&self, words: Vec<Word>) -> Result<Vec<String>, Fault> {
        let mut unmatched = BTreeMap::new();
        let mut asked = JoinSet::new();
        let mut words = words.into_iter().enumerate();
        loop {
            let next = if asked.len() < AT_ONCE { words.next() } else { None };
            if let Some((place, Word { text, terms, all })) = next {
                let (weaviate, collection) = (Arc::clone(self.weaviate), self.collection());
                asked.spawn(async move {
                    let holds = !terms.is_empty() && weaviate.holds(collection, &terms, all).await?;
                    Ok((!holds).then_some((place, text)))
                });
                continue;
            }
            match asked.join_next().await {
                None => return Ok(unmatched.into_values().collect()),
                Some(Ok(answer)) => unmatched.extend(answer?),
                Some(Err(_)) => {
                    return Err(Fault::internal("a question to Weaviate ended without an answer"));
                }
            }
        }
    }
}

/// The words of a question, and everything that pages are looked for by, each once.
async fn cut(query: Query) -> Result<(Vec<Word>, Vec<String>), Fault> {
    let work = move || {
        let Query { words, joined, stretches } = query;
        let mut cut = words::cut(&[words.as_slice(), joined.as_slice()].concat())?;
        let joined = cut.split_off(words.len());
        let words = words.into_iter().zip(cut).map(|(text, terms)| Word { text, terms, all: false });
        let stretches = stretches.into_iter().map(|Stretch { text, pieces, any, .. }| Word {
            text,
            terms: pieces,
            all: !any,
        });
        let words: Vec<Word> = words.chain(stretches).collect();
        let mut seen = BTreeSet::new();
        let terms = words.iter().flat_map(|word| &word.terms).chain(joined.iter().flatten());
        let terms = terms.filter(|term| seen.insert((*term).clone())).cloned().collect();
        Ok::<_, rusqlite::Error>((words, terms))
    };
    let cut = tokio::task::spawn_blocking(work).await;
    cut.ok().and_then(Result::ok).ok_or_else(|| Fault::internal("a question cannot be cut into words"))
}
