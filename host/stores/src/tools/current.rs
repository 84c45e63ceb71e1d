//! The database of the tool catalog in use: a server, or a file, or memory while the file is unusable, so that a broken
//! file never prevents serving tools.
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

use super::{
    record::ServerRecord,
    schema::{FILE, TOOLS},
    tables,
};
use crate::{
    engine::{NewVector, VectorItem, VectorModel, VectorStore},
    sql::{Database, Result, Session, Turn, sqlite::SqliteDatabase, vectors::Vectors},
};

/// Low bits of a generation, which count changes within one database. The high bits count the databases.
const GENERATION_BITS: u32 = 40;

pub(super) struct ToolDatabase {
    db: Database,
    pub(super) vectors: Vectors,
    /// Number of databases that this process used before this one.
    number: i64,
    /// Reason that the database is in memory. `None` if it is the file or the server.
    reason: Option<String>,
}

/// First and last listing of a server since the file was last writable, each with its time.
#[derive(Clone)]
struct ListingHistory {
    first: (Arc<IndexedListing>, u64),
    last: (Arc<IndexedListing>, u64),
}

struct State {
    opened: Arc<ToolDatabase>,
    listed: HashMap<Arc<str>, ListingHistory>,
    /// True if a file was set aside. A second damaged file is left in place.
    set_aside: bool,
    closed: bool,
}

/// The tools of servers in the database in use.
pub(super) struct CurrentTools {
    /// `None` if the database is on a server.
    file: Option<PathBuf>,
    state: Mutex<State>,
    changing: tokio::sync::Mutex<()>,
    own: Weak<Self>,
}

impl CurrentTools {
    pub(super) fn in_file(file: PathBuf) -> Arc<Self> {
        let db = file_database(&file);
        Self::new(db, Some(file))
    }

    pub(super) fn new(db: Database, file: Option<PathBuf>) -> Arc<Self> {
        let opened = Arc::new(ToolDatabase::new(db, 0, None));
        let state = State { opened, listed: HashMap::new(), set_aside: false, closed: false };
        let (state, changing) = (Mutex::new(state), tokio::sync::Mutex::default());
        Arc::new_cyclic(|weak_self| Self { file, state, changing, own: Weak::clone(weak_self) })
    }

    pub(super) async fn read<T: Send + 'static>(
        &self,
        work: impl AsyncFnOnce(Session<'_>, &ToolDatabase) -> Result<T> + Clone + Send + 'static,
    ) -> Result<T, Fault> {
        loop {
            let opened = self.current();
            let (work, used) = (work.clone(), Arc::clone(&opened));
            match opened.db.try_read(async move |db: Session<'_>| work(db, &used).await).await? {
                Ok(value) => return Ok(value),
                Err(error) => self.replace(opened, error).await?,
            }
        }
    }

    /// Runs a write that no other of the same server runs beside, so that of two hosts that list it for the first time,
    /// one does.
    pub(super) async fn write<T: Send + 'static>(
        &self,
        server: &str,
        work: impl AsyncFnOnce(Session<'_>) -> Result<T> + Clone + Send + 'static,
    ) -> Result<T, Fault> {
        loop {
            let opened = self.current();
            match opened.db.try_write(&[Turn::Key("tools", server)], work.clone()).await? {
                Ok(value) => return value.known(),
                Err(error) => self.replace(opened, error).await?,
            }
        }
    }

    /// Stores changes of a listing, or everything if `force` is set.
    pub(super) async fn put(
        &self,
        listing: IndexedListing,
        now: u64,
        force: bool,
    ) -> Result<RefreshReport, Fault> {
        let listing = Arc::new(listing);
        let server = Arc::clone(&listing.server);
        if self.file.is_some() {
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
        self.write(&server, async move |db: Session<'_>| tables::put(db, listing, now, force).await).await
    }

    pub(super) async fn forget(&self, server: &str) -> Result<(), Fault> {
        lock(&self.state).listed.remove(server);
        let name = server.to_owned();
        self.write(server, async move |db: Session<'_>| tables::forget(db, &name).await).await
    }

    /// Changes the record of a server as a person decided. Returns false, without a change, if there is none or `decide`
    /// returns false. Refuses if the decision would apply to this process only.
    pub(super) async fn decide(
        &self,
        server: &str,
        decide: impl FnOnce(&mut ServerRecord) -> Result<bool> + Clone + Send + 'static,
    ) -> Result<bool, Fault> {
        // Test whether the file is writable.
        self.write(server, async |db: Session<'_>| tables::count_change(db).await).await?;
        self.check_writable()?;
        let decided = self.change(server, decide).await?;
        self.check_writable()?;
        Ok(decided)
    }

    pub(super) async fn change(
        &self,
        server: &str,
        decide: impl FnOnce(&mut ServerRecord) -> Result<bool> + Clone + Send + 'static,
    ) -> Result<bool, Fault> {
        let name = server.to_owned();
        self.write(server, async move |db: Session<'_>| tables::change(db, &name, decide).await).await
    }

    /// Refuses if the database is in memory.
    fn check_writable(&self) -> Result<(), Fault> {
        let Some(reason) = self.reason() else { return Ok(()) };
        Err(Fault::unavailable(format!("cannot store the approval: {reason}"))
            .hint("Make the file usable and approve again."))
    }

    /// Returns the reason that nothing can be stored. `None` if the file or the server is in use.
    fn reason(&self) -> Option<String> {
        self.current().reason.clone()
    }

    pub(super) async fn close(&self) {
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
        Self { vectors: Vectors::new(&db, TOOLS), db, number, reason }
    }

    /// Returns a generation that is unique among the databases of this process.
    pub(super) fn generation(&self, within: i64) -> i64 {
        (self.number << GENERATION_BITS) | within
    }
}

fn file_database(path: &Path) -> Database {
    Database::Sqlite(Arc::new(SqliteDatabase::new(&FILE, path.to_owned())))
}

#[async_trait]
impl VectorStore for CurrentTools {
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault> {
        self.current().vectors.store().waiting(model, after, max).await
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        self.current().vectors.store().put(model, vectors).await
    }
}

#[cfg(test)]
mod tests;
