//! Listings of a server in the background: the first one, with retries as long as a client needs it, and another after
//! the server reports changes, one at a time however many reports arrive.

use std::{
    sync::{Arc, Weak},
    time::Duration,
};

use gatehouse_core::{Fault, lock, ports::servers::ServerState, source::PendingListing};
use gatehouse_net::Backoff;
use tokio::{sync::watch, time::Instant};

use super::{DownstreamServer, shutdown_fault};

/// Maximum time that clients wait for the first listing of a server.
const MAX_CLIENT_WAIT: Duration = Duration::from_secs(5);

/// Pauses after failed first listings.
const RETRY: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(300) };

/// Pauses between listings while changes keep coming.
const RELIST: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };

/// Failed listings in a row before the task gives up until the next report.
const MAX_FAILURES: u32 = 5;

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

#[derive(Default, Clone, Copy, PartialEq)]
pub(super) enum RelistState {
    #[default]
    Idle,
    Running,
    /// A change was reported since the current or last listing started.
    Again,
}

impl DownstreamServer {
    /// Starts to list the server unless that is in progress.
    pub(in crate::downstream) fn first_listing(&self, then: AfterListing) -> PendingListing {
        self.begin_first_listing(then).0
    }

    fn begin_first_listing(&self, then: AfterListing) -> (PendingListing, watch::Receiver<ListingProgress>) {
        let starting = || format!("{} is still starting", self.id);
        let mut inner = lock(&self.inner);
        let running = inner.first_listing.as_ref().and_then(|first| Some((first.wanted.upgrade()?, first)));
        if let Some((wanted, first)) = running {
            let (reason, until) = match &*first.progress.borrow() {
                ListingProgress::Failed(fault) => (fault.in_one_line(), None),
                _ => (starting(), Some(first.began + MAX_CLIENT_WAIT)),
            };
            return (PendingListing { reason, until, wanted }, first.progress.subscribe());
        }
        let (wanted, began) = (Arc::new(()), Instant::now());
        let (progress, receiver) = watch::channel(ListingProgress::Running);
        let weak = Arc::downgrade(&wanted);
        inner.first_listing = Some(FirstListing { wanted: Weak::clone(&weak), began, progress });
        drop(inner);
        self.shared.spawn(list_until_done(Weak::clone(&self.this), weak, then));
        (PendingListing { reason: starting(), until: Some(began + MAX_CLIENT_WAIT), wanted }, receiver)
    }

    /// Records a first listing that failed, as long as the returned token is held.
    pub(in crate::downstream) fn hold_back(&self, reason: &str) -> Arc<()> {
        let token = Arc::new(());
        let (progress, _) = watch::channel(ListingProgress::Failed(Fault::unavailable(reason)));
        let first = FirstListing { wanted: Arc::downgrade(&token), began: Instant::now(), progress };
        lock(&self.inner).first_listing = Some(first);
        token
    }

    /// Waits until the server is listed, and starts the listing if necessary. Concurrent callers share it.
    pub(in crate::downstream) async fn wait_until_listed(&self) -> Result<(), Fault> {
        if self.known().await?.is_some() {
            return Ok(());
        }
        let (pending, mut progress) = self.begin_first_listing(AfterListing::Stop);
        if pending.until.is_none() {
            // The next background attempt may be minutes away.
            return self.list_isolated().await;
        }
        let ended = progress.wait_for(|progress| !matches!(progress, ListingProgress::Running)).await;
        match ended.as_deref() {
            Ok(ListingProgress::Failed(fault)) => Err(fault.clone()),
            Ok(_) => Ok(()),
            Err(_) => Err(shutdown_fault()),
        }
    }

    /// Whether the server was never listed, and can be without a caller that signs in.
    pub(in crate::downstream) async fn can_be_listed_first(&self) -> bool {
        matches!((self.known().await, self.sign_in_listing().await), (Ok(None), Ok(None)))
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

    /// Repeats an incomplete listing, after a pause in which a new connection becomes the server's.
    pub(super) fn complete_listing(self: &Arc<Self>) {
        self.relist(RELIST.first, false);
    }

    pub(super) async fn ensure_listed(&self) -> Result<(), Fault> {
        if self.known().await?.is_some() {
            return Ok(());
        }
        // A new connection has listed its tools. With an older one, the stored listing may have been removed since.
        let connection = self.connection().await?;
        if self.known().await?.is_none() {
            let (connection, listed) = self.list_in_session(connection, false).await?;
            listed.map_err(|failure| self.listing_fault(&connection, failure))?;
        }
        Ok(())
    }

    /// Schedules another listing, immediately if none has run recently.
    pub(super) fn lists_changed(self: &Arc<Self>) {
        self.relist(Duration::ZERO, true);
    }

    /// Schedules another listing after a pause. If one is running, another follows it only if `again` is true.
    fn relist(self: &Arc<Self>, pause: Duration, again: bool) {
        let mut state = lock(&self.relisting);
        if *state != RelistState::Idle {
            if again {
                *state = RelistState::Again;
            }
            return;
        }
        *state = RelistState::Running;
        drop(state);
        let weak = Arc::downgrade(self);
        self.shared.spawn(async move {
            tokio::time::sleep(pause).await;
            let mut failures = 0;
            for round in 1.. {
                let Some(server) = weak.upgrade() else { return };
                let began = Instant::now();
                let is_listed = server.list_again().await;
                drop(server);
                tokio::time::sleep_until(began + RELIST.pause(round)).await;
                let Some(server) = weak.upgrade() else { return };
                failures = if is_listed { 0 } else { failures + 1 };
                let mut state = lock(&server.relisting);
                // Retry after a failure, so that the reported change is not lost.
                let again = (1..=MAX_FAILURES).contains(&failures);
                if *state == RelistState::Running && !again {
                    *state = RelistState::Idle;
                    return;
                }
                *state = RelistState::Running;
            }
        });
    }
}

async fn list_until_done(server: Weak<DownstreamServer>, wanted: Weak<()>, then: AfterListing) {
    for attempt in 1.. {
        let Some(server) = server.upgrade() else { return };
        let is_current = |first: &&FirstListing| Weak::ptr_eq(&first.wanted, &wanted);
        if lock(&server.inner).first_listing.as_ref().filter(is_current).is_none() {
            return;
        }
        let listed = server.ensure_listed().await;
        if listed.is_ok() && then == AfterListing::Stop {
            server.stop_unless_needed();
        }
        let is_listed = listed.is_ok();
        let is_news = {
            let mut inner = lock(&server.inner);
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
            server.shared.changes.send_modify(|changes| *changes += 1);
        }
        if is_listed {
            return;
        }
        drop(server);
        tokio::time::sleep(RETRY.pause(attempt)).await;
        if wanted.strong_count() == 0 {
            return;
        }
    }
}
