//! The connections that are open, and who goes first when there is no room: whoever is not known by its
//! token yet, then whoever asks for nothing. A connection on which a call runs is never closed for another.

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
    connection::{ConnectionTimeout, HttpConnection},
    eviction::EvictionRank,
    settings::HttpSettings,
};

/// Bytes of replies that wait to be sent, over all connections. Beyond it the client goes that has taken
/// nothing for the longest time.
const MAX_UNSENT_BYTES: usize = 256 << 20;

/// The longest time between two looks at the connections.
const MAX_CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// How long a new client waits for a place that somebody leaves by himself. Most calls are shorter.
const MAX_PLACE_WAIT: Duration = Duration::from_millis(100);

/// All connections of a server.
pub(super) struct OpenConnections {
    settings: HttpSettings,
    open: Mutex<ConnectionTable>,
    /// Wakes when a connection came or went.
    changed: Notify,
    /// Whether nobody left while a new client waited; the next one need not wait then.
    stuck: AtomicBool,
}

#[derive(Default)]
struct ConnectionTable {
    connections: HashMap<u64, Arc<HttpConnection>>,
    last: u64,
}

/// What there is for one more connection.
enum Capacity {
    Free,
    /// One is being closed.
    Soon,
    /// Every connection is worth waiting for another place.
    Busy,
    /// Every connection has a call that runs.
    None,
}

/// A connection in the list, until this is dropped.
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

    /// Takes one more in, and closes another one where that takes the last place. None where all are busy.
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

    /// `waits` is for a client that would rather wait than have another one closed in the middle of its work.
    fn capacity(&self, waits: bool) -> Capacity {
        let open = self.open();
        if open.connections.len() < self.settings.connections {
            return Capacity::Free;
        }
        if open.connections.values().any(|connection| connection.is_closing()) {
            return Capacity::Soon;
        }
        let at_once = |connection: &Arc<HttpConnection>| {
            connection.eviction_rank().is_some_and(|rank| rank.is_evicted_immediately())
        };
        if waits && !open.connections.values().any(at_once) {
            return Capacity::Busy;
        }
        drop(open);
        if self.make_room() { Capacity::Soon } else { Capacity::None }
    }

    /// Whether more than four fifths of the places are taken.
    pub(super) fn is_crowded(&self) -> bool {
        self.open().connections.len() * 5 > self.settings.connections * 4
    }

    /// Closes the connection with the least claim to its place. False where every one has a call that runs.
    pub(super) fn make_room(&self) -> bool {
        let open = self.open();
        let ranked = open
            .connections
            .values()
            .filter_map(|connection| Some((connection.eviction_rank()?, connection)));
        let Some((rank, least)) = ranked.min_by_key(|(rank, _)| *rank) else { return false };
        tracing::debug!(peer = %least.peer, ?rank, "closed to make room");
        least.close();
        true
    }

    /// Closes connections whose time is over, for as long as this is polled.
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
                    connection.close();
                }
            }
        }
    }

    /// Called when replies wait to be sent: where they are too much, the slowest client goes.
    pub(super) fn close_slowest(&self) {
        let open = self.open();
        let unsent: usize = open.connections.values().map(|connection| connection.unsent()).sum();
        if unsent <= MAX_UNSENT_BYTES {
            return;
        }
        let stalled = open.connections.values().filter_map(|one| Some((one.stalled()?, one)));
        if let Some((_, slowest)) = stalled.min_by_key(|(since, _)| *since) {
            tracing::debug!(peer = %slowest.peer, unsent, "closed: does not read its reply, and others wait");
            slowest.close();
        }
    }

    /// Closes those that have asked for nothing.
    pub(super) fn close_idle(&self) {
        for connection in self.open().connections.values() {
            use EvictionRank::{Closing, Idle, Unknown};
            if matches!(connection.eviction_rank(), Some(Closing(_) | Unknown(_) | Idle(_))) {
                connection.close();
            }
        }
    }
}

impl std::fmt::Display for ConnectionTimeout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Header => "no whole request came",
            Self::Write => "the client does not read its reply",
            Self::Idle => "no further request came",
        })
    }
}

#[cfg(test)]
mod tests;
