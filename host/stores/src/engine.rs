//! What a knowledge engine has to be able to do. Reading folders, checking values and editing files has
//! been done before one is asked, so an engine stores and finds, and nothing else.

use std::{collections::BTreeMap, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{EngineStatistics, KnowledgePage, PageType},
    search::{MIN_CANDIDATE_POOL, NameMatch, NameQuery, ScoredCandidate, SearchQuery},
};
use serde_json::{Map, Value};

use crate::{
    embedding::{VectorModel, VectorStore},
    wiki::record::{PageOrigin, PageRecord},
};

/// Pages that an engine stores and removes together, all or none.
#[derive(Debug, Default)]
pub(crate) struct PageWrites {
    /// Ids of the pages that go.
    pub(crate) remove: Vec<String>,
    /// Pages that come, new or in the place of their older selves.
    pub(crate) put: Vec<PageRecord>,
}

/// A change of what is stored. It is worked out inside the transaction that makes it: there no other process stores
/// pages or edits files, so that no other one can be faster, however many there are. The steps look at files, so they
/// may block.
pub(crate) trait WritePlan: Send + Sync {
    /// The pages that it depends on.
    ///
    /// # Errors
    /// `not-found` where the wiki folder has gone.
    fn scope(&self) -> Result<PageScope, Fault>;

    /// The writes, where this is stored of these pages. `None` if the change must not be made any more.
    ///
    /// # Errors
    /// `invalid-arguments` where pages would be lost.
    fn writes(&self, found: &[PageHead]) -> Result<Option<PageWrites>, Fault>;

    /// Changes the page's file: last, so that it is not changed where the rest fails.
    ///
    /// # Errors
    /// `invalid-arguments` where the file is another one by now.
    fn finish(&self) -> Result<(), Fault> {
        Ok(())
    }
}

impl dyn WritePlan {
    /// The same as a step of asynchronous work.
    pub(crate) async fn run_blocking<T: Send + 'static>(
        self: &Arc<Self>,
        step: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let plan = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || step(&*plan)).await;
        done.unwrap_or_else(|_| Err(Fault::internal("work on wiki files ended without an answer")))
    }
}

/// What became of a plan.
#[derive(Debug)]
pub(crate) enum WriteOutcome {
    /// It is stored.
    Done,
    /// Nothing was: other writers were faster, and the next attempt may succeed.
    Conflict,
    /// Whether it was is not known, for this reason.
    Unknown(Fault),
}

/// Which pages are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageScope {
    /// Every page.
    All,
    /// Those with these ids (compared as ids are), and those that came from this wiki folder.
    Matching {
        /// The ids.
        ids: Vec<String>,
        /// As [`PageOrigin`] has it.
        root: Option<String>,
    },
}

impl PageScope {
    /// The pages with these ids.
    pub(crate) fn ids(ids: impl IntoIterator<Item = String>) -> Self {
        Self::Matching { ids: ids.into_iter().collect(), root: None }
    }
}

/// What is known of a stored page without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageHead {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) hash: String,
    pub(crate) origin: Option<PageOrigin>,
}

impl PageHead {
    /// What is known of a page that was read.
    pub(crate) fn from_record(page: &PageRecord) -> Self {
        let PageRecord { id, title, hash, origin, .. } = page.clone();
        Self { id, title, hash, origin }
    }
}

/// How an engine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnowledgeHealth {
    /// Its name, `sqlite` for example.
    pub engine: &'static str,
    /// Where it is: a file or an address, without credentials.
    pub address: String,
    /// Version of the schema there, and the newest that this binary knows; none where nothing has been
    /// stored yet.
    pub schema: Option<(i64, i64)>,
    /// Pages it holds.
    pub pages: u32,
    /// Those of them that search does not see as they are yet, where the engine searches elsewhere than it stores.
    pub waiting: u32,
    /// The model that gives its pages their vectors; none where it searches by words alone.
    pub embedding: Option<EmbeddingHealth>,
}

/// How far an engine's vectors are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EmbeddingHealth {
    /// `provider/model`.
    pub model: String,
    /// Pages that have no vector of this model yet; they are found by their words.
    pub waiting: u32,
    /// Why the model fails, where it does; it is asked again in the background.
    pub failing: Option<String>,
}

/// How an engine itself is.
#[derive(Debug, Default)]
pub(crate) struct EngineHealth {
    /// Where it is, without credentials.
    pub(crate) address: String,
    /// Version of the schema there, and the newest that this binary knows.
    pub(crate) schema: Option<(i64, i64)>,
    /// Pages it holds.
    pub(crate) pages: u32,
    /// Those of them that search does not see as they are yet.
    pub(crate) waiting: u32,
    /// Those that have no vector of the model that was asked for.
    pub(crate) without_vector: u32,
    /// Why it can keep no vectors, where it cannot.
    pub(crate) no_vectors: Option<String>,
}

/// The corpus that pages are.
pub(crate) const PAGES: &str = "page";

/// What is looked for.
#[derive(Debug)]
pub(crate) struct PageQuestion {
    pub(crate) query: SearchQuery,
    pub(crate) name: NameQuery,
    /// None where meaning has no part in it.
    pub(crate) vector: Option<QueryVector>,
    /// Pages of these types only, where some are given.
    pub(crate) types: Vec<PageType>,
    /// Pages of these domains only, [as they are compared](crate::wiki::ids::domain_key), where some are given.
    pub(crate) domains: Vec<String>,
    /// How many pages are wanted.
    pub(crate) limit: usize,
}

impl PageQuestion {
    /// How many of the best in each way are looked at closely.
    pub(crate) fn pool(&self) -> usize {
        self.limit.max(MIN_CANDIDATE_POOL)
    }
}

/// A question as a vector.
#[derive(Debug)]
pub(crate) struct QueryVector {
    /// The name under which the model's vectors are stored.
    pub(crate) model: String,
    /// Of unit length.
    pub(crate) values: Vec<f32>,
}

/// What may answer a question: the best by name, by words and by vector, filters before every limit, each with its
/// scores in the other ways too. The key of one is its id.
#[derive(Debug, Default)]
pub(crate) struct PageCandidates {
    pub(crate) scored: Vec<ScoredCandidate<String>>,
    /// Words of the question that no page holds.
    pub(crate) unmatched_terms: Vec<String>,
    /// Pages that have no vector of the question's model.
    pub(crate) without_vector: usize,
    /// What else the caller should know of how these were found.
    pub(crate) notes: Vec<String>,
}

/// The pages whose names answer a question, of rows of (page, name as names are compared). A beginning that more than
/// [`MIN_CANDIDATE_POOL`] pages have tells nothing.
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

/// A store for pages. It keeps and finds; what is to be stored, and which of what it finds is a hit, is decided before
/// and after. Ids come in any spelling and are compared as ids are. Faults are `unavailable` and name the engine and
/// its address.
#[async_trait]
pub(crate) trait PageEngine: Send + Sync {
    /// The name in configuration and index files.
    fn name(&self) -> &'static str;

    /// Where it keeps the pages, for index files. No credentials.
    fn refs(&self) -> Map<String, Value>;

    /// What is known of these pages, by id.
    async fn heads(&self, scope: &PageScope) -> Result<Vec<PageHead>, Fault>;

    /// What is stored under these ids, in any order.
    async fn records(&self, ids: &[String]) -> Result<Vec<PageRecord>, Fault>;

    /// The pages with these ids, in their order; none where there is no such page.
    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault>;

    /// The ids of the pages with this title (compared as titles are), sorted.
    async fn ids_by_title(&self, title: &str) -> Result<Vec<String>, Fault>;

    /// The domains that pages have, as they are [compared](crate::wiki::ids::domain_key), sorted; of `among` only,
    /// where those are given in that form.
    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault>;

    /// What may answer a question.
    async fn candidates(&self, question: &Arc<PageQuestion>) -> Result<PageCandidates, Fault>;

    /// Applies a plan in one transaction that no other writer shares: [`WritePlan::scope`] and [`WritePlan::writes`] come first,
    /// [`WritePlan::finish`] last. Where it fails, nothing is stored. A page whose [version](Record::version_to_embed) changes
    /// loses its vectors and waits for others.
    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault>;

    /// Where it keeps the vectors of pages.
    fn vectors(&self) -> Arc<dyn VectorStore>;

    /// Counts.
    async fn stats(&self) -> Result<EngineStatistics, Fault>;

    /// Waits until search sees every stored page; false where that fails or takes longer than this.
    async fn wait_until_searchable(&self, _limit: Duration) -> bool {
        true
    }

    /// Ends the use of it, for hosts that stop.
    async fn close(&self) {}

    /// Whether it can be reached, and how far the vectors of this model are; changes nothing there.
    async fn health(&self, model: Option<&VectorModel>) -> Result<EngineHealth, Fault>;
}

impl dyn PageEngine {
    /// What is stored under an id.
    pub(crate) async fn record(&self, id: &str) -> Result<Option<PageRecord>, Fault> {
        Ok(self.records(&[id.to_owned()]).await?.pop())
    }
}
