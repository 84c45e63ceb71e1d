//! The call ledger: a file that all hosts of a machine share, or tables of a PostgreSQL server.
//!
//! Recording queues a call. The first call starts a task that writes the queue in one transaction and ends when it is
//! empty, so an idle host opens nothing. Every call is counted, but in a burst only the first 1,000 get rows of
//! their own, because a row costs more than many calls do. If writing fails, calls wait as long as there is room, and
//! the log reports it once.

mod calls;
mod health;
mod queue;
mod read;
pub(crate) mod schema;
mod sums;
mod write;

use std::{
    path::PathBuf,
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
use tokio::{sync::watch, time::timeout};

pub use self::health::LedgerHealth;
use self::{
    health::LossCounter,
    queue::{LedgerBatch, LedgerQueue, MAX_BODY_BYTES},
};
#[cfg(feature = "postgres")]
use crate::sql::postgres::{PostgresConfig, PostgresServer, ServerTables};
use crate::{
    sql::sqlite::SqliteDatabase,
    sql::{
        Commit, Database, Session, Turn,
        batch::{self, Batch},
    },
    worker::run_detached,
};

const DAY_MS: i64 = 86_400_000;

/// The turn of all writes: they add to the same totals.
const CALLS: &[Turn<'static>] = &[Turn::Alone("ledger")];

const GATHER_TIME: Duration = Duration::from_secs(1);

/// A tool call may wait for the query.
const MAX_FLUSH_WAIT: Duration = Duration::from_secs(1);

/// Limits of what the ledger stores of single calls. Daily totals stay.
#[derive(Debug, Clone, Copy)]
pub struct LedgerRetention {
    /// Days after which calls are deleted, at least one.
    pub days: u32,
    /// Maximum bytes of all arguments and replies, of which the newest stay.
    pub body_bytes: u32,
}

pub struct LedgerTables {
    inner: Arc<Inner>,
}

struct Inner {
    db: Database,
    /// The file with the key of the pseudonyms of callers. `None` if the database has it.
    key_file: Option<PathBuf>,
    clock: Arc<dyn Clock>,
    retention: LedgerRetention,
    queue: Mutex<LedgerQueue>,
    losses: LossCounter,
    /// Locked by the writing task.
    writing: tokio::sync::Mutex<LedgerWriting>,
}

#[derive(Default)]
struct LedgerWriting {
    /// The day on which old calls were last deleted.
    cleaned: Option<i64>,
    /// Bytes of arguments and replies since their sum was last compared with its limit. `None` if it never was.
    new_body_bytes: Option<usize>,
    /// A batch of which it is unknown whether it was written.
    unconfirmed: Option<Batch<Arc<LedgerBatch>>>,
}

impl LedgerTables {
    /// Uses a file that the first call creates, with a key file next to it.
    pub fn sqlite(path: PathBuf, retention: LedgerRetention, clock: Arc<dyn Clock>) -> Self {
        let key_file = path.with_extension("key");
        let db = SqliteDatabase::new(&schema::FILE, path);
        Self::new(Database::Sqlite(Arc::new(db)), Some(key_file), retention, clock)
    }

    /// Uses tables of a server, which several hosts can share.
    #[cfg(feature = "postgres")]
    pub fn postgres(server: PostgresConfig, retention: LedgerRetention, clock: Arc<dyn Clock>) -> Self {
        let server = PostgresServer::new("ledger 'postgres'", server, ServerTables::Own(schema::PART));
        Self::new(Database::Postgres(server), None, retention, clock)
    }

    fn new(
        db: Database,
        key_file: Option<PathBuf>,
        retention: LedgerRetention,
        clock: Arc<dyn Clock>,
    ) -> Self {
        let inner = Inner {
            db,
            key_file,
            clock,
            retention,
            queue: Mutex::default(),
            losses: LossCounter::default(),
            writing: tokio::sync::Mutex::default(),
        };
        Self { inner: Arc::new(inner) }
    }

    pub fn health(&self) -> watch::Receiver<LedgerHealth> {
        self.inner.losses.subscribe()
    }

    /// Returns true if any call was ever recorded. Does not create the database.
    pub async fn exists(&self) -> Result<bool, Fault> {
        self.inner.db.exists().await
    }

    /// Deletes single calls after their retention, without creating the database.
    pub async fn forget_old_calls(&self) -> Result<(), Fault> {
        if self.exists().await? { self.inner.forget_calls().await } else { Ok(()) }
    }

    /// Writes queued calls and closes the ledger permanently.
    pub async fn close(&self) {
        // If nothing was ever recorded, this does not create the file.
        let _ignored = self.inner.write_all().await;
        self.inner.db.close().await;
        let unconfirmed = self.inner.writing.lock().await.unconfirmed.take();
        let unconfirmed = unconfirmed.map_or(0, |batch| batch.content.sums.calls);
        let lost_calls = unconfirmed + {
            let mut queue = lock(&self.inner.queue);
            std::mem::take(&mut queue.waiting).sums.calls + std::mem::take(&mut queue.dropped)
        };
        self.inner.losses.record_shutdown(lost_calls);
    }
}

impl Inner {
    fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    fn first_day(&self, filter: &MetricsFilter) -> i64 {
        filter.days.map_or(0, |days| self.now() / DAY_MS - i64::from(days.max(1)) + 1)
    }

    async fn forget_calls(&self) -> Result<(), Fault> {
        let before = self.now() - i64::from(self.retention.days.max(1)) * DAY_MS;
        let forget = async move |db: Session<'_>| write::forget_calls(db, before).await;
        while self.db.write(CALLS, forget).await? {}
        Ok(())
    }

    async fn write_all(&self) -> Result<(), Fault> {
        let mut writing = self.writing.lock().await;
        loop {
            let is_repeated = writing.unconfirmed.is_some();
            let batch = match writing.unconfirmed.take() {
                Some(batch) => batch,
                None => {
                    let unwritten = std::mem::take(&mut lock(&self.queue).waiting);
                    if unwritten.is_empty() {
                        return Ok(());
                    }
                    Batch::new(Arc::new(unwritten))
                }
            };
            let (written, key_file) = (Arc::clone(&batch.content), self.key_file.clone());
            let (id, day, body_bytes) = (batch.id(), self.now() / DAY_MS, self.retention.body_bytes);
            // Counting all of them takes longer than writing a batch.
            let step = MAX_BODY_BYTES.min(self.retention.body_bytes as usize / 16);
            let new_body_bytes = writing.new_body_bytes.unwrap_or(step) + written.body_bytes;
            let forgets_bodies = written.body_bytes > 0 && new_body_bytes > step;
            let new_body_bytes = if forgets_bodies { 0 } else { new_body_bytes };
            let write = async move |db: Session<'_>| {
                if !batch::claim(db, "ledger_batch", &id, day).await? {
                    return Ok(());
                }
                let key = write::caller_key(db, key_file.as_deref()).await?;
                write::insert(db, &written.sums, &written.rows, &key).await?;
                if forgets_bodies {
                    write::forget_bodies(db, body_bytes).await?;
                }
                Ok(())
            };
            match self.db.write_known(CALLS, write).await {
                Ok(Commit::Done(())) => writing.new_body_bytes = Some(new_body_bytes),
                Err(fault) if !is_repeated => {
                    let lost = lock(&self.queue).requeue(&batch.content, &fault);
                    self.losses.record_write_failure(&fault, lost);
                    return Err(fault);
                }
                Ok(Commit::Unknown(fault)) | Err(fault) => {
                    writing.unconfirmed = Some(batch);
                    self.losses.record_write_failure(&fault, 0);
                    return Err(fault);
                }
            }
            self.losses.record_write(std::mem::take(&mut lock(&self.queue).dropped));
            let today = self.now() / DAY_MS;
            if writing.cleaned != Some(today) {
                self.forget_calls().await?;
                writing.cleaned = Some(today);
            }
        }
    }

    /// Writes all queued calls in a separate task, so that a canceled caller loses nothing.
    async fn write_detached(self: &Arc<Self>) -> Result<(), Fault> {
        let inner = Arc::clone(self);
        run_detached(async move { inner.write_all().await }).await
    }

    async fn gather_and_write(&self) {
        loop {
            tokio::time::sleep(GATHER_TIME).await;
            let written = self.write_all().await;
            let mut queue = lock(&self.queue);
            if written.is_err() || queue.waiting.is_empty() {
                queue.is_scheduled = false;
                return;
            }
        }
    }
}

#[async_trait]
impl CallLedger for LedgerTables {
    fn record(&self, sample: CallSample) {
        let mut queue = lock(&self.inner.queue);
        queue.add(sample);
        if queue.is_scheduled {
            return;
        }
        // Without a runtime, the call waits for the next flush.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            queue.is_scheduled = true;
            let inner = Arc::clone(&self.inner);
            runtime.spawn(async move { inner.gather_and_write().await });
        }
    }

    async fn metrics(&self, filter: &MetricsFilter) -> Result<Vec<ToolMetrics>, Fault> {
        // Ignore a failed write: the log reports it, and stored calls are still readable.
        let _ignored = timeout(MAX_FLUSH_WAIT, self.inner.write_detached()).await;
        let (filter, first_day) = (filter.clone(), self.inner.first_day(filter));
        let today = self.inner.now() / DAY_MS;
        let read = async move |db: Session<'_>| read::metrics(db, &filter, first_day, today).await;
        self.inner.db.read(read).await
    }

    async fn reset(&self, filter: &MetricsFilter) -> Result<u64, Fault> {
        self.flush().await?;
        let (filter, first_day) = (filter.clone(), self.inner.first_day(filter));
        let reset = async move |db: Session<'_>| write::reset(db, &filter, first_day).await;
        self.inner.db.write(CALLS, reset).await
    }

    async fn related(&self, tool: &ToolId, limit: usize) -> Result<Vec<RelatedTool>, Fault> {
        let tool = tool.clone();
        self.inner.db.read(async move |db: Session<'_>| read::related(db, &tool, limit).await).await
    }

    async fn flush(&self) -> Result<(), Fault> {
        self.inner.write_detached().await
    }
}
