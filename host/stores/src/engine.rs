//! The interface of a knowledge engine. Callers read directories, check values and edit files; an engine only stores
//! and finds.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{EngineStatistics, KnowledgePage, PageType},
    search::{MIN_CANDIDATE_POOL, NameMatch, NameQuery, ScoredCandidate, SearchQuery, name::name_key},
};
use serde_json::{Map, Value};

use crate::wiki::record::{PageOrigin, PageRecord};

#[derive(Debug, Default)]
pub(crate) struct PageWrites {
    pub(crate) remove: Vec<String>,
    /// New pages, and replacements for stored pages.
    pub(crate) put: Vec<PageRecord>,
}

/// A change of the stored pages, computed inside the transaction that makes it. No other process can store pages or
/// edit files in that time, so concurrent writers cannot starve it. The steps read files, so they may block.
pub(crate) trait WritePlan: Send + Sync {
    /// Returns the pages that the change depends on. Fails with `not-found` if the wiki directory is gone.
    fn scope(&self) -> Result<PageScope, Fault>;

    /// Returns the writes, given the stored state of those pages. `None` if the change must no longer be made. Fails
    /// with `invalid-arguments` if pages would be lost.
    fn writes(&self, found: &[PageHead]) -> Result<Option<PageWrites>, Fault>;

    /// Changes the page's file. Runs last, so that the file stays unchanged if anything else fails. Fails with
    /// `invalid-arguments` if the file has changed since it was read.
    fn finish(&self) -> Result<(), Fault> {
        Ok(())
    }
}

#[derive(Debug)]
pub(crate) enum WriteOutcome {
    Done,
    /// Nothing was stored because another writer won. The next attempt may succeed.
    Conflict,
    /// Unknown whether the plan was stored, for the given reason.
    Unknown(Fault),
}

/// Selection of pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageScope {
    All,
    /// Pages with these ids, which compare by key, and pages from this wiki directory.
    Matching {
        ids: Vec<String>,
        /// Spelled as in [`PageOrigin`].
        root: Option<String>,
    },
}

impl PageScope {
    pub(crate) fn ids(ids: impl IntoIterator<Item = String>) -> Self {
        Self::Matching { ids: ids.into_iter().collect(), root: None }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageHead {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) hash: String,
    pub(crate) origin: Option<PageOrigin>,
}

impl PageHead {
    pub(crate) fn from_record(page: &PageRecord) -> Self {
        let PageRecord { id, title, hash, origin, .. } = page.clone();
        Self { id, title, hash, origin }
    }
}

/// An item to embed, such as a wiki page. All items of a store are of one corpus.
#[derive(Debug, Clone)]
pub(crate) struct VectorItem {
    /// Unique within the corpus.
    pub(crate) key: String,
    /// Identifies the item's text.
    pub(crate) version: String,
}

#[derive(Debug, Clone)]
pub(crate) struct NewVector {
    /// The vector is dropped if the item has another version by now.
    pub(crate) item: VectorItem,
    /// `None` if the model returned no vector for the text.
    pub(crate) vector: Option<Vec<f32>>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct VectorModel {
    pub(crate) name: String,
    /// `None` if not yet known.
    pub(crate) dimension: Option<usize>,
    /// Earlier edition whose vectors searches still use, so they must not be deleted.
    pub(crate) searched: Option<String>,
}

#[async_trait]
pub(crate) trait VectorStore: Send + Sync {
    /// Returns up to `max` items after the key `after` that have no vector of this model or one of another dimension,
    /// sorted by key.
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault>;

    /// Stores vectors of items whose version is unchanged.
    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault>;
}

/// Health of a store. Numbers that it does not have are 0.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StoreHealth {
    pub engine: &'static str,
    pub address: String,
    /// Schema version of the store, and the newest that this binary supports. `None` if nothing is stored yet, or
    /// another program owns the schema.
    pub schema: Option<(i64, i64)>,
    /// Number of pages, documents or artifacts, including expired ones.
    pub items: u32,
    /// Number of document repositories.
    pub repositories: u32,
    /// Bytes of all artifacts.
    pub bytes: u64,
    /// Number of items without a vector of the requested model.
    pub without_vector: u32,
    /// Reason that the engine cannot store or search vectors.
    pub no_vectors: Option<String>,
    /// Other facts for the operator, one sentence each.
    pub notes: Vec<String>,
    /// State of the embedding model. `None` if search uses words only.
    pub embedding: Option<EmbeddingHealth>,
}

/// Progress of embedding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingHealth {
    pub model: String,
    /// Number of items without a vector of this model. Search finds them by words only.
    pub waiting: u32,
    /// Last failure of the model, which a background task retries.
    pub failing: Option<String>,
}

pub(crate) const PAGES: &str = "page";

#[derive(Debug)]
pub(crate) struct PageQuestion {
    pub(crate) query: SearchQuery,
    pub(crate) name: NameQuery,
    /// `None` if the search uses words only.
    pub(crate) vector: Option<QueryVector>,
    /// Page types to search. Empty means all.
    pub(crate) types: Vec<PageType>,
    /// Domains to search, as [keys](crate::wiki::ids::domain_key). Empty means all.
    pub(crate) domains: Vec<String>,
    pub(crate) limit: usize,
}

/// Number of nearest pages that a search returns however little they fit; each hit has its fit.
pub(crate) const NEAREST_PAGES: usize = 5;

impl PageQuestion {
    /// Returns the number of best candidates, by name, words and vector each, to score in full.
    pub(crate) fn pool(&self) -> usize {
        self.limit.max(MIN_CANDIDATE_POOL)
    }
}

#[derive(Debug, Clone)]
pub(crate) struct QueryVector {
    pub(crate) model: String,
    /// Normalized to length 1.
    pub(crate) values: Vec<f32>,
}

/// Query forms of one prefix. A document matches if any form matches.
///
/// The indexes stem words and queries. A prefix can be longer than the stem of its word (`configurat` and
/// `configuration`), and its own stem can differ from it (`encry` becomes `encri`), so one prefix needs several forms.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct PrefixQuery {
    pub(crate) prefix: String,
    /// Whole words, which the index stems.
    pub(crate) words: Vec<String>,
}

/// The best pages by name, by words and by vector, each with all three scores. Filters apply before limits. The key of
/// a candidate is its page id.
#[derive(Debug, Default)]
pub(crate) struct PageCandidates {
    pub(crate) scored: Vec<ScoredCandidate<String>>,
    pub(crate) unmatched_terms: Vec<String>,
    /// Number of pages without a vector of the question's model.
    pub(crate) without_vector: usize,
    pub(crate) notes: Vec<String>,
}

/// Returns the pages whose names match a question, from rows of (page, name key). Drops prefix matches if more than
/// [`MIN_CANDIDATE_POOL`] pages match, because such a prefix says little.
pub(crate) fn name_matches<K: Ord>(
    query: &NameQuery,
    rows: impl IntoIterator<Item = (K, String)>,
) -> BTreeMap<K, NameMatch> {
    let mut pages = BTreeMap::new();
    for (page, name) in rows {
        let name = query.matches_key(&name);
        let best = pages.entry(page).or_insert(name);
        *best = name.min(*best);
    }
    if pages.len() > MIN_CANDIDATE_POOL {
        pages.retain(|_, name| *name == NameMatch::Exact);
    }
    pages
}

/// Characters of a name, as many as the id of any page has. Index rows of PostgreSQL cannot have many more.
const MAX_NAME: usize = 300;

/// Returns the distinct comparison keys of names, without those too long for an index.
pub(crate) fn name_keys(names: [&str; 3]) -> Vec<String> {
    let mut keys: Vec<String> = names.into_iter().map(name_key).collect();
    keys.retain(|key| !key.is_empty() && key.chars().count() <= MAX_NAME);
    keys.sort_unstable();
    keys.dedup();
    keys
}

/// Returns the statistics of an engine, given the number of pages of each type, by its name, and of links.
pub(crate) fn statistics_of(engine: &str, pages: &HashMap<String, u32>, links: u32) -> EngineStatistics {
    let by_type = PageType::ALL.into_iter().filter_map(|kind| Some((kind, *pages.get(kind.as_str())?)));
    EngineStatistics {
        engine: engine.to_owned(),
        pages: pages.values().sum(),
        links,
        by_type: by_type.collect(),
    }
}

/// A store of wiki pages. Ids may have any spelling and compare by key. Faults are `unavailable` and name the engine
/// and its address.
#[async_trait]
pub(crate) trait PageEngine: Send + Sync {
    fn name(&self) -> &'static str;

    /// Returns the location of the pages for index files, without credentials.
    fn refs(&self) -> Map<String, Value>;

    async fn heads(&self, scope: &PageScope) -> Result<Vec<PageHead>, Fault>;

    /// Returns the stored records of these ids, in any order.
    async fn records(&self, ids: &[String]) -> Result<Vec<PageRecord>, Fault>;

    /// Returns the pages in the order of the ids. `None` for a page that does not exist.
    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault>;

    /// Returns the sorted ids of the pages with this title. Titles compare by key.
    async fn ids_by_title(&self, title: &str) -> Result<Vec<String>, Fault>;

    /// Returns the sorted [keys](crate::wiki::ids::domain_key) of the domains in use, limited to those in `among` if
    /// given.
    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault>;

    async fn candidates(&self, question: &Arc<PageQuestion>) -> Result<PageCandidates, Fault>;

    /// Applies a plan in one transaction, with no other writer: first [`WritePlan::scope`] and [`WritePlan::writes`],
    /// last [`WritePlan::finish`]. A failed plan stores nothing. A page whose [version](PageRecord::version_to_embed)
    /// changes loses its vectors.
    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault>;

    fn vectors(&self) -> Arc<dyn VectorStore>;

    async fn stats(&self) -> Result<EngineStatistics, Fault>;

    async fn close(&self) {}

    /// Checks the connection and counts pages without a vector of `model`. Changes nothing.
    async fn health(&self, model: Option<&VectorModel>) -> Result<StoreHealth, Fault>;
}

impl dyn PageEngine {
    pub(crate) async fn record(&self, id: &str) -> Result<Option<PageRecord>, Fault> {
        Ok(self.records(&[id.to_owned()]).await?.pop())
    }
}
