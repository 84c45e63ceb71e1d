//! Which connection goes when there is no room for another one.

use std::time::Duration;

use tokio::time::Instant;

/// What a connection has for it when there is no room, and since when; the least goes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EvictionRank {
    /// Its client knows that it closes.
    Closing(Instant),
    /// Nobody knows who it is.
    Unknown(Instant),
    /// Its client is known and asks for nothing.
    Idle(Instant),
    /// Its client sends a body.
    Body(Instant),
    /// Its client does not read its reply.
    Stalled(Instant),
    /// Its client waits for changes, and knows how to come back.
    Listening(Instant),
    /// It is so new that nothing was read yet.
    Unread(Instant),
}

/// How long a client that is known rests between two requests that follow each other closely.
const MIN_IDLE_TIME: Duration = Duration::from_secs(1);

impl EvictionRank {
    /// Whether its place is worth less than a moment of waiting for another one.
    pub(super) fn is_evicted_immediately(&self) -> bool {
        match self {
            Self::Closing(_) | Self::Unknown(_) => true,
            Self::Idle(since) => since.elapsed() >= MIN_IDLE_TIME,
            Self::Body(_) | Self::Stalled(_) | Self::Listening(_) | Self::Unread(_) => false,
        }
    }
}
