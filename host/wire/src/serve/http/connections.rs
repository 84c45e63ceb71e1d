//! Table of open connections. If it is full, the oldest unauthenticated connection is evicted, or one of the principal
//! with most of them, but never one with a running call.

mod table;

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard},
    time::Duration,
};

use gatehouse_core::Principal;
use tokio::{
    sync::{Notify, Semaphore},
    time::{Instant, timeout_at},
};

use super::{
    connection::{HttpConnection, MIN_HEADER_TIME},
    settings::HttpSettings,
};
use table::{ConnectionTable, EvictionReach};

/// Maximum total response bytes to be written. Beyond it, the client that has stalled longest is closed.
const MAX_UNSENT_BYTES: usize = 256 << 20;

const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// Connections beyond the limit and those that wait for a place. They serve probes, so that a balancer sees a host that is
/// busy, and not one that is dead.
const PROBE_CONNECTIONS: usize = 32;

/// How long a request waits for a place. Most calls are shorter, and idle connections can be evicted then.
const MAX_PLACE_WAIT: Duration = Duration::from_secs(1);

/// Returns how many requests may wait for a place. Their connections need file descriptors, too.
fn max_waiting(connections: usize) -> usize {
    (connections / 4).clamp(16, 128)
}

pub(super) struct OpenConnections {
    settings: HttpSettings,
    table: Mutex<ConnectionTable>,
    /// Requests that may wait for a place, see [`max_waiting`].
    waiting: Semaphore,
    /// Notified when a connection opens.
    opened: Notify,
    /// Notified when a place may be free. Each wakes one of the requests that wait.
    place_freed: Notify,
}

/// A connection in the table. Dropping it removes the entry.
pub(super) struct ConnectionGuard {
    id: u64,
    all: Arc<OpenConnections>,
    pub(super) connection: Arc<HttpConnection>,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        let mut table = self.all.table();
        table.connections.remove(&self.id);
        if let Some(owner) = self.connection.owner() {
            table.release(&owner);
        }
        drop(table);
        if self.connection.has_place() {
            self.all.place_freed.notify_one();
        }
    }
}

impl OpenConnections {
    pub(super) fn new(settings: HttpSettings) -> Arc<Self> {
        let waiting = Semaphore::new(max_waiting(settings.connections));
        Arc::new(Self {
            settings,
            table: Mutex::default(),
            waiting,
            opened: Notify::new(),
            place_freed: Notify::new(),
        })
    }

    fn table(&self) -> MutexGuard<'_, ConnectionTable> {
        gatehouse_core::lock(&self.table)
    }

    /// Adds a connection. If the table is full, closes another or, if calls run on all of them, adds an extra one. `None`
    /// if requests are active on all extra ones.
    pub(super) fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<ConnectionGuard> {
        let mut table = self.table();
        let max = self.settings.connections;
        let has_place = table.find_place(max, EvictionReach::Idle);
        if !has_place && !table.find_extra(max_waiting(max) + PROBE_CONNECTIONS) {
            return None;
        }
        table.last += 1;
        let id = table.last;
        let connection = Arc::new(HttpConnection::new(peer, has_place, Arc::downgrade(self)));
        table.connections.insert(id, Arc::clone(&connection));
        drop(table);
        self.opened.notify_waiters();
        Some(ConnectionGuard { id, all: Arc::clone(self), connection })
    }

    /// Waits until an extra connection gets a place. Returns false if calls go on running on all other connections, or
    /// too many requests wait.
    pub(super) async fn wait_for_place(&self, connection: &HttpConnection) -> bool {
        if connection.has_place() {
            return true;
        }
        let Ok(_waiting) = self.waiting.try_acquire() else { return false };
        let deadline = Instant::now() + MAX_PLACE_WAIT;
        loop {
            let freed = self.place_freed.notified();
            let is_over = Instant::now() >= deadline;
            {
                // The lock keeps two connections from taking one place.
                let table = self.table();
                let reach = if is_over { EvictionReach::All } else { EvictionReach::Idle };
                if table.find_place(self.settings.connections, reach) {
                    connection.take_place();
                    return true;
                }
            }
            if is_over {
                return false;
            }
            // A silent connection becomes dispensable without a notification.
            let _ = timeout_at(deadline.min(Instant::now() + MIN_HEADER_TIME), freed).await;
        }
    }

    /// Lets a waiting request look for a place again.
    pub(super) fn notify_waiting(&self) {
        self.place_freed.notify_one();
    }

    /// Charges a connection to a principal. If most connections are in use and this principal has more than its share,
    /// closes another of its connections. Returns false if calls run on all of them. The local user has no limit.
    pub(super) fn charge(&self, connection: &HttpConnection, principal: &Principal) -> bool {
        let mut table = self.table();
        let before = connection.set_owner(principal);
        if before.as_ref() != Some(principal) {
            if let Some(before) = before {
                table.release(&before);
            }
            *table.owners.entry(principal.clone()).or_default() += 1;
        }
        let max = self.settings.connections;
        // Below seven eighths, nobody needs the room.
        let is_crowded = table.owners.values().sum::<usize>() * 8 > max * 7;
        if *principal == Principal::Local || !is_crowded {
            return true;
        }
        let owned = table.open().filter(|other| other.owner().as_ref() == Some(principal)).count();
        owned <= table.share(max) || table.close_other_of(principal, connection)
    }

    /// Returns how many connections are open.
    pub(super) fn len(&self) -> usize {
        self.table().connections.len()
    }

    /// True if more than four fifths of the connections are open.
    pub(super) fn is_crowded(&self) -> bool {
        self.table().connections.len() * 5 > self.settings.connections * 4
    }

    /// Closes a connection on which no call runs. Returns false if there is none.
    pub(super) fn make_room(&self) -> bool {
        self.table().close_one(self.settings.connections, EvictionReach::All)
    }

    /// Closes connections that exceed a timeout, until dropped.
    pub(super) async fn close_expired(&self) {
        let HttpSettings { header_timeout, write_timeout, idle_timeout, .. } = self.settings;
        let often = (header_timeout.min(write_timeout).min(idle_timeout) / 8).min(MAX_CHECK_INTERVAL);
        loop {
            let opened = self.opened.notified();
            if self.table().connections.is_empty() {
                opened.await;
            }
            tokio::time::sleep(often).await;
            let now = Instant::now();
            for connection in self.table().connections.values() {
                if let Some(expired) = connection.expired(&self.settings, now) {
                    tracing::debug!(peer = %connection.peer, "closed: {expired}");
                    connection.closing.cancel();
                }
            }
        }
    }

    /// Closes the slowest client if too many response bytes are unwritten.
    pub(super) fn close_slowest(&self) {
        let table = self.table();
        let unsent: usize = table.connections.values().map(|connection| connection.unsent()).sum();
        if unsent <= MAX_UNSENT_BYTES {
            return;
        }
        let stalled =
            table.connections.values().filter_map(|connection| Some((connection.stalled()?, connection)));
        if let Some((_, slowest)) = stalled.min_by_key(|(since, _)| *since) {
            tracing::debug!(peer = %slowest.peer, unsent, "closed: the client does not read its reply, and too \
            many bytes are unwritten");
            slowest.closing.cancel();
        }
    }

    pub(super) fn close_idle(&self) {
        for connection in self.table().connections.values() {
            if connection.is_idle() {
                connection.closing.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests;
