//! Tool catalog on SQLite. It has its own file, because it can be requested again and must never delay permanent data.

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
use crate::{embedding::VectorStore, engine::QueryVector};

pub(crate) const TOOLS: &str = "tool";

pub(crate) struct SqliteTools {
    db: Arc<CurrentDatabase>,
}

/// A tool with its row number. `quarantined` is true if it is quarantined.
pub(crate) struct StoredTool {
    pub(crate) number: i64,
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) quarantined: bool,
}

pub(crate) struct StoredServer {
    pub(crate) server: SourceId,
    pub(crate) tools: Vec<StoredTool>,
}

impl SqliteTools {
    pub(crate) fn new(path: PathBuf) -> Self {
        Self { db: CurrentDatabase::new(path) }
    }

    pub(crate) fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.db) as _
    }

    /// Stores changes of a listing, or everything if `force` is set.
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

    /// Approves a change. Refuses if the approval would apply to this process only.
    pub(crate) async fn approve(&self, server: &str, label: &str, digest: &str) -> Result<bool, Fault> {
        let [server, label, digest] = [server, label, digest].map(str::to_owned);
        // Test whether the file is writable.
        self.db.write(|db| write::changed(db)).await?;
        self.check_writable()?;
        let approved = self.db.write(move |db| write::approve(db, &server, &label, &digest)).await?;
        self.check_writable()?;
        Ok(approved)
    }

    /// Refuses if the database is in memory.
    fn check_writable(&self) -> Result<(), Fault> {
        let Some(why) = self.db.reason() else { return Ok(()) };
        Err(Fault::unavailable(format!("cannot store the approval: {why}"))
            .hint("Make the file usable and approve again."))
    }

    pub(crate) async fn known_listing(&self, server: &str) -> Result<Option<KnownListing>, Fault> {
        let server = server.to_owned();
        self.db.read(move |db, _| read::known_listing(db, &server)).await
    }

    pub(crate) async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault> {
        self.db.read(|db, _| read::pending_changes(db)).await
    }

    /// Returns a number that increases with every change.
    pub(crate) async fn generation(&self) -> Result<i64, Fault> {
        self.db.read(|db, opened| Ok(opened.generation(read::generation(db)?))).await
    }

    pub(crate) async fn all(&self) -> Result<(i64, Vec<StoredServer>), Fault> {
        let work =
            |db: &_, opened: &ToolDatabase| Ok((opened.generation(read::generation(db)?), read::all(db)?));
        self.db.read(work).await
    }

    /// Returns the similarity of each tool to a vector by number, and the number of tools without a vector.
    pub(crate) async fn cosines(&self, vector: QueryVector) -> Result<(Vec<(i64, f32)>, usize), Fault> {
        let work = move |db: &_, opened: &ToolDatabase| {
            let all = read::count(db)?;
            let Some(cached) = opened.cache.load(db, &vector)? else {
                return Ok((Vec::new(), all));
            };
            Ok((cached.cosines(&vector.values), all.saturating_sub(cached.items())))
        };
        self.db.read(work).await
    }

    pub(crate) async fn specs(&self, keys: &[String]) -> Result<Vec<Option<ToolSpec>>, Fault> {
        let keys = keys.to_vec();
        self.db.read(move |db, _| keys.iter().map(|key| read::spec(db, key)).collect()).await
    }

    pub(crate) async fn close(&self) {
        self.db.close().await;
    }
}
