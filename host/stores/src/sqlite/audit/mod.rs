//! The audit: an append-only chain of entries, in a database that all hosts and commands on a data directory share.
//!
//! One task writes everything that waits in one transaction, so concurrent calls share a commit. Entries that could not
//! be written wait in memory for the next attempt, and [`AuditLog::check`] fails until one succeeds. The file also has
//! the use of quotas.

mod chain;
mod free_space;
mod pseudonyms;
mod queue;
mod quotas;
mod read;
mod write;

use std::{
    path::{Path, PathBuf},
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
use super::{
    copy::DataFile,
    db::{Database, DatabaseProfile},
    error::Result,
    statements::CachedStatements as _,
};
use crate::worker::run_detached;

const DAY_MS: i64 = 86_400_000;

/// Time to gather entries that no call waits for.
const GATHER_TIME: Duration = Duration::from_secs(1);

/// Maximum number of entries that wait in memory. Further ones are lost, and their number is recorded.
const MAX_WAITING: usize = 10_000;

pub struct SqliteAudit {
    inner: Arc<AuditInner>,
}

struct AuditInner {
    db: Database,
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

impl SqliteAudit {
    /// Creates an audit in a file that the first entry creates. Entries are deleted after `keep_days`, at least one.
    pub fn new(path: PathBuf, keep_days: u32, clock: Arc<dyn Clock>) -> Self {
        let inner = AuditInner {
            db: Database::with_profile(DataFile::Audit, path, DatabaseProfile::Erasable),
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

    pub fn path(&self) -> &Path {
        self.inner.db.path()
    }

    /// Waits until all earlier entries are on disk.
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

    /// Fails if the file exists and cannot be read.
    pub async fn check_readable(&self) -> Result<(), Fault> {
        match self.inner.db.exists().await {
            true => {
                self.inner.db.read(|db| db.value::<i64>("SELECT count(*) FROM anchor", []).map(drop)).await
            }
            false => Ok(()),
        }
    }

    /// Returns the last matching entries, oldest first.
    pub async fn search(&self, filter: &AuditFilter) -> Result<Vec<AuditRecord>, Fault> {
        let filter = filter.clone();
        self.inner.db.read(move |db| read::search(db, &filter)).await
    }

    /// Walks the chain and returns its first broken entry.
    pub async fn verify(&self) -> Result<ChainReport, Fault> {
        self.inner.db.read(read::verify).await
    }

    /// Whether the chain has an entry with this digest, in hexadecimal.
    pub async fn contains(&self, digest: &str) -> Result<bool, Fault> {
        let digest = digest.trim().to_owned();
        let sql = "SELECT EXISTS (SELECT 1 FROM entry WHERE lower(hex(digest)) = lower(?1))
            OR EXISTS (SELECT 1 FROM anchor WHERE lower(hex(digest)) = lower(?1))";
        self.inner.db.read(move |db| db.value(sql, [&digest])).await
    }

    pub async fn principals(&self) -> Result<Vec<KnownPrincipal>, Fault> {
        self.inner.db.read(read::principals).await
    }

    /// Deletes the key of a principal and its use of quotas. Its entries stay, without anything that names it.
    ///
    /// `details` says what else was erased, without the name. Returns false if the audit did not know the principal.
    pub async fn erase(&self, name: &str, details: &str) -> Result<bool, Fault> {
        self.flush().await?;
        let (name, details, now) = (name.to_owned(), details.to_owned(), self.inner.now());
        let existed = self.inner.db.write(move |db| write::erase(db, &name, now, &details)).await?;
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
                if let Some(oldest) = self.db.read(write::oldest).await? {
                    // One day at a time: a clock that is ahead by years must not delete everything.
                    before = before.min(oldest + DAY_MS);
                }
                while self.db.write(move |db| write::delete_old(db, before, now)).await? {}
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
        let written = self.db.write(move |db| {
            write::append(db, &batch)?;
            if lost == 0 {
                return Ok(());
            }
            let details = format!("{lost} entries could not be stored");
            let entry = AuditEntry::event(AuditKind::Loss, &Principal::Local, "error", &details);
            write::append(db, &[TimedEntry { at: now, entry }])
        });
        let written = written.await;
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
impl AuditLog for SqliteAudit {
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
        match self.inner.free_space.is_low(self.inner.db.path()) {
            true => lock(&self.inner.queue).add_lost(),
            false => self.record(entry),
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
            // Nothing waited. Opening the file shows whether it can be written at all.
            self.inner.db.write(|_| Ok(())).await?;
            self.inner.is_working.store(true, Ordering::Release);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
