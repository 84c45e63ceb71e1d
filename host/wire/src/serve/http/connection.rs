//! One connection: what it is doing, since when, and whether its client is known.

use std::{
    net::SocketAddr,
    sync::{Arc, Mutex, MutexGuard, Weak},
    time::Duration,
};

use tokio::{sync::OwnedSemaphorePermit, time::Instant};
use tokio_util::{sync::CancellationToken, task::task_tracker::TaskTrackerToken};

use super::{connections::OpenConnections, eviction::EvictionRank, settings::HttpSettings};

/// Replies up to this size are not worth looking at all connections.
const MAX_SMALL_REPLY: usize = 64 << 10;

/// How long a client takes nothing of its reply before it counts as one that does not read: the network is full for a
/// moment whenever a reply is long.
const MIN_STALL_TIME: Duration = Duration::from_secs(2);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ConnectionPhase {
    /// Nothing of a request came, or part of its headers.
    Header,
    /// The body of an admitted request is being read.
    Body,
    /// A request is being answered.
    Working,
    /// The answer is a stream that tells of changes, and ends when the client likes.
    Listening,
    /// The answer is complete, and not all of it handed to the network.
    Flushing,
    /// The last request was answered.
    Idle,
}

struct State {
    phase: ConnectionPhase,
    since: Instant,
    /// Whether the network was empty when it was read: its client says nothing, or not all of a request.
    waits: bool,
    /// Whether a request was admitted here.
    known: bool,
    /// Whether the client was told that its last answer is the last one here.
    last: bool,
    /// Bytes of replies that the network has not taken.
    unsent: usize,
    /// Since when it takes nothing, while something is to be sent.
    stalled: Option<Instant>,
}

/// Why a connection's time is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConnectionTimeout {
    Header,
    Write,
    Idle,
}

/// What is known of a connection; shared by its task, its requests and the list of all.
pub(super) struct HttpConnection {
    /// Who is at the other end.
    pub(super) peer: SocketAddr,
    state: Mutex<State>,
    closing: CancellationToken,
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

    /// Ends it, with whatever goes on there.
    pub(super) fn close(&self) {
        self.closing.cancel();
    }

    pub(super) fn is_closing(&self) -> bool {
        self.closing.is_cancelled()
    }

    /// Waits until it is to end.
    pub(super) async fn closing(&self) {
        self.closing.cancelled().await;
    }

    /// Bytes came.
    pub(super) fn record_read(&self) {
        let mut state = self.state();
        if state.phase == ConnectionPhase::Idle {
            state.enter(ConnectionPhase::Header);
        }
    }

    /// No bytes are there to be read.
    pub(super) fn record_empty_read(&self) {
        self.state().waits = true;
    }

    /// The network takes nothing now.
    pub(super) fn record_stall(&self) {
        self.state().stalled.get_or_insert_with(Instant::now);
    }

    /// The network took bytes.
    pub(super) fn record_written(&self, bytes: usize) {
        let mut state = self.state();
        state.unsent = state.unsent.saturating_sub(bytes);
        state.stalled = None;
    }

    /// The network has everything.
    pub(super) fn record_flushed(&self) {
        let mut state = self.state();
        if state.phase == ConnectionPhase::Flushing {
            state.enter(ConnectionPhase::Idle);
        }
    }

    /// A part of a reply is on its way to the network.
    pub(super) fn add_unsent(&self, bytes: usize) {
        let unsent = {
            let mut state = self.state();
            state.unsent += bytes;
            state.unsent
        };
        if unsent > MAX_SMALL_REPLY
            && let Some(all) = self.all.upgrade()
        {
            all.close_slowest();
        }
    }

    /// Bytes that wait to be sent; none where it closes anyway.
    pub(super) fn unsent(&self) -> usize {
        if self.is_closing() { 0 } else { self.state().unsent }
    }

    pub(super) fn stalled(&self) -> Option<Instant> {
        self.state().stalled.filter(|_| !self.is_closing())
    }

    /// How much it may ask to stay; none while a call runs on it, or it closes anyway.
    pub(super) fn eviction_rank(&self) -> Option<EvictionRank> {
        let state = self.state();
        if self.is_closing() {
            return None;
        }
        if state.last && state.phase == ConnectionPhase::Idle {
            return Some(EvictionRank::Closing(state.since));
        }
        if !state.known {
            let rank = if state.waits { EvictionRank::Unknown } else { EvictionRank::Unread };
            return Some(rank(state.since));
        }
        match state.phase {
            ConnectionPhase::Header | ConnectionPhase::Idle => Some(EvictionRank::Idle(state.since)),
            ConnectionPhase::Body => Some(EvictionRank::Body(state.since)),
            ConnectionPhase::Listening => Some(EvictionRank::Listening(state.since)),
            ConnectionPhase::Working | ConnectionPhase::Flushing => {
                let stalled = state.stalled.filter(|since| since.elapsed() >= MIN_STALL_TIME);
                stalled.map(EvictionRank::Stalled)
            }
        }
    }

    /// Whether its time is over. Bodies have a timeout where they are read, and calls one of their own.
    pub(super) fn expired(&self, settings: &HttpSettings, now: Instant) -> Option<ConnectionTimeout> {
        let state = self.state();
        if self.is_closing() {
            return None;
        }
        let over = |since: Instant, time| now.saturating_duration_since(since) >= time;
        if state.stalled.is_some_and(|since| over(since, settings.write_timeout)) {
            return Some(ConnectionTimeout::Write);
        }
        match state.phase {
            ConnectionPhase::Header if over(state.since, settings.header_timeout) => {
                Some(ConnectionTimeout::Header)
            }
            ConnectionPhase::Idle if over(state.since, settings.idle_timeout) => {
                Some(ConnectionTimeout::Idle)
            }
            _ => None,
        }
    }

    /// A request is here. What it gives back is dropped when the request is answered.
    pub(super) fn begin_request(self: &Arc<Self>) -> ActiveRequest {
        self.state().enter(ConnectionPhase::Working);
        ActiveRequest { connection: Arc::clone(self), _memory: None, running: None }
    }
}

impl State {
    fn enter(&mut self, phase: ConnectionPhase) {
        self.phase = phase;
        self.since = Instant::now();
    }
}

/// A request that is being answered, and what is held for it.
pub(super) struct ActiveRequest {
    connection: Arc<HttpConnection>,
    _memory: Option<OwnedSemaphorePermit>,
    /// What the end of the host waits for.
    running: Option<TaskTrackerToken>,
}

impl ActiveRequest {
    /// Its client may be here; from now on its connection goes after those of strangers.
    pub(super) fn mark_admitted(&self) {
        self.connection.state().known = true;
    }

    /// The end of the host waits for its answer.
    pub(super) fn track_running(&mut self, token: TaskTrackerToken) {
        self.running = Some(token);
    }

    /// Its answer says that the connection closes.
    pub(super) fn mark_last(&self) {
        self.connection.state().last = true;
    }

    /// Whether nearly all places are taken.
    pub(super) fn is_crowded(&self) -> bool {
        self.connection.all.upgrade().is_some_and(|all| all.is_crowded())
    }

    /// Its body is being read.
    pub(super) fn enter_body(&self) {
        self.connection.state().enter(ConnectionPhase::Body);
    }

    /// Its body was read, and takes so much of the memory that there is for requests.
    pub(super) fn enter_working(&mut self, memory: Option<OwnedSemaphorePermit>) {
        self._memory = memory;
        self.connection.state().enter(ConnectionPhase::Working);
    }

    /// Its answer is a stream that only tells of changes.
    pub(super) fn enter_listening(&mut self) {
        self.running = None;
        self.connection.state().enter(ConnectionPhase::Listening);
    }

    /// A part of its reply is on its way.
    pub(super) fn add_unsent(&self, bytes: usize) {
        self.connection.add_unsent(bytes);
    }

    pub(super) fn peer(&self) -> SocketAddr {
        self.connection.peer
    }
}

impl Drop for ActiveRequest {
    fn drop(&mut self) {
        self.connection.state().enter(ConnectionPhase::Flushing);
    }
}
