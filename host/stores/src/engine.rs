//! What a knowledge engine has to be able to do. Reading folders, checking values and editing files has
//! been done before one is asked, so an engine stores and finds, and nothing else.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{Filters, Neighbour, Page, SearchResult, Statistics},
};
use serde_json::{Map, Value};

use crate::wiki::{
    file::FileEdit,
    folder::Folder,
    record::{Origin, Record},
};

/// Pages that are stored and removed together, all or none, if what the plan was made for is still so.
pub(crate) struct Plan {
    /// The pages that it depends on.
    pub(crate) scope: Scope,
    /// What was stored of them when it was made.
    pub(crate) found: Vec<Head>,
    /// The folder that it was made from: it still has to say the same.
    pub(crate) folder: Option<Arc<Mutex<Folder>>>,
    /// Ids of the pages that go.
    pub(crate) remove: Vec<String>,
    /// Pages that come, new or in the place of their older selves.
    pub(crate) put: Vec<Record>,
    /// A file that changes with them: last, so that it is not changed where the rest fails.
    pub(crate) file: Option<Arc<FileEdit>>,
}

impl Plan {
    /// Whether it can be applied: nothing was stored, and no file changed, since it was made. Asked inside the
    /// transaction that writes, where no edit of a page and its file is under way. Looks at files, so it may block.
    ///
    /// # Errors
    /// `not-found` where the folder has gone.
    pub(crate) fn holds(&self, found: &[Head]) -> Result<bool, Fault> {
        match &self.folder {
            _ if found != self.found => Ok(false),
            None => Ok(true),
            Some(folder) => Ok(!folder.lock().unwrap_or_else(PoisonError::into_inner).refresh()?),
        }
    }

    /// Changes the file. May block.
    ///
    /// # Errors
    /// `invalid-arguments` where the file is another one by now.
    pub(crate) fn finish(&self) -> Result<(), Fault> {
        self.file.as_ref().map_or(Ok(()), |file| file.apply())
    }

    /// The same as a step of asynchronous work.
    pub(crate) async fn off_thread<T: Send + 'static>(
        self: &Arc<Self>,
        step: impl FnOnce(&Self) -> Result<T, Fault> + Send + 'static,
    ) -> Result<T, Fault> {
        let plan = Arc::clone(self);
        let done = tokio::task::spawn_blocking(move || step(&plan)).await;
        done.unwrap_or_else(|_| Err(Fault::internal("work on wiki files ended without an answer")))
    }
}

/// What became of a plan.
#[derive(Debug)]
pub(crate) enum Applied {
    /// It is stored.
    Done,
    /// Nothing was: somebody else was faster, and a plan made now may hold.
    Changed,
    /// Whether it was is not known, for this reason.
    Unknown(Fault),
}

/// Which pages are meant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// Every page.
    All,
    /// Those with these ids (compared as ids are), and those that came from this wiki folder.
    Of {
        /// The ids.
        ids: Vec<String>,
        /// As [`Origin`] has it.
        root: Option<String>,
    },
}

impl Scope {
    /// The pages with these ids.
    pub(crate) fn ids(ids: impl IntoIterator<Item = String>) -> Self {
        Self::Of { ids: ids.into_iter().collect(), root: None }
    }
}

/// What is known of a stored page without reading it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) hash: String,
    pub(crate) origin: Option<Origin>,
}

impl Head {
    /// What is known of a page that was read.
    pub(crate) fn of(page: &Record) -> Self {
        let Record { id, title, hash, origin, .. } = page.clone();
        Self { id, title, hash, origin }
    }
}

/// How an engine is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Health {
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

/// A store for pages. Faults are `unavailable` and name the engine and its address.
#[async_trait]
pub(crate) trait Engine: Send + Sync {
    /// The name in configuration and index files.
    fn name(&self) -> &'static str;

    /// Where it keeps the pages, for index files. No credentials.
    fn refs(&self) -> Map<String, Value>;

    /// Finds pages.
    async fn search(&self, query: &str, filters: &Filters, limit: usize) -> Result<SearchResult, Fault>;

    /// The page that an id or a title names.
    async fn page(&self, id_or_title: &str) -> Result<Option<Page>, Fault>;

    /// What is known of these pages, by id.
    async fn heads(&self, scope: &Scope) -> Result<Vec<Head>, Fault>;

    /// The ids of the pages with this title (compared as titles are), sorted.
    async fn titled(&self, title: &str) -> Result<Vec<String>, Fault>;

    /// The domains that pages have, as they are [compared](crate::wiki::ids::domain_key), sorted; of `asked` only, where
    /// those are given in that form.
    async fn domains(&self, asked: Option<Vec<String>>) -> Result<Vec<String>, Fault>;

    /// Pages one link away.
    async fn neighbours(&self, id: &str) -> Result<Vec<Neighbour>, Fault>;

    /// What is stored under an id.
    async fn record(&self, id: &str) -> Result<Option<Record>, Fault>;

    /// Applies a plan in one transaction: [`Plan::holds`] comes first, [`Plan::finish`] last. Where it fails, nothing
    /// is stored.
    async fn apply(&self, plan: Arc<Plan>) -> Result<Applied, Fault>;

    /// Waits until every stored page has its vector; false where that fails or takes longer than this.
    async fn settle(&self, _limit: Duration) -> bool {
        true
    }

    /// Counts.
    async fn stats(&self) -> Result<Statistics, Fault>;

    /// Ends the use of it, for hosts that stop.
    async fn close(&self) {}

    /// Whether it can be reached, without changing anything there.
    async fn health(&self) -> Result<Health, Fault>;
}
