//! Choice of the connection to close if the server is full.

use std::time::Duration;

use tokio::time::Instant;

/// Rank of a connection, and since when it has it. The lowest is evicted first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvictionRank {
    /// The client knows that the connection closes.
    Closing(Instant),
    /// Not authenticated.
    Unknown(Instant),
    /// No request is active.
    Idle(Instant),
    Body(Instant),
    Stalled(Instant),
    /// The client reads a stream of changes, which it can resume.
    Listening(Instant),
    /// Nothing has been read yet.
    Unread(Instant),
}

/// Minimum idle time before eviction, because clients often send requests in quick succession.
const MIN_IDLE_TIME: Duration = Duration::from_secs(1);

impl EvictionRank {
    /// True if the connection can be closed before waiting for others to end.
    pub(super) fn is_evicted_immediately(&self) -> bool {
        match self {
            Self::Closing(_) | Self::Unknown(_) => true,
            Self::Idle(since) => since.elapsed() >= MIN_IDLE_TIME,
            Self::Body(_) | Self::Stalled(_) | Self::Listening(_) | Self::Unread(_) => false,
        }
    }
}
