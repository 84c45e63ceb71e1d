//! The ledger, in a database of its own that all hosts of a machine share.
//!
//! Recording adds a call to what waits and returns. What waits is written together, in one transaction, by a task that the
//! first call starts and that ends when nothing waits; nothing is opened before, and nothing runs in between. Every call is
//! counted; of a rush only the first are kept singly, for a row costs more than many a call. What cannot be written waits as
//! long as there is room, and is said once; what is lost is counted.

mod health;
mod latency;
mod read;
mod related;
mod sums;
mod write;

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
    time::Duration,
};

use async_trait::async_trait;
use gatehouse_core::{
    lock,
    outcome::Fault,
    ports::{
        CallLedger, Clock,
        ledger::{CallSample, MetricsFilter, RelatedTool, ToolMetrics},
    },
    tool::ToolId,
};
use gatehouse_files::{Durability, write_private};
use rusqlite::Connection;
use tokio::{sync::watch, time::timeout};

pub use self::health::LedgerHealth;
use self::{health::LossCounter, sums::CallSums};
use super::{db::Database, error::StoreError, migrations};

/// Milliseconds of a day; days are those of UTC.
const DAY_MS: i64 = 86_400_000;

/// Calls that are written singly at once, at most: what is usually called next shows in fewer.
const MAX_ROWS: usize = 1_000;

/// How long calls are gathered before they are written.
const GATHER_TIME: Duration = Duration::from_secs(1);

/// How long whoever asks waits for what is not written yet: a call may stand behind the question.
const MAX_FLUSH_WAIT: Duration = Duration::from_secs(1);

/// The ledger on SQLite.
pub struct SqliteLedger {
    inner: Arc<Inner>,
}

struct Inner {
    db: Database,
    clock: Arc<dyn Clock>,
    /// How long single calls are kept, in milliseconds.
    kept_ms: i64,
    queue: Mutex<LedgerQueue>,
    losses: LossCounter,
    /// Held by whoever writes; the day on which old calls were last deleted.
    writing: tokio::sync::Mutex<Option<i64>>,
}

#[derive(Default)]
struct LedgerQueue {
    waiting: LedgerBatch,
    /// Calls that were dropped, and of which nobody was told yet.
    dropped: u64,
    /// Whether a task is going to write what waits.
    at_work: bool,
}

/// What one transaction writes.
#[derive(Default)]
struct LedgerBatch {
    sums: CallSums,
    rows: Vec<CallSample>,
}

impl SqliteLedger {
    /// A ledger in this file, which is made with the first call; beside it lies the key that callers are told apart with.
    /// Single calls are kept for so many days, at least one; what they add up to, for ever.
    pub fn new(path: PathBuf, retention_days: u32, clock: Arc<dyn Clock>) -> Self {
        let inner = Inner {
            db: Database::for_counters("the ledger", path, migrations::LEDGER),
            clock,
            kept_ms: i64::from(retention_days.max(1)) * DAY_MS,
            queue: Mutex::default(),
            losses: LossCounter::default(),
            writing: tokio::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    /// How it does, now and whenever that changes.
    pub fn health(&self) -> watch::Receiver<LedgerHealth> {
        self.inner.losses.subscribe()
    }

    /// The file.
    pub fn path(&self) -> &Path {
        self.inner.db.path()
    }

    /// Writes what waits, and closes the ledger for good.
    pub async fn close(&self) {
        // Nothing waits where nothing was ever recorded: then no file is made to be closed.
        let _said = self.inner.write_all().await;
        self.inner.db.close().await;
        let left = {
            let mut queue = lock(&self.inner.queue);
            std::mem::take(&mut queue.waiting).sums.calls + std::mem::take(&mut queue.dropped)
        };
        self.inner.losses.record_shutdown(left);
    }
}

impl Inner {
    fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    fn first_day(&self, filter: &MetricsFilter) -> i64 {
        filter.days.map_or(0, |days| self.now() / DAY_MS - i64::from(days.max(1)) + 1)
    }

    /// Writes everything that waits.
    async fn write_all(&self) -> Result<(), Fault> {
        let mut cleaned = self.writing.lock().await;
        loop {
            let unwritten = Arc::new(std::mem::take(&mut lock(&self.queue).waiting));
            if unwritten.sums.calls == 0 {
                return Ok(());
            }
            let (written, key) = (Arc::clone(&unwritten), self.db.path().with_extension("key"));
            let write = move |db: &rusqlite::Transaction<'_>| {
                write::insert(db, &written.sums, &written.rows, &caller_key(db, &key)?)
            };
            if let Err(fault) = self.db.write(write).await {
                let lost = self.requeue(&unwritten, &fault);
                self.losses.record_write_failure(&fault, lost);
                return Err(fault);
            }
            self.losses.record_write(std::mem::take(&mut lock(&self.queue).dropped));
            let today = self.now() / DAY_MS;
            if *cleaned != Some(today) {
                let before = self.now() - self.kept_ms;
                while self.db.write(move |db| write::forget_calls(db, before)).await? {}
                *cleaned = Some(today);
            }
        }
    }

    /// The same on a task of its own: a caller that waits for it and gives up loses nothing.
    async fn write_detached(self: &Arc<Self>) -> Result<(), Fault> {
        let inner = Arc::clone(self);
        let write = tokio::spawn(async move { inner.write_all().await });
        write.await.unwrap_or_else(|_| Err(Fault::internal("the ledger: the work ended without an answer")))
    }

    /// Puts calls back that could not be written, where that may go better later; how many are lost since this was asked last.
    fn requeue(&self, unwritten: &LedgerBatch, fault: &Fault) -> u64 {
        let mut queue = lock(&self.queue);
        if fault.retryable {
            queue.dropped += queue.waiting.sums.merge_back(&unwritten.sums);
            let room = MAX_ROWS.saturating_sub(queue.waiting.rows.len()).min(unwritten.rows.len());
            let newest = &unwritten.rows[unwritten.rows.len() - room..];
            queue.waiting.rows.splice(..0, newest.iter().cloned());
        } else {
            queue.dropped += unwritten.sums.calls;
        }
        std::mem::take(&mut queue.dropped)
    }

    async fn gather_and_write(&self) {
        loop {
            tokio::time::sleep(GATHER_TIME).await;
            let written = self.write_all().await;
            let mut queue = lock(&self.queue);
            if written.is_err() || queue.waiting.sums.calls == 0 {
                queue.at_work = false;
                return;
            }
        }
    }
}

impl LedgerQueue {
    fn add(&mut self, sample: CallSample) {
        if !self.waiting.sums.add(&sample) {
            self.dropped += 1;
        } else if self.waiting.rows.len() < MAX_ROWS {
            self.waiting.rows.push(sample);
        }
    }
}

/// The key that callers are told apart with, which is made here where there is none. Only one process at a time is inside a
/// transaction that writes, so two never make one each.
fn caller_key(db: &Connection, path: &Path) -> Result<String, StoreError> {
    if let Ok(key) = std::fs::read_to_string(path)
        && key.len() == 64
    {
        return Ok(key);
    }
    let key: String = db.query_row("SELECT lower(hex(randomblob(32)))", [], |row| row.get(0))?;
    write_private(path, key.as_bytes(), Durability::Synced).map_err(StoreError::Folder)?;
    Ok(key)
}

/// Kind and name of the source that a filter names.
fn source(filter: &MetricsFilter) -> (Option<&'static str>, Option<&str>) {
    filter.source.as_ref().map(|source| (source.kind(), &**source.name())).unzip()
}

#[async_trait]
impl CallLedger for SqliteLedger {
    fn record(&self, sample: CallSample) {
        let mut queue = lock(&self.inner.queue);
        queue.add(sample);
        if queue.at_work {
            return;
        }
        // Outside of the runtime it waits for the next flush.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            queue.at_work = true;
            let inner = Arc::clone(&self.inner);
            runtime.spawn(async move { inner.gather_and_write().await });
        }
    }

    async fn metrics(&self, filter: &MetricsFilter) -> Result<Vec<ToolMetrics>, Fault> {
        // What cannot be written was said in the log, and what is there can be read all the same.
        let _said = timeout(MAX_FLUSH_WAIT, self.inner.write_detached()).await;
        let (filter, first_day) = (filter.clone(), self.inner.first_day(filter));
        let today = self.inner.now() / DAY_MS;
        self.inner.db.read(move |db| read::metrics(db, &filter, first_day, today)).await
    }

    async fn reset(&self, filter: &MetricsFilter) -> Result<u64, Fault> {
        self.flush().await?;
        let (filter, first_day) = (filter.clone(), self.inner.first_day(filter));
        self.inner.db.write(move |db| write::reset(db, &filter, first_day)).await
    }

    async fn related(&self, tool: &ToolId, limit: usize) -> Result<Vec<RelatedTool>, Fault> {
        let tool = tool.clone();
        self.inner.db.read(move |db| related::related(db, &tool, limit)).await
    }

    async fn flush(&self) -> Result<(), Fault> {
        self.inner.write_detached().await
    }
}
