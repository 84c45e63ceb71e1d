//! Switches from the file to memory and back, and to a file that was created again.

use std::{
    io::ErrorKind,
    path::{Path, PathBuf},
    sync::{Arc, Weak},
    time::Duration,
};

use gatehouse_core::{Fault, lock};

use super::{CurrentTools, ListingHistory, ToolDatabase, file_database};
use crate::{
    sql::{Database, Result, Session, StoreError, sqlite::SqliteDatabase},
    tools::{file, schema::FILE, tables},
    worker::run_detached,
};

const RETRY_PAUSE: Duration = Duration::from_secs(30);

const LOST_REVIEW_NOTE: &str = "Reviews are lost: servers with on_change = \"quarantine\" are quarantined until \
`gatehouse servers review` approves their listings; for other servers, the current claims of their tools count as \
accepted.";

impl CurrentTools {
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
        let Some(path) = self.file.as_ref().filter(|_| failed.reason.is_none()) else {
            return Err(failed.db.fault(error));
        };
        let may_be_damage = error.may_be_damage();
        // A file missing during a restore does not mean that the catalog is new.
        let may_be_new = !matches!(error, StoreError::Restoring);
        let mut reason = failed.db.fault(error).message;
        if may_be_damage && may_set_aside {
            failed.db.close().await;
            match set_aside(path).await {
                Ok(aside) => {
                    let opened = ToolDatabase::new(file_database(path), failed.number + 1, None);
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
        let (db, is_lost) = in_memory(path, may_be_new).await?;
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
        let put = async move |db: Session<'_>| put_all(db, &listed).await;
        let put = self.current().db.try_write(&[], put).await;
        if let Ok(Err(error)) = put {
            tracing::debug!(%error, "cannot store server listings in the new database");
        }
    }

    fn listing_histories(&self) -> Vec<ListingHistory> {
        lock(&self.state).listed.values().cloned().collect()
    }

    /// Tries to use the file again. Returns true if it is in use or the database is closed.
    pub(super) async fn reopen_file(&self) -> bool {
        let turn = self.changing.lock().await;
        let before = self.current();
        let Some(path) = self.file.as_ref().filter(|_| before.reason.is_some()) else { return true };
        if lock(&self.state).closed {
            return true;
        }
        let listed = self.listing_histories();
        let written: Vec<_> = listed.iter().map(|listed| Arc::clone(&listed.last.0)).collect();
        let opened = ToolDatabase::new(file_database(path), before.number + 1, None);
        let put = async move |db: Session<'_>| put_all(db, &listed).await;
        let done = opened.db.try_write(&[], put).await;
        if !matches!(done, Ok(Ok(_))) {
            opened.db.close().await;
            let Ok(Err(error)) = done else { return false };
            let may_set_aside = error.may_be_damage() && !lock(&self.state).set_aside;
            if !may_set_aside || set_aside(path).await.is_err() {
                return false;
            }
            lock(&self.state).set_aside = true;
            // The next attempt writes to the new file.
            return false;
        }
        tracing::info!("{} is usable again", path.display());
        self.switch(opened, false);
        before.db.close().await;
        drop(turn);
        // Listings from during the switch are only in memory.
        for ListingHistory { last: (listing, now), .. } in self.listing_histories() {
            if written.iter().any(|written| Arc::ptr_eq(written, &listing)) {
                continue;
            }
            let server = Arc::clone(&listing.server);
            let put = async move |db: Session<'_>| tables::put(db, listing, now, false).await;
            if let Err(fault) = self.write(&server, put).await {
                tracing::warn!("cannot store the listing of a server: {}", fault.in_one_line());
            }
        }
        true
    }
}

async fn set_aside(path: &Path) -> Result<Option<PathBuf>> {
    let path = path.to_owned();
    let done = tokio::task::spawn_blocking(move || file::set_aside(&path)).await;
    done.unwrap_or(Err(StoreError::Closed))
}

/// Creates a database in memory from the file. Returns true as well if an unreadable file may exist.
async fn in_memory(path: &Path, may_be_new: bool) -> Result<(Database, bool), Fault> {
    let (db, source) = (SqliteDatabase::in_memory(&FILE), path.to_owned());
    if db.run_session_on_writer(move |memory| file::read_into(memory, &source)).await?.is_ok() {
        return Ok((Database::Sqlite(Arc::new(db)), false));
    }
    db.close().await;
    let db = Database::Sqlite(Arc::new(SqliteDatabase::in_memory(&FILE)));
    let is_missing = || path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound);
    let is_lost = !(may_be_new && is_missing());
    if is_lost {
        db.write(&[], async |db: Session<'_>| tables::set_lost(db).await).await?;
    }
    Ok((db, is_lost))
}

/// Stores each server's first listing, which counts as reviewed if the server is new, and then its last listing.
async fn put_all(db: Session<'_>, listed: &[ListingHistory]) -> Result<()> {
    for ListingHistory { first, last } in listed {
        tables::put(db, Arc::clone(&first.0), first.1, false).await?;
        tables::put(db, Arc::clone(&last.0), last.1, false).await?;
    }
    tables::count_change(db).await.map(drop)
}

async fn retry(database: Weak<CurrentTools>) {
    loop {
        tokio::time::sleep(RETRY_PAUSE).await;
        let Some(database) = database.upgrade() else { return };
        if database.reopen_file().await {
            return;
        }
    }
}
