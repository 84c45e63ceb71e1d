//! State of a connection: its phase, its last activity, and whether its client is authenticated.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, Weak},
    time::Duration,
};

use gatehouse_core::Principal;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::{connections::OpenConnections, settings::HttpSettings};

/// Replies up to this many bytes do not trigger a check of all connections.
const MAX_SMALL_REPLY: usize = 64 << 10;

/// Minimum time without progress before a client counts as stalled. Long replies fill the send buffer for moments.
const MIN_STALL_TIME: Duration = Duration::from_secs(2);

/// Minimum idle time before eviction, because clients often send requests in quick succession.
const MIN_IDLE_TIME: Duration = Duration::from_secs(1);

/// Time for the first request of a new connection, before another may take its place. A client sends it with its
/// connection, but the host may look between the two.
pub(super) const MIN_HEADER_TIME: Duration = Duration::from_millis(100);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionPhase {
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
    /// False if it was opened when calls ran on all connections. It serves only probes.
    has_place: bool,
    /// True if the last read found no data.
    waits: bool,
    /// Principal of the last authenticated request.
    owner: Option<Principal>,
    /// True if the last response announced that the connection closes.
    last: bool,
    /// Response bytes that are not yet written.
    unsent: usize,
    /// Since when writes have made no progress.
    stalled: Option<Instant>,
}

/// Rank of a connection for eviction, if another of the same principal needs room. The highest is evicted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvictionRank {
    /// A stream of changes, which the client can resume.
    Listening(Instant),
    /// A body is being read, or the client has stopped reading a complete reply.
    Body(Instant),
    /// No request is active. The newest goes first.
    Idle(Instant),
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
    pub(super) fn new(peer: SocketAddr, has_place: bool, all: Weak<OpenConnections>) -> Self {
        let state = State {
            phase: ConnectionPhase::Header,
            since: Instant::now(),
            has_place,
            waits: false,
            owner: None,
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
            let is_over = state.last;
            drop(state);
            if let Some(connections) = self.connections().filter(|_| is_over) {
                connections.notify_waiting();
            }
        }
    }

    pub(super) fn add_unsent(&self, bytes: usize) {
        let mut state = self.state();
        state.unsent += bytes;
        let unsent = state.unsent;
        drop(state);
        if unsent > MAX_SMALL_REPLY
            && let Some(connections) = self.connections()
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

    /// Returns the principal of the last authenticated request. `None` before the first.
    pub(super) fn owner(&self) -> Option<Principal> {
        self.state().owner.clone()
    }

    /// Sets the principal, and returns the one before.
    pub(super) fn set_owner(&self, principal: &Principal) -> Option<Principal> {
        self.state().owner.replace(principal.clone())
    }

    /// Closes the connection if no call has begun meanwhile. Returns false if one has.
    pub(super) fn close_unless_working(&self) -> bool {
        let state = self.state();
        let is_working = state.phase == ConnectionPhase::Working && !state.is_dispensable();
        if !is_working {
            self.closing.cancel();
        }
        !is_working
    }

    pub(super) fn has_place(&self) -> bool {
        self.state().has_place
    }

    pub(super) fn take_place(&self) {
        self.state().has_place = true;
    }

    /// True if nothing is lost with it, see [`State::is_dispensable`].
    pub(super) fn is_dispensable(&self) -> bool {
        self.state().is_dispensable()
    }

    /// Returns the rank for eviction. `None` if a call is running, its reply is being read, or it ended only just now.
    pub(super) fn eviction_rank(&self) -> Option<EvictionRank> {
        let state = self.state();
        match state.phase {
            ConnectionPhase::Header | ConnectionPhase::Idle => {
                (state.since.elapsed() >= MIN_IDLE_TIME).then_some(EvictionRank::Idle(state.since))
            }
            ConnectionPhase::Body => Some(EvictionRank::Body(state.since)),
            ConnectionPhase::Listening => Some(EvictionRank::Listening(state.since)),
            ConnectionPhase::Flushing => {
                let since = state.stalled.filter(|since| since.elapsed() >= MIN_STALL_TIME)?;
                Some(EvictionRank::Body(since))
            }
            ConnectionPhase::Working => None,
        }
    }

    /// True if the client has sent no part of another request.
    pub(super) fn is_idle(&self) -> bool {
        let state = self.state();
        match state.phase {
            ConnectionPhase::Header => state.waits || state.owner.is_some(),
            phase => phase == ConnectionPhase::Idle,
        }
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

    pub(super) fn enter(&self, phase: ConnectionPhase) {
        self.state().enter(phase);
    }

    /// Records that the response announced the end of the connection.
    pub(super) fn mark_last(&self) {
        self.state().last = true;
    }

    /// Returns the table of this connection. `None` if the server has ended.
    pub(super) fn connections(&self) -> Option<Arc<OpenConnections>> {
        self.all.upgrade()
    }
}

impl State {
    /// True if it has a place and nothing is lost with it: the client knows that it closes, or is not authenticated and
    /// has sent no request in time, or has waited for its authentication too long.
    fn is_dispensable(&self) -> bool {
        let is_over = self.last && self.phase == ConnectionPhase::Idle;
        let grace = if self.phase == ConnectionPhase::Header { MIN_HEADER_TIME } else { MIN_IDLE_TIME };
        let is_asking = self.since.elapsed() < grace;
        self.has_place && (is_over || self.owner.is_none() && self.waits && !is_asking)
    }

    fn enter(&mut self, phase: ConnectionPhase) {
        self.phase = phase;
        self.since = Instant::now();
    }
}
