//! First listing of a server, in the background, with retries as long as a client needs it.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use gatehouse_core::{Fault, lock, ports::servers::ServerState, source::PendingListing};
use tokio::{sync::watch, time::Instant};

use super::DownstreamServer;

/// Maximum time that clients wait for the first listing of a server.
const MAX_CLIENT_WAIT: Duration = Duration::from_secs(5);

/// Wait after the first failed attempt. It doubles up to [`MAX_WAIT`].
const MIN_WAIT: Duration = Duration::from_secs(1);
const MAX_WAIT: Duration = Duration::from_secs(300);

pub(super) struct FirstListing {
    wanted: Weak<()>,
    began: Instant,
    progress: watch::Sender<ListingProgress>,
}

#[derive(Clone)]
enum ListingProgress {
    Running,
    /// The last attempt failed; another one follows.
    Failed(Fault),
    Listed,
}

/// Use of the connection after the first listing.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::downstream) enum AfterListing {
    /// Keep it open: clients are shown the tools.
    Keep,
    /// Close it unless a call needs it, so that a host with many servers does not run them all.
    Stop,
}

impl DownstreamServer {
    /// Starts to list the server unless that is in progress.
    pub(in crate::downstream) fn first_listing(&self, then: AfterListing) -> PendingListing {
        self.begin_first_listing(then).0
    }

    fn begin_first_listing(&self, then: AfterListing) -> (PendingListing, watch::Receiver<ListingProgress>) {
        let starting = || format!("{} is still starting", self.id);
        let mut inner = lock(&self.inner);
        let under_way = inner.first_listing.as_ref().and_then(|first| Some((first.wanted.upgrade()?, first)));
        if let Some((wanted, first)) = under_way {
            let (why, until) = match &*first.progress.borrow() {
                ListingProgress::Failed(fault) => (fault.in_one_line(), None),
                _ => (starting(), Some(first.began + MAX_CLIENT_WAIT)),
            };
            return (PendingListing { why, until, wanted }, first.progress.subscribe());
        }
        let (wanted, began) = (Arc::new(()), Instant::now());
        let (progress, receiver) = watch::channel(ListingProgress::Running);
        let weak = Arc::downgrade(&wanted);
        inner.first_listing = Some(FirstListing { wanted: Weak::clone(&weak), began, progress });
        drop(inner);
        tokio::spawn(ask_until_listed(Weak::clone(&self.own), weak, then));
        (PendingListing { why: starting(), until: Some(began + MAX_CLIENT_WAIT), wanted }, receiver)
    }

    /// Waits until the server is listed, and starts the listing if necessary. Concurrent callers share it.
    pub(in crate::downstream) async fn wait_until_listed(&self) -> Result<(), Fault> {
        if self.known().await?.is_some() {
            return Ok(());
        }
        let (pending, mut progress) = self.begin_first_listing(AfterListing::Stop);
        if pending.until.is_none() {
            // The next background attempt may be minutes away.
            return self.learn_isolated().await;
        }
        let ended = progress.wait_for(|progress| !matches!(progress, ListingProgress::Running)).await;
        match ended.as_deref() {
            Ok(ListingProgress::Failed(fault)) => Err(fault.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err(Fault::unavailable("the host is shutting down")),
        }
    }

    pub(super) fn stop_unless_needed(&self) {
        let Some(connection) = self.connected() else { return };
        let is_needed = {
            let inner = lock(&self.inner);
            self.definition.preconnect || inner.needed || inner.call_may_follow
        };
        if !is_needed && self.detach_connection(&connection, ServerState::Dormant, None) {
            tokio::spawn(async move { connection.close().await });
        }
    }

    pub(super) async fn ensure_listed(&self) -> Result<(), Fault> {
        if self.known().await?.is_some() {
            return Ok(());
        }
        // A new connection has listed its tools. With an older one, the stored listing may have been removed since.
        let connection = self.connection().await?;
        if self.known().await?.is_none() {
            self.learn(&connection, false)
                .await
                .map_err(|failure| self.listing_fault(&connection, failure))?;
        }
        Ok(())
    }
}

async fn ask_until_listed(server: Weak<DownstreamServer>, wanted: Weak<()>, then: AfterListing) {
    let mut wait = MIN_WAIT;
    loop {
        let Some(asked) = server.upgrade() else { return };
        let is_current = |first: &&FirstListing| Weak::ptr_eq(&first.wanted, &wanted);
        if lock(&asked.inner).first_listing.as_ref().filter(is_current).is_none() {
            return;
        }
        let listed = asked.ensure_listed().await;
        if listed.is_ok() && then == AfterListing::Stop {
            asked.stop_unless_needed();
        }
        let is_listed = listed.is_ok();
        let is_news = {
            let mut inner = lock(&asked.inner);
            // Another task may have started after this listing was last needed.
            let current = inner.first_listing.as_ref().filter(|first| Weak::ptr_eq(&first.wanted, &wanted));
            let Some(first) = current else { return };
            let before = first.progress.send_replace(match listed {
                Ok(()) => ListingProgress::Listed,
                Err(fault) => ListingProgress::Failed(fault),
            });
            if is_listed {
                inner.first_listing = None;
            }
            is_listed || matches!(before, ListingProgress::Running)
        };
        // Also announce empty listings and failures, because clients stop waiting for both.
        if is_news {
            asked.shared.changes.send_modify(|changes| *changes += 1);
        }
        if is_listed {
            return;
        }
        drop(asked);
        tokio::time::sleep(wait).await;
        wait = (wait * 2).min(MAX_WAIT);
        if wanted.strong_count() == 0 {
            return;
        }
    }
}
