//! Writes what waits: one task writes all of it in one transaction, and deletes old entries once a day.

use std::sync::{Arc, atomic::Ordering};

use gatehouse_core::{
    Principal, lock,
    outcome::Fault,
    ports::audit::{AuditEntry, AuditKind},
};
use tokio::sync::oneshot;

use super::{
    AuditInner, CHAIN, DAY_MS, MAX_WAITING,
    queue::{AuditWriting, UnwrittenEntries, WaitingEntry},
    write::{self, TimedEntry},
};
use crate::{
    sql::{
        Commit, Session,
        batch::{self, Batch},
    },
    worker::run_detached,
};

impl AuditInner {
    pub(super) fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    pub(super) fn push(&self, entry: AuditEntry, done: Option<oneshot::Sender<Result<(), Fault>>>) {
        let entry = TimedEntry { at: self.now(), entry };
        let mut queue = lock(&self.queue);
        if done.is_none() && queue.waiting.len() >= MAX_WAITING {
            queue.add_lost();
        } else {
            queue.waiting.push(WaitingEntry { entry, done });
        }
    }

    /// Writes everything that waits, in a separate task, so that a cancelled caller loses nothing.
    pub(super) async fn write_detached(self: &Arc<Self>) -> Result<(), Fault> {
        let inner = Arc::clone(self);
        run_detached(async move { inner.write_all().await }).await
    }

    pub(super) async fn write_all(&self) -> Result<(), Fault> {
        let mut writing = self.writing.lock().await;
        loop {
            if let Some(batch) = writing.unconfirmed.take()
                && let Err(fault) = self.write(&mut writing, batch, true).await
            {
                // Those who wait for later entries do not wait for another attempt.
                let waiters: Vec<_> =
                    lock(&self.queue).waiting.iter_mut().filter_map(|entry| entry.done.take()).collect();
                for done in waiters {
                    let _ = done.send(Err(fault.clone()));
                }
                return Err(fault);
            }
            let (waiting, lost) = {
                let mut queue = lock(&self.queue);
                (std::mem::take(&mut queue.waiting), std::mem::take(&mut queue.lost))
            };
            if waiting.is_empty() && lost == 0 {
                return Ok(());
            }
            let (entries, waiters): (Vec<_>, Vec<_>) =
                waiting.into_iter().map(|WaitingEntry { entry, done }| (entry, done)).unzip();
            let batch = Batch::new(UnwrittenEntries { entries: Arc::new(entries), lost });
            let written = self.write(&mut writing, batch, false).await;
            for done in waiters.into_iter().flatten() {
                let _ = done.send(written.clone());
            }
            written?;
            let today = self.now() / DAY_MS;
            if writing.cleaned != Some(today) {
                let (now, mut before) = (self.now(), self.now() - self.keep_ms);
                let oldest = self.db.read(async |db: Session<'_>| write::oldest(db).await).await?;
                if let Some(oldest) = oldest {
                    // One day at a time: a clock that is ahead by years must not delete everything.
                    before = before.min(oldest + DAY_MS);
                }
                let delete = async move |db: Session<'_>| write::delete_old(db, before, now).await;
                while self.db.write(CHAIN, delete).await? {}
                writing.cleaned = Some(today);
            }
        }
    }

    /// Writes a batch. After a failure its entries wait again, or the batch itself if it may have been written.
    async fn write(
        &self,
        writing: &mut AuditWriting,
        batch: Batch<UnwrittenEntries>,
        is_repeated: bool,
    ) -> Result<(), Fault> {
        let (id, now) = (batch.id(), self.now());
        let UnwrittenEntries { entries, lost } = batch.content.clone();
        let append = async move |db: Session<'_>| {
            if !batch::claim(db, "audit_batch", &id, now / DAY_MS).await? {
                return Ok(());
            }
            write::append(db, &entries).await?;
            if lost == 0 {
                return Ok(());
            }
            let details = format!("{lost} entries could not be stored");
            let entry = AuditEntry::event(AuditKind::Loss, &Principal::Local, "error", &details);
            write::append(db, &[TimedEntry { at: now, entry }]).await
        };
        let fault = match self.db.write_known(CHAIN, append).await {
            Ok(Commit::Done(())) => {
                self.is_working.store(true, Ordering::Release);
                self.is_failing.store(false, Ordering::Release);
                return Ok(());
            }
            Err(fault) if !is_repeated => {
                let mut queue = lock(&self.queue);
                queue.lost += lost;
                let entries = Arc::unwrap_or_clone(batch.content.entries).into_iter();
                queue.waiting.splice(..0, entries.map(|entry| WaitingEntry { entry, done: None }));
                fault
            }
            Ok(Commit::Unknown(fault)) | Err(fault) => {
                writing.unconfirmed = Some(batch);
                fault
            }
        };
        self.is_working.store(false, Ordering::Release);
        if !self.is_failing.swap(true, Ordering::AcqRel) {
            tracing::error!(
                "cannot write the audit; calls that change something are refused: {}",
                fault.message
            );
        }
        Err(fault)
    }
}
