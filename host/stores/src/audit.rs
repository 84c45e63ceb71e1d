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
mod write;

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
    ports::{
        AuditLog, Clock,
        audit::{AuditEntry, AuditKind},
    },
};
use tokio::sync::oneshot;

pub use self::read::{AuditFilter, AuditRecord, BrokenEntry, ChainReport, KnownPrincipal, QuotaRefusals};
use self::{
    free_space::FreeSpace,
    pseudonyms::Pseudonyms,
    queue::{AuditQueue, WaitingEntry},
    write::TimedEntry,
};
#[cfg(feature = "postgres")]
use crate::postgres::{self, PostgresConfig, PostgresServer, ServerTables};
use crate::{
    sql::{Database, Session, Turn, values},
    sqlite::{DataFile, DatabaseProfile, SqliteDatabase},
    worker::run_detached,
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
    /// Locked by the task that writes. Contains the day on which old entries were last deleted.
    writing: tokio::sync::Mutex<Option<i64>>,
}

impl AuditTables {
    /// Uses a file that the first entry creates. Entries are deleted after `keep_days`, at least one.
    pub fn sqlite(path: PathBuf, keep_days: u32, clock: Arc<dyn Clock>) -> Self {
        let db = SqliteDatabase::with_profile(DataFile::Audit, path.clone(), DatabaseProfile::Erasable);
        Self::new(Database::Sqlite(Arc::new(db)), Some(path), keep_days, clock)
    }

    /// Uses tables of a server, which several hosts can share.
    #[cfg(feature = "postgres")]
    pub fn postgres(server: PostgresConfig, keep_days: u32, clock: Arc<dyn Clock>) -> Self {
        let server = PostgresServer::new("audit 'postgres'", server, ServerTables::Own(postgres::AUDIT));
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
            let lost = lock(&self.inner.queue).waiting.len();
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
        self.inner.db.read(async |db: Session<'_>| read::verify(db).await).await
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

impl AuditInner {
    fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    fn push(&self, entry: AuditEntry, done: Option<oneshot::Sender<Result<(), Fault>>>) {
        let entry = TimedEntry { at: self.now(), entry };
        let mut queue = lock(&self.queue);
        if done.is_none() && queue.waiting.len() >= MAX_WAITING {
            queue.add_lost();
        } else {
            queue.waiting.push(WaitingEntry { entry, done });
        }
    }

    /// Writes everything that waits, in a separate task, so that a cancelled caller loses nothing.
    async fn write_detached(self: &Arc<Self>) -> Result<(), Fault> {
        let inner = Arc::clone(self);
        run_detached(async move { inner.write_all().await }).await
    }

    async fn write_all(&self) -> Result<(), Fault> {
        let mut cleaned = self.writing.lock().await;
        loop {
            let (waiting, lost) = {
                let mut queue = lock(&self.queue);
                (std::mem::take(&mut queue.waiting), std::mem::take(&mut queue.lost))
            };
            if waiting.is_empty() && lost == 0 {
                return Ok(());
            }
            self.write(waiting, lost).await?;
            let today = self.now() / DAY_MS;
            if *cleaned != Some(today) {
                let (now, mut before) = (self.now(), self.now() - self.keep_ms);
                let oldest = self.db.read(async |db: Session<'_>| write::oldest(db).await).await?;
                if let Some(oldest) = oldest {
                    // One day at a time: a clock that is ahead by years must not delete everything.
                    before = before.min(oldest + DAY_MS);
                }
                let delete = async move |db: Session<'_>| write::delete_old(db, before, now).await;
                while self.db.write(CHAIN, delete).await? {}
                *cleaned = Some(today);
            }
        }
    }

    /// Writes a batch and answers those who wait for it. After a failure the entries wait again.
    async fn write(&self, waiting: Vec<WaitingEntry>, lost: u64) -> Result<(), Fault> {
        let (entries, waiters): (Vec<_>, Vec<_>) =
            waiting.into_iter().map(|WaitingEntry { entry, done }| (entry, done)).unzip();
        let (entries, now) = (Arc::new(entries), self.now());
        let batch = Arc::clone(&entries);
        let append = async move |db: Session<'_>| {
            write::append(db, &batch).await?;
            if lost == 0 {
                return Ok(());
            }
            let details = format!("{lost} entries could not be stored");
            let entry = AuditEntry::event(AuditKind::Loss, &Principal::Local, "error", &details);
            write::append(db, &[TimedEntry { at: now, entry }]).await
        };
        let written = self.db.write(CHAIN, append).await;
        if let Err(fault) = &written {
            self.is_working.store(false, Ordering::Release);
            if !self.is_failing.swap(true, Ordering::AcqRel) {
                tracing::error!(
                    "cannot write the audit; calls that change something are refused: {}",
                    fault.message
                );
            }
            let mut queue = lock(&self.queue);
            queue.lost += lost;
            let again =
                Arc::unwrap_or_clone(entries).into_iter().map(|entry| WaitingEntry { entry, done: None });
            queue.waiting.splice(..0, again);
        } else {
            self.is_working.store(true, Ordering::Release);
            self.is_failing.store(false, Ordering::Release);
        }
        for done in waiters.into_iter().flatten() {
            let _ = done.send(written.clone());
        }
        written
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
            // Nothing waited. A write shows whether the database can be written at all.
            self.inner.db.write(&[], async |_: Session<'_>| Ok(())).await?;
            self.inner.is_working.store(true, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
