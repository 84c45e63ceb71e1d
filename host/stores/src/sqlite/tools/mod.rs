//! What is known of the tools of servers, in a file of its own: it is learned again by asking them, and never worth holding up
//! what is precious.

mod current;
mod file;
mod read;
mod review;
mod write;

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::{
    Fault, SourceId, ToolSpec,
    ports::{
        servers::RefreshReport,
        tool_index::{IndexedListing, KnownListing, PendingChange},
    },
};

use self::current::{CurrentDatabase, ToolDatabase};
use crate::embedding::VectorStore;

/// What vectors of tools are kept under.
pub(crate) const TOOLS: &str = "tool";

/// The store.
pub(crate) struct SqliteTools {
    db: Arc<CurrentDatabase>,
}

/// A tool with its number, and whether it is held back.
pub(crate) struct StoredTool {
    pub(crate) number: i64,
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) held: bool,
}

/// All tools of one server.
pub(crate) struct StoredServer {
    pub(crate) server: SourceId,
    pub(crate) tools: Vec<StoredTool>,
}

impl SqliteTools {
    /// A store in this file, which is opened on first use.
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { db: CurrentDatabase::new(path) }
    }

    pub(crate) fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.db) as _
    }

    /// Writes what changed, or everything with `force`.
    pub(crate) async fn put(
        &self,
        listing: IndexedListing,
        now: i64,
        force: bool,
    ) -> Result<RefreshReport, Fault> {
        self.db.put(listing, now, force).await
    }

    pub(crate) async fn forget(&self, server: &str) -> Result<(), Fault> {
        self.db.forget(server).await
    }

    /// Approves a change. One that cannot be stored is refused: it would hold for this process alone.
    pub(crate) async fn approve(&self, server: &str, label: &str, digest: &str) -> Result<bool, Fault> {
        let [server, label, digest] = [server, label, digest].map(str::to_owned);
        // Finds out whether the file can be written.
        self.db.write(|db| write::changed(db)).await?;
        self.check_writable()?;
        let approved = self.db.write(move |db| write::approve(db, &server, &label, &digest)).await?;
        self.check_writable()?;
        Ok(approved)
    }

    /// Refuses if what is written is in memory alone.
    fn check_writable(&self) -> Result<(), Fault> {
        let Some(why) = self.db.reason() else { return Ok(()) };
        Err(Fault::unavailable(format!("The approval cannot be stored: {why}."))
            .hint("Make the file usable, and approve again."))
    }

    pub(crate) async fn known_listing(&self, server: &str) -> Result<Option<KnownListing>, Fault> {
        let server = server.to_owned();
        self.db.read(move |db, _| read::known_listing(db, &server)).await
    }

    pub(crate) async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault> {
        self.db.read(|db, _| read::pending_changes(db)).await
    }

    /// Counts changes of what is kept.
    pub(crate) async fn generation(&self) -> Result<i64, Fault> {
        self.db.read(|db, opened| Ok(opened.generation(read::generation(db)?))).await
    }

    /// Every tool, with the state that it is of.
    pub(crate) async fn all(&self) -> Result<(i64, Vec<StoredServer>), Fault> {
        let work =
            |db: &_, opened: &ToolDatabase| Ok((opened.generation(read::generation(db)?), read::all(db)?));
        self.db.read(work).await
    }

    /// How near each tool is to a vector, by its number, and how many of them have none.
    pub(crate) async fn cosines(
        &self,
        model: &str,
        vector: Vec<f32>,
    ) -> Result<(Vec<(i64, f32)>, usize), Fault> {
        let model = model.to_owned();
        let work = move |db: &_, opened: &ToolDatabase| {
            let all = read::count(db)?;
            let Some(held) = opened.cache.held(db, &model, vector.len())? else {
                return Ok((Vec::new(), all));
            };
            Ok((held.cosines(&vector), all.saturating_sub(held.items())))
        };
        self.db.read(work).await
    }

    /// The texts of tools by their keys.
    pub(crate) async fn specs(&self, keys: &[String]) -> Result<Vec<Option<ToolSpec>>, Fault> {
        let keys = keys.to_vec();
        self.db.read(move |db, _| keys.iter().map(|key| read::spec(db, key)).collect()).await
    }

    pub(crate) async fn close(&self) {
        self.db.close().await;
    }
}
