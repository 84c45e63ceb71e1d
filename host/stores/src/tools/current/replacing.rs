//! Switches from the file to memory and back, and to a file that was created again.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use gatehouse_core::{Fault, lock};
use rusqlite::Connection;

use super::{ListingHistory, SqliteTools, ToolDatabase, file_database};
use crate::{
    sql::{Result, StoreError, sqlite::SqliteDatabase as Database},
    tools::{file, review, schema::FILE, write},
    worker::run_detached,
};

const RETRY_PAUSE: Duration = Duration::from_secs(30);

const LOST_REVIEW_NOTE: &str = "Reviews are lost: servers with on_change = \"quarantine\" are quarantined until \
`gatehouse servers review` approves their listings; for other servers, the current claims of their tools count as \
accepted.";

impl SqliteTools {
    /// Switches to another database than the failed one. Returns `Ok` if the work can be retried.
    pub(super) async fn replace(&self, failed: Arc<ToolDatabase>, error: StoreError) -> Result<(), Fault> {
        let Some(own) = self.own.upgrade() else { return Err(failed.db.fault(error)) };
        run_detached(async move { own.replace_now(failed, error).await }).await
    }

    async fn replace_now(&self, failed: Arc<ToolDatabase>, error: StoreError) -> Result<(), Fault> {
        let _turn = self.changing.lock().await;
        let (is_current, may_set_aside) = {
            let state = lock(&self.state);
            if state.closed || matches!(error, StoreError::Fault(_)) {
                return Err(failed.db.fault(error));
            }
            (Arc::ptr_eq(&state.opened, &failed), !state.set_aside)
        };
        if !is_current {
            return Ok(());
        }
        if failed.reason.is_some() {
            return Err(failed.db.fault(error));
        }
        let may_be_damage = error.may_be_damage();
        // A file missing during a restore does not mean that the catalog is new.
        let may_be_new = !matches!(error, StoreError::Restoring);
        let mut reason = failed.db.fault(error).message;
        if may_be_damage && may_set_aside {
            failed.db.close().await;
            match self.set_aside().await {
                Ok(aside) => {
                    let opened = ToolDatabase::new(file_database(&self.file), failed.number + 1, None);
                    let is_lost = aside.is_some();
                    if let Some(aside) = aside {
                        tracing::warn!(
                            "{reason}. The file was saved as {} and created again. {LOST_REVIEW_NOTE}",
                            aside.display()
                        );
                    }
                    self.switch(opened, true);
                    if is_lost {
                        self.list_again().await;
                    }
                    return Ok(());
                }
                Err(error) => reason = format!("{reason}; cannot create it again ({error})"),
            }
        }
        let (db, is_lost) = in_memory(&self.file, may_be_new).await?;
        failed.db.close().await;
        let note = if is_lost { LOST_REVIEW_NOTE } else { "" };
        tracing::warn!("{reason}. Server listings stay in memory until the file is usable. {note}");
        self.switch(ToolDatabase::new(db, failed.number + 1, Some(reason)), false);
        if is_lost {
            self.list_again().await;
        }
        self.retry_later();
        Ok(())
    }

    fn retry_later(&self) {
        tokio::spawn(retry(Weak::clone(&self.own)));
    }

    fn switch(&self, opened: ToolDatabase, set_aside: bool) {
        let mut state = lock(&self.state);
        state.set_aside |= set_aside;
        state.opened = Arc::new(opened);
    }

    /// Stores all listings of this process in a new database. The next operation handles any failure.
    async fn list_again(&self) {
        let listed = self.listing_histories();
        let put = self.current().db.try_write(move |db| put_all(db, &listed)).await;
        if let Ok(Err(error)) = put {
            tracing::debug!(%error, "cannot store server listings in the new database");
        }
    }

    fn listing_histories(&self) -> Vec<ListingHistory> {
        lock(&self.state).listed.values().cloned().collect()
    }

    async fn set_aside(&self) -> Result<Option<PathBuf>> {
        let path = self.file.clone();
        let done = tokio::task::spawn_blocking(move || file::set_aside(&path)).await;
        done.unwrap_or(Err(StoreError::Closed))
    }

    /// Tries to use the file again. Returns true if it is in use or the database is closed.
    pub(super) async fn reopen_file(&self) -> bool {
        let turn = self.changing.lock().await;
        let before = self.current();
        if lock(&self.state).closed || before.reason.is_none() {
            return true;
        }
        let listed = self.listing_histories();
        let written: Vec<_> = listed.iter().map(|listed| Arc::clone(&listed.last.0)).collect();
        let opened = ToolDatabase::new(file_database(&self.file), before.number + 1, None);
        let done = opened.db.try_write(move |db| put_all(db, &listed)).await;
        if !matches!(done, Ok(Ok(()))) {
            opened.db.close().await;
            let Ok(Err(error)) = done else { return false };
            let may_set_aside = error.may_be_damage() && !lock(&self.state).set_aside;
            if !may_set_aside || self.set_aside().await.is_err() {
                return false;
            }
            lock(&self.state).set_aside = true;
            // The next attempt writes to the new file.
            return false;
        }
        tracing::info!("{} is usable again", self.file.display());
        self.switch(opened, false);
        before.db.close().await;
        drop(turn);
        // Listings from during the switch are only in memory.
        for ListingHistory { last: (listing, now), .. } in self.listing_histories() {
            if !written.iter().any(|written| Arc::ptr_eq(written, &listing))
                && let Err(fault) = self.write(move |db| write::put(db, &listing, now, false)).await
            {
                tracing::warn!("cannot store the listing of a server: {}", fault.in_one_line());
            }
        }
        true
    }
}

/// Creates a database in memory from the file. Returns true as well if an unreadable file may exist.
async fn in_memory(path: &Path, may_be_new: bool) -> Result<(Database, bool), Fault> {
    let new = || Database::in_memory(&FILE);
    let (db, source) = (new(), path.to_owned());
    if db.run_on_writer(move |memory| file::read_into(memory, &source)).await?.is_ok() {
        return Ok((db, false));
    }
    db.close().await;
    let db = new();
    let is_missing = || path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let is_lost = !(may_be_new && is_missing());
    if is_lost {
        db.write(|db| review::set_lost(db)).await?;
    }
    Ok((db, is_lost))
}

/// Stores each server's first listing, which counts as reviewed if the server is new, and then its last listing.
fn put_all(db: &Connection, listed: &[ListingHistory]) -> Result<()> {
    for ListingHistory { first, last } in listed {
        write::put(db, &first.0, first.1, false)?;
        write::put(db, &last.0, last.1, false)?;
    }
    write::changed(db)
}

async fn retry(database: Weak<SqliteTools>) {
    loop {
        tokio::time::sleep(RETRY_PAUSE).await;
        let Some(database) = database.upgrade() else { return };
        if database.reopen_file().await {
            return;
        }
    }
}
