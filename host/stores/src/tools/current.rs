//! The tool catalog database in use: the file, or memory while the file is unusable, so that a broken file never
//! prevents serving tools.
//!
//! An unreadable file is set aside and created again. This loses the reviews, so servers with `on_change =
//! "quarantine"` are quarantined until the operator reviews them. A change can therefore never pass as new.

mod replacing;

use std::{
    collections::HashMap,
    path::{Path, PathBuf},
    sync::{Arc, Mutex, Weak},
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, lock,
    ports::{servers::RefreshReport, tool_index::IndexedListing},
};
use rusqlite::{Connection, Transaction};

use super::{
    schema::{FILE, TOOLS},
    write,
};
use crate::{
    engine::{NewVector, VectorItem, VectorModel, VectorStore},
    sql::{
        Result,
        sqlite::{SqliteDatabase as Database, VectorCache, vectors},
    },
};

/// Low bits of a generation, which count changes within one database. The high bits count the databases.
const GENERATION_BITS: u32 = 40;

pub(super) struct ToolDatabase {
    db: Database,
    pub(super) cache: VectorCache,
    /// Number of databases that this process used before this one.
    number: i64,
    /// Reason that the database is in memory. `None` if it is the file.
    reason: Option<String>,
}

/// First and last listing of a server since the file was last writable, each with its time.
#[derive(Clone)]
struct ListingHistory {
    first: (Arc<IndexedListing>, i64),
    last: (Arc<IndexedListing>, i64),
}

struct State {
    opened: Arc<ToolDatabase>,
    listed: HashMap<Arc<str>, ListingHistory>,
    /// True if a file was set aside. A second damaged file is left in place.
    set_aside: bool,
    closed: bool,
}

/// The tools of servers in the database in use.
pub(crate) struct SqliteTools {
    file: PathBuf,
    state: Mutex<State>,
    changing: tokio::sync::Mutex<()>,
    own: Weak<Self>,
}

impl SqliteTools {
    pub(crate) fn new(file: PathBuf) -> Arc<Self> {
        let opened = Arc::new(ToolDatabase::new(file_database(&file), 0, None));
        let state = State { opened, listed: HashMap::new(), set_aside: false, closed: false };
        let (state, changing) = (Mutex::new(state), tokio::sync::Mutex::default());
        Arc::new_cyclic(|weak_self| Self { file, state, changing, own: Weak::clone(weak_self) })
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Connection, &ToolDatabase) -> Result<T> + Clone + Send + 'static,
    ) -> Result<T, Fault> {
        loop {
            let opened = self.current();
            let (work, read) = (work.clone(), Arc::clone(&opened));
            match opened.db.try_read(move |db| work(db, &read)).await? {
                Ok(value) => return Ok(value),
                Err(error) => self.replace(opened, error).await?,
            }
        }
    }

    pub(super) async fn write<T: Send + 'static>(
        &self,
        work: impl FnOnce(&Transaction<'_>) -> Result<T> + Clone + Send + 'static,
    ) -> Result<T, Fault> {
        loop {
            let opened = self.current();
            match opened.db.try_write(work.clone()).await? {
                Ok(value) => return Ok(value),
                Err(error) => self.replace(opened, error).await?,
            }
        }
    }

    /// Stores changes of a listing, or everything if `force` is set.
    pub(crate) async fn put(
        &self,
        listing: IndexedListing,
        now: i64,
        force: bool,
    ) -> Result<RefreshReport, Fault> {
        let listing = Arc::new(listing);
        {
            let mut state = lock(&self.state);
            let in_memory = state.opened.reason.is_some();
            let last = (Arc::clone(&listing), now);
            match state.listed.get_mut(&listing.server) {
                Some(listed) if in_memory => listed.last = last,
                _ => {
                    let listed = ListingHistory { first: last.clone(), last };
                    state.listed.insert(Arc::clone(&listing.server), listed);
                }
            }
        }
        self.write(move |db| write::put(db, &listing, now, force)).await
    }

    pub(crate) async fn forget(&self, server: &str) -> Result<(), Fault> {
        lock(&self.state).listed.remove(server);
        let server = server.to_owned();
        self.write(move |db| write::forget(db, &server)).await
    }

    /// Returns the reason that nothing can be stored. `None` if the file is in use.
    pub(super) fn reason(&self) -> Option<String> {
        self.current().reason.clone()
    }

    pub(crate) async fn close(&self) {
        let opened = {
            let mut state = lock(&self.state);
            state.closed = true;
            Arc::clone(&state.opened)
        };
        opened.db.close().await;
    }

    fn current(&self) -> Arc<ToolDatabase> {
        Arc::clone(&lock(&self.state).opened)
    }
}

impl ToolDatabase {
    fn new(db: Database, number: i64, reason: Option<String>) -> Self {
        Self { db, cache: VectorCache::new(TOOLS), number, reason }
    }

    /// Returns a generation that is unique among the databases of this process.
    pub(super) fn generation(&self, within: i64) -> i64 {
        (self.number << GENERATION_BITS) | within
    }
}

fn file_database(path: &Path) -> Database {
    Database::new(&FILE, path.to_owned())
}

#[async_trait]
impl VectorStore for SqliteTools {
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault> {
        let (model, after) = (model.clone(), after.to_owned());
        self.read(move |db, _| vectors::waiting(db, TOOLS, &model, &after, max)).await
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let (model, vectors) = (model.clone(), Arc::new(vectors));
        self.write(move |db| vectors::store(db, TOOLS, &model, &vectors)).await
    }
}

#[cfg(test)]
mod tests;
