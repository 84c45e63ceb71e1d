//! Table of open connections. If it is full, unauthenticated connections are evicted first, then idle ones, but never
//! one with a running call.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{
        Arc, Mutex, MutexGuard,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::{
    sync::Notify,
    time::{Instant, timeout},
};

use super::{
    connection::{EvictionRank, HttpConnection},
    settings::HttpSettings,
};

/// Maximum total response bytes to be written. Beyond it, the client that has stalled longest is closed.
const MAX_UNSENT_BYTES: usize = 256 << 20;

const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a new client waits for another to disconnect. Most calls are shorter.
const MAX_PLACE_WAIT: Duration = Duration::from_millis(100);

pub(super) struct OpenConnections {
    settings: HttpSettings,
    open: Mutex<ConnectionTable>,
    /// Notified when a connection opens or closes.
    changed: Notify,
    /// True if the last wait for a connection to close timed out, so the next client does not wait.
    stuck: AtomicBool,
}

#[derive(Default)]
struct ConnectionTable {
    connections: HashMap<u64, Arc<HttpConnection>>,
    last: u64,
}

/// State of the table for one more connection.
enum Capacity {
    Free,
    Soon,
    /// Connections can be evicted, but waiting for one to end is better.
    Busy,
    None,
}

/// A connection in the table. Dropping it removes the entry.
pub(super) struct ConnectionGuard {
    id: u64,
    all: Arc<OpenConnections>,
    pub(super) connection: Arc<HttpConnection>,
}

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.all.open().connections.remove(&self.id);
        self.all.stuck.store(false, Ordering::Relaxed);
        self.all.changed.notify_waiters();
    }
}

impl OpenConnections {
    pub(super) fn new(settings: HttpSettings) -> Arc<Self> {
        Arc::new(Self {
            settings,
            open: Mutex::default(),
            changed: Notify::new(),
            stuck: AtomicBool::new(false),
        })
    }

    fn open(&self) -> MutexGuard<'_, ConnectionTable> {
        gatehouse_core::lock(&self.open)
    }

    /// Adds a connection, and evicts another if the table is full. `None` if all run calls.
    pub(super) async fn admit(self: &Arc<Self>, peer: SocketAddr) -> Option<ConnectionGuard> {
        let mut waits = !self.stuck.load(Ordering::Relaxed);
        loop {
            let changed = self.changed.notified();
            match self.capacity(waits) {
                Capacity::Free => return Some(self.insert(peer)),
                Capacity::Soon => changed.await,
                Capacity::Busy => {
                    waits = timeout(MAX_PLACE_WAIT, changed).await.is_ok();
                    self.stuck.store(!waits, Ordering::Relaxed);
                }
                Capacity::None => return None,
            }
        }
    }

    fn insert(self: &Arc<Self>, peer: SocketAddr) -> ConnectionGuard {
        let mut open = self.open();
        open.last += 1;
        let id = open.last;
        let connection = Arc::new(HttpConnection::new(peer, Arc::downgrade(self)));
        open.connections.insert(id, Arc::clone(&connection));
        drop(open);
        self.changed.notify_waiters();
        ConnectionGuard { id, all: Arc::clone(self), connection }
    }

    /// Checks for a free place. If `waits` is false, evicts a connection even if it is in use.
    fn capacity(&self, waits: bool) -> Capacity {
        let open = self.open();
        if open.connections.len() < self.settings.connections {
            return Capacity::Free;
        }
        if open.connections.values().any(|connection| connection.closing.is_cancelled()) {
            return Capacity::Soon;
        }
        if waits && !open.connections.values().any(|connection| connection.is_evicted_immediately()) {
            return Capacity::Busy;
        }
        drop(open);
        if self.make_room() { Capacity::Soon } else { Capacity::None }
    }

    /// True if more than four fifths of the connections are open.
    pub(super) fn is_crowded(&self) -> bool {
        self.open().connections.len() * 5 > self.settings.connections * 4
    }

    /// Closes the lowest-ranked connection. Returns false if all run calls.
    pub(super) fn make_room(&self) -> bool {
        let open = self.open();
        let ranked = open
            .connections
            .values()
            .filter_map(|connection| Some((connection.eviction_rank()?, connection)));
        let Some((rank, least)) = ranked.min_by_key(|(rank, _)| *rank) else { return false };
        tracing::debug!(peer = %least.peer, ?rank, "closed to make room for another connection");
        least.closing.cancel();
        true
    }

    /// Closes connections that exceed a timeout, until dropped.
    pub(super) async fn close_expired(&self) {
        let HttpSettings { header_timeout, write_timeout, idle_timeout, .. } = self.settings;
        let often = (header_timeout.min(write_timeout).min(idle_timeout) / 8).min(MAX_CHECK_INTERVAL);
        loop {
            let changed = self.changed.notified();
            if self.open().connections.is_empty() {
                changed.await;
            }
            tokio::time::sleep(often).await;
            let now = Instant::now();
            for connection in self.open().connections.values() {
                if let Some(expired) = connection.expired(&self.settings, now) {
                    tracing::debug!(peer = %connection.peer, "closed: {expired}");
                    connection.closing.cancel();
                }
            }
        }
    }

    /// Closes the slowest client if too many response bytes are unwritten.
    pub(super) fn close_slowest(&self) {
        let open = self.open();
        let unsent: usize = open.connections.values().map(|connection| connection.unsent()).sum();
        if unsent <= MAX_UNSENT_BYTES {
            return;
        }
        let stalled =
            open.connections.values().filter_map(|connection| Some((connection.stalled()?, connection)));
        if let Some((_, slowest)) = stalled.min_by_key(|(since, _)| *since) {
            tracing::debug!(peer = %slowest.peer, unsent, "closed: the client does not read its reply, and too \
            many bytes are unwritten");
            slowest.closing.cancel();
        }
    }

    pub(super) fn close_idle(&self) {
        for connection in self.open().connections.values() {
            if connection.eviction_rank().is_some_and(|(rank, _)| rank <= EvictionRank::Idle) {
                connection.closing.cancel();
            }
        }
    }
}

#[cfg(test)]
mod tests;
