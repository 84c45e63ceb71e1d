//! State of a connection: its phase, its last activity, and whether its client is authenticated.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, Weak},
    time::Duration,
};

use gatehouse_core::Caller;
use tokio::{sync::OwnedSemaphorePermit, time::Instant};
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

use super::{connections::OpenConnections, settings::HttpSettings};

/// Replies up to this many bytes do not trigger a check of all connections.
const MAX_SMALL_REPLY: usize = 64 << 10;

/// Minimum time without progress before a client counts as stalled. Long replies fill the send buffer for moments.
const MIN_STALL_TIME: Duration = Duration::from_secs(2);

/// Minimum idle time before eviction, because clients often send requests in quick succession.
const MIN_IDLE_TIME: Duration = Duration::from_secs(1);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    /// Waiting for the rest of a request's headers.
    Header,
    Body,
    Working,
    /// Sending a stream of changes, which has no end.
    Listening,
    /// The response is complete, but not completely written.
    Flushing,
    /// Waiting for another request.
    Idle,
}

struct State {
    phase: ConnectionPhase,
    since: Instant,
    /// True if the last read found no data.
    waits: bool,
    /// True after an authenticated request.
    known: bool,
    /// True if the last response announced that the connection closes.
    last: bool,
    /// Response bytes that are not yet written.
    unsent: usize,
    /// Since when writes have made no progress.
    stalled: Option<Instant>,
}

/// Rank of a connection for eviction if the server is full. The lowest is evicted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvictionRank {
    /// The client knows that the connection closes.
    Closing,
    /// Not authenticated.
    Unknown,
    /// No request is active.
    Idle,
    Body,
    Stalled,
    /// The client reads a stream of changes, which it can resume.
    Listening,
    /// Nothing has been read yet.
    Unread,
}

/// A connection, shared by its task, its requests and the connection table.
pub(super) struct HttpConnection {
    pub(super) peer: SocketAddr,
    state: Mutex<State>,
    /// Cancelled to close the connection and its requests.
    pub(super) closing: CancellationToken,
    all: Weak<OpenConnections>,
}

impl HttpConnection {
    pub(super) fn new(peer: SocketAddr, all: Weak<OpenConnections>) -> Self {
        let state = State {
            phase: ConnectionPhase::Header,
            since: Instant::now(),
            waits: false,
            known: false,
            last: false,
            unsent: 0,
            stalled: None,
        };
        Self { peer, state: Mutex::new(state), closing: CancellationToken::new(), all }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        gatehouse_core::lock(&self.state)
    }

    pub(super) fn record_read(&self) {
        let mut state = self.state();
        if state.phase == ConnectionPhase::Idle {
            state.enter(ConnectionPhase::Header);
        }
    }

    /// Records that no bytes were available.
    pub(super) fn record_empty_read(&self) {
        self.state().waits = true;
    }

    pub(super) fn record_stall(&self) {
        self.state().stalled.get_or_insert_with(Instant::now);
    }

    pub(super) fn record_written(&self, bytes: usize) {
        let mut state = self.state();
        state.unsent = state.unsent.saturating_sub(bytes);
        state.stalled = None;
    }

    pub(super) fn record_flushed(&self) {
        let mut state = self.state();
        if state.phase == ConnectionPhase::Flushing {
            state.enter(ConnectionPhase::Idle);
        }
    }

    pub(super) fn add_unsent(&self, bytes: usize) {
        let mut state = self.state();
        state.unsent += bytes;
        let unsent = state.unsent;
        drop(state);
        if unsent > MAX_SMALL_REPLY
            && let Some(connections) = self.all.upgrade()
        {
            connections.close_slowest();
        }
    }

    /// Returns the response bytes that are not yet written. 0 if the connection is closing.
    pub(super) fn unsent(&self) -> usize {
        if self.closing.is_cancelled() { 0 } else { self.state().unsent }
    }

    pub(super) fn stalled(&self) -> Option<Instant> {
        self.state().stalled.filter(|_| !self.closing.is_cancelled())
    }

    /// True if the connection can be closed before waiting for others to end.
    pub(super) fn is_evicted_immediately(&self) -> bool {
        self.eviction_rank().is_some_and(|(rank, since)| {
            rank < EvictionRank::Idle || (rank == EvictionRank::Idle && since.elapsed() >= MIN_IDLE_TIME)
        })
    }

    /// Returns the rank for eviction, and since when. `None` if a call is running or the connection is closing.
    pub(super) fn eviction_rank(&self) -> Option<(EvictionRank, Instant)> {
        let state = self.state();
        if self.closing.is_cancelled() {
            return None;
        }
        let rank = match state.phase {
            ConnectionPhase::Idle if state.last => EvictionRank::Closing,
            _ if !state.known && state.waits => EvictionRank::Unknown,
            _ if !state.known => EvictionRank::Unread,
            ConnectionPhase::Header | ConnectionPhase::Idle => EvictionRank::Idle,
            ConnectionPhase::Body => EvictionRank::Body,
            ConnectionPhase::Listening => EvictionRank::Listening,
            ConnectionPhase::Working | ConnectionPhase::Flushing => {
                let since = state.stalled.filter(|since| since.elapsed() >= MIN_STALL_TIME)?;
                return Some((EvictionRank::Stalled, since));
            }
        };
        Some((rank, state.since))
    }

    /// Returns the reason to close a connection that exceeded a timeout. Bodies and calls have their own timeouts.
    pub(super) fn expired(&self, settings: &HttpSettings, now: Instant) -> Option<&'static str> {
        let state = self.state();
        if self.closing.is_cancelled() {
            return None;
        }
        let over = |since: Instant, time| now.saturating_duration_since(since) >= time;
        if state.stalled.is_some_and(|since| over(since, settings.write_timeout)) {
            return Some("the client does not read its reply");
        }
        match state.phase {
            ConnectionPhase::Header if over(state.since, settings.header_timeout) => {
                Some("timed out while reading a request")
            }
            ConnectionPhase::Idle if over(state.since, settings.idle_timeout) => Some("idle for too long"),
            _ => None,
        }
    }

    /// Starts a request, which ends when the guard is dropped.
    pub(super) fn begin_request(self: &Arc<Self>) -> ActiveRequest {
        self.state().enter(ConnectionPhase::Working);
        ActiveRequest { connection: Arc::clone(self), _memory: None, running: None, caller: None }
    }
}

impl State {
    fn enter(&mut self, phase: ConnectionPhase) {
        self.phase = phase;
        self.since = Instant::now();
    }
}

/// A request that is being answered, with the resources it holds.
pub(super) struct ActiveRequest {
    pub(super) connection: Arc<HttpConnection>,
    _memory: Option<OwnedSemaphorePermit>,
    /// Delays shutdown until dropped.
    running: Option<TaskTrackerToken>,
    /// `None` before authentication.
    pub(super) caller: Option<Arc<Caller>>,
}

impl ActiveRequest {
    /// Marks the client as authenticated. Unauthenticated ones are evicted first.
    pub(super) fn mark_admitted(&mut self, caller: Arc<Caller>) {
        self.connection.state().known = true;
        self.caller = Some(caller);
    }

    pub(super) fn track_running(&mut self, token: TaskTrackerToken) {
        self.running = Some(token);
    }

    pub(super) fn mark_last(&self) {
        self.connection.state().last = true;
    }

    pub(super) fn is_crowded(&self) -> bool {
        self.connection.all.upgrade().is_some_and(|connections| connections.is_crowded())
    }

    pub(super) fn enter_body(&self) {
        self.connection.state().enter(ConnectionPhase::Body);
    }

    /// Records that the body has been read. `memory` is reserved until the request ends.
    pub(super) fn enter_working(&mut self, memory: Option<OwnedSemaphorePermit>) {
        self._memory = memory;
        self.connection.state().enter(ConnectionPhase::Working);
    }

    /// Records that the response is a stream of changes. Shutdown does not wait for it.
    pub(super) fn enter_listening(&mut self) {
        self.running = None;
        self.connection.state().enter(ConnectionPhase::Listening);
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.connection.state().enter(ConnectionPhase::Flushing);
    }
}
