//! The wall clock, injected so that tests and replays can set it.

/// The time of day. Deadlines use the runtime's monotonic timer instead.
pub trait Clock: Send + Sync {
    /// Returns milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;
}
