//! What a knowledge engine has to be able to do. Reading folders, checking values and editing files has
//! been done before one is asked, so an engine stores and finds, and nothing else.

use std::time::Duration;

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{Filters, IndexReport, Neighbour, Page, SearchResult, Statistics, Unresolved},
};
use serde_json::{Map, Value};

use crate::wiki::{file::FileSwap, record::Record};

/// Pages to be stored together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The pages.
    pub(crate) records: Vec<Record>,
    /// Where they are all the pages of one wiki folder: what else is stored of it goes.
    pub(crate) folder: Option<WholeFolder>,
    /// Whether every stored page goes first.
    pub(crate) clear: bool,
}

/// A folder that was read whole.
#[derive(Debug)]
pub(crate) struct WholeFolder {
    /// As [`crate::wiki::record::Origin`] has it.
    pub(crate) root: String,
    /// Files that exist but could not be read; their stored pages stay.
    pub(crate) unreadable: Vec<String>,
}

/// A page to be stored in the place of another, together with the change of its file.
#[derive(Debug)]
pub(crate) struct Replacement {
    /// What must be stored for the replacement to be made.
    pub(crate) before: Record,
    /// What is stored afterwards.
    pub(crate) after: Record,
    /// The file that changes with it.
    pub(crate) file: Option<FileSwap>,
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

    /// Every id with its title.
    async fn titles(&self) -> Result<Vec<(String, String)>, Fault>;

    /// Pages one link away.
    async fn neighbours(&self, id: &str) -> Result<Vec<Neighbour>, Fault>;

    /// What is stored under an id.
    async fn record(&self, id: &str) -> Result<Option<Record>, Fault>;

    /// Stores pages, all or none. Counts everything in the report but `skipped`.
    async fn sync(&self, batch: Batch) -> Result<IndexReport, Fault>;

    /// Stores a page in the place of another and changes its file: both or neither. Gives the page's links
    /// that point nowhere.
    async fn replace(&self, change: Replacement) -> Result<Vec<Unresolved>, Fault>;

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
