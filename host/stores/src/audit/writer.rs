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
    queue::WaitingEntry,
    write::{self, TimedEntry},
};
use crate::{sql::Session, worker::run_detached};

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
