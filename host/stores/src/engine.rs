//! What a knowledge engine has to be able to do. Reading folders, checking values and editing files has
//! been done before one is asked, so an engine stores and finds, and nothing else.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    outcome::Fault,
    ports::knowledge::{
        Filters, IndexReport, Neighbour, Page, SearchResult, Statistics, TakenOver, Unresolved,
    },
};
use serde_json::{Map, Value};

use crate::wiki::{
    file::FileSwap,
    folder, ids,
    record::{Origin, Record, is_in_store_alone},
    seen::Seen,
};

/// Pages to be stored together.
#[derive(Debug, Default)]
pub(crate) struct Batch {
    /// The pages.
    pub(crate) records: Vec<Record>,
    /// Where they are all the pages of one wiki folder: what else is stored of it goes.
    pub(crate) folder: Option<WholeFolder>,
    /// Whether every stored page goes first, and which.
    pub(crate) clear: Clear,
}

/// What goes before a batch is stored.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Clear {
    /// Nothing.
    #[default]
    No,
    /// Every page, where each of them says what some file says; else nothing is done, and that is a fault.
    Filed,
    /// Every page.
    All,
}

/// The fault for pages that would go for good; nothing was changed.
pub(crate) fn would_lose(pages: &[String]) -> Fault {
    const SHOWN: usize = 5;
    let (noun, brings) = if pages.len() == 1 { ("page", "it") } else { ("pages", "them") };
    let named = pages.iter().take(SHOWN).map(|id| ids::shorten(id)).collect::<Vec<_>>().join(", ");
    let more = pages.len().saturating_sub(SHOWN);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let count = pages.len();
    Fault::invalid(format!(
        "clear_existing would remove {count} {noun} for good, since no folder brings {brings} back: {named}{more}"
    ))
    .hint("Leave clear_existing out to keep them, or send confirm = \"all\" with it; nothing was changed.")
}

/// A folder that was read whole.
#[derive(Debug)]
pub(crate) struct WholeFolder {
    /// As [`crate::wiki::record::Origin`] has it.
    pub(crate) root: String,
    /// Files that exist but could not be read; their stored pages stay.
    pub(crate) unreadable: Vec<String>,
    /// How the files of the pages were when they were read.
    pub(crate) seen: HashMap<String, Seen>,
}

impl Batch {
    /// Makes the pages of a folder what its files are now. An engine calls it inside the transaction that writes, where
    /// no edit of a page and its file is under way: between the reading and the writing some may have been made, and
    /// what was read would take them back. Looks at every file and reads those that changed, so it may block.
    ///
    /// # Errors
    /// `not-found` where the folder has gone.
    pub(crate) fn refresh(&mut self) -> Result<(), Fault> {
        let Some(whole) = &mut self.folder else { return Ok(()) };
        let (known, seen) = (std::mem::take(&mut self.records), std::mem::take(&mut whole.seen));
        let now = folder::read_again(Path::new(&whole.root), known, seen, &mut |_, _| {})?;
        (self.records, whole.unreadable, whole.seen) = (now.records, now.unreadable, now.seen);
        Ok(())
    }
}

/// Pages that follow another file than before, gathered while a batch is stored.
#[derive(Debug, Default)]
pub(crate) struct Takeover(BTreeMap<Option<String>, Vec<String>>);

impl Takeover {
    /// Notes a page that is stored in the place of one that came from there.
    pub(crate) fn note(&mut self, before: Option<&Origin>, page: &Record) {
        let root = |origin: &Origin| origin.root.clone();
        let (before, now) = (before.map(root), page.origin.as_ref().map(root));
        if now.is_some() && before != now {
            self.0.entry(before).or_default().push(page.id.clone());
        }
    }

    /// What is told of them.
    pub(crate) fn told(self) -> Vec<TakenOver> {
        let sorted = |(from, mut pages): (_, Vec<String>)| {
            pages.sort();
            TakenOver { from, pages }
        };
        self.0.into_iter().map(sorted).collect()
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
    /// Whether it says what no file says: a caller wrote it, or changed it in the store alone. Pages of the folder that
    /// is indexed do not count: indexing makes them what the folder says anyway.
    pub(crate) fn is_in_store_alone(&self, indexed: Option<&WholeFolder>) -> bool {
        match &self.origin {
            None => true,
            Some(origin) => {
                is_in_store_alone(&self.hash) && indexed.is_none_or(|folder| folder.root != origin.root)
            }
        }
    }
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

    /// Every page, by id.
    async fn heads(&self) -> Result<Vec<Head>, Fault>;

    /// The ids of the pages with this title (compared as titles are), sorted.
    async fn titled(&self, title: &str) -> Result<Vec<String>, Fault>;

    /// The domains that pages have, as they are [compared](crate::wiki::ids::domain_key), sorted; of `asked` only, where
    /// those are given in that form.
    async fn domains(&self, asked: Option<Vec<String>>) -> Result<Vec<String>, Fault>;

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
