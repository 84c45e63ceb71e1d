//! The audit: an append-only chain of entries, in a file that all hosts and commands on a data directory share, or on a
//! PostgreSQL server.
//!
//! One task writes everything that waits in one transaction, so concurrent calls share a commit. Entries that could not
//! be written wait in memory for the next attempt, and [`AuditLog::check`] fails until one succeeds. The
//! database also has the use of quotas.

mod chain;
mod free_space;
mod pseudonyms;
mod queue;
mod quotas;
mod read;
pub(crate) mod schema;
mod verify;
mod write;
mod writer;

use std::{
    path::PathBuf,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    Principal, lock,
    outcome::Fault,
    ports::{AuditLog, Clock, audit::AuditEntry},
};
use tokio::sync::oneshot;

use self::{
    free_space::FreeSpace,
    pseudonyms::Pseudonyms,
    queue::{AuditQueue, AuditWriting},
};
pub use self::{
    read::{AuditFilter, AuditRecord, KnownPrincipal, QuotaRefusals},
    verify::{BrokenEntry, ChainReport},
};
#[cfg(feature = "postgres")]
use crate::sql::postgres::{PostgresConfig, PostgresServer, ServerTables};
use crate::{
    sql::sqlite::SqliteDatabase,
    sql::{Database, Session, Turn, values},
};

/// The turn of all writes but the use of quotas: each continues the chain.
const CHAIN: &[Turn<'static>] = &[Turn::Alone("audit")];

/// The turn of writes of the use of quotas.
const QUOTAS: Turn<'static> = Turn::Alone("quotas");

const DAY_MS: i64 = 86_400_000;

/// Time to gather entries that no call waits for.
const GATHER_TIME: Duration = Duration::from_secs(1);

/// Maximum number of entries that wait in memory. Further ones are lost, and their number is recorded.
const MAX_WAITING: usize = 10_000;

pub struct AuditTables {
    inner: Arc<AuditInner>,
}

struct AuditInner {
    db: Database,
    /// The file, if the tables are in one.
    file: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    /// Retention in milliseconds.
    keep_ms: i64,
    queue: Mutex<AuditQueue>,
    pseudonyms: Pseudonyms,
    free_space: FreeSpace,
    /// False before the first write, and after one that failed.
    is_working: AtomicBool,
    /// True from the first write that failed until one works, so that the log reports it once.
    is_failing: AtomicBool,
    /// Locked by the task that writes.
    writing: tokio::sync::Mutex<AuditWriting>,
}

impl AuditTables {
    /// Uses a file that the first entry creates. Entries are deleted after `keep_days`, at least one.
    pub fn sqlite(path: PathBuf, keep_days: u32, clock: Arc<dyn Clock>) -> Self {
        let db = SqliteDatabase::new(&schema::FILE, path.clone());
        Self::new(Database::Sqlite(Arc::new(db)), Some(path), keep_days, clock)
    }

    /// Uses tables of a server, which several hosts can share.
    #[cfg(feature = "postgres")]
    pub fn postgres(server: PostgresConfig, keep_days: u32, clock: Arc<dyn Clock>) -> Self {
        let server = PostgresServer::new("audit 'postgres'", server, ServerTables::Own(schema::PART));
        Self::new(Database::Postgres(server), None, keep_days, clock)
    }

    fn new(db: Database, file: Option<PathBuf>, keep_days: u32, clock: Arc<dyn Clock>) -> Self {
        let inner = AuditInner {
            db,
            file,
            clock,
            keep_ms: i64::from(keep_days.max(1)) * DAY_MS,
            queue: Mutex::default(),
            pseudonyms: Pseudonyms::default(),
            free_space: FreeSpace::default(),
            is_working: AtomicBool::new(false),
            is_failing: AtomicBool::new(false),
            writing: tokio::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// Returns true if anything was ever recorded. Does not create the database.
    pub async fn exists(&self) -> Result<bool, Fault> {
        self.inner.db.exists().await
    }

    /// Waits until all earlier entries are stored.
    pub async fn flush(&self) -> Result<(), Fault> {
        self.inner.write_detached().await
    }

    /// Writes waiting entries and closes the audit permanently.
    pub async fn close(&self) {
        if let Err(fault) = self.inner.write_detached().await {
            let unconfirmed = self.inner.writing.lock().await.unconfirmed.take();
            let unconfirmed = unconfirmed.map_or(0, |batch| batch.content.entries.len());
            let lost = unconfirmed + lock(&self.inner.queue).waiting.len();
            tracing::error!(lost, "entries are missing from the audit: {}", fault.in_one_line());
        }
        self.inner.db.close().await;
    }

    /// Fails if the database exists and cannot be read.
    pub async fn check_readable(&self) -> Result<(), Fault> {
        let read =
            async |db: Session<'_>| db.value::<i64>("SELECT seq FROM audit_anchor", &[]).await.map(drop);
        self.inner.db.read_existing(read).await
    }

    /// Returns the last matching entries, oldest first.
    pub async fn search(&self, filter: &AuditFilter) -> Result<Vec<AuditRecord>, Fault> {
        let filter = filter.clone();
        self.inner.db.read(async move |db: Session<'_>| read::search(db, &filter).await).await
    }

    /// Walks the chain and returns its first broken entry.
    pub async fn verify(&self) -> Result<ChainReport, Fault> {
        self.inner.db.read(async |db: Session<'_>| verify::verify(db).await).await
    }

    /// Whether the chain has an entry with this digest, in hexadecimal.
    pub async fn contains(&self, digest: &str) -> Result<bool, Fault> {
        let Some(digest) = read::bytes_of(digest.trim()) else { return Ok(false) };
        let sql = "SELECT EXISTS (SELECT 1 FROM audit_entry WHERE digest = ?1)
            OR EXISTS (SELECT 1 FROM audit_anchor WHERE digest = ?1)";
        self.inner.db.read(async move |db: Session<'_>| db.value(sql, values![digest]).await).await
    }

    pub async fn principals(&self) -> Result<Vec<KnownPrincipal>, Fault> {
        self.inner.db.read(async |db: Session<'_>| read::principals(db).await).await
    }

    /// Deletes the key of a principal and its use of quotas. Its entries stay, without anything that names it.
    ///
    /// `details` says what else was erased, without the name. Returns false if the audit did not know the principal.
    pub async fn erase(&self, name: &str, details: &str) -> Result<bool, Fault> {
        self.flush().await?;
        let (name, details, now) = (name.to_owned(), details.to_owned(), self.inner.now());
        let erase = async move |db: Session<'_>| write::erase(db, &name, now, &details).await;
        let existed = self.inner.db.write(&[CHAIN, &[QUOTAS]].concat(), erase).await?;
        // Earlier versions of the deleted rows are in the -wal file until it is truncated.
        self.inner.db.reclaim_space().await?;
        Ok(existed)
    }
}

#[async_trait]
impl AuditLog for AuditTables {
    fn record(&self, entry: AuditEntry) {
        self.inner.push(entry, None);
        // Without a runtime, the entry waits for the next flush.
        let Ok(runtime) = tokio::runtime::Handle::try_current() else { return };
        if std::mem::replace(&mut lock(&self.inner.queue).is_scheduled, true) {
            return;
        }
        let inner = Arc::clone(&self.inner);
        runtime.spawn(async move {
            tokio::time::sleep(GATHER_TIME).await;
            lock(&inner.queue).is_scheduled = false;
            // The log reports a failure, and the entries wait for the next attempt.
            let _ignored = inner.write_all().await;
        });
    }

    fn record_refusal(&self, entry: AuditEntry) {
        match &self.inner.file {
            Some(file) if self.inner.free_space.is_low(file) => lock(&self.inner.queue).add_lost(),
            _ => self.record(entry),
        }
    }

    async fn commit(&self, entry: AuditEntry) -> Result<(), Fault> {
        let (done, written) = oneshot::channel();
        self.inner.push(entry, Some(done));
        let inner = Arc::clone(&self.inner);
        // Another task may write the entry first, together with its own.
        tokio::spawn(async move { inner.write_all().await });
        written.await.unwrap_or_else(|_| Err(Fault::internal("the audit ended unexpectedly")))
    }

    async fn pseudonym(&self, principal: &Principal) -> Option<Arc<str>> {
        self.inner.pseudonyms.find(&self.inner, principal).await
    }

    async fn check(&self) -> Result<(), Fault> {
        if self.inner.is_working.load(Ordering::Acquire) {
            return Ok(());
        }
        self.inner.write_detached().await?;
        if !self.inner.is_working.load(Ordering::Acquire) {
            // Nothing waited. A lock for a write shows whether the database can be written at all.
            let sql = "SELECT seq FROM audit_head @lock(FOR UPDATE)";
            let lock = async move |db: Session<'_>| db.value::<i64>(sql, &[]).await.map(drop);
            self.inner.db.write(&[], lock).await?;
            self.inner.is_working.store(true, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
