//! The wall clock, injected so that tests and replays can set it.

/// Tells the time of day. Deadlines do not use it: they run on the monotonic timer of the runtime.
pub trait Clock: Send + Sync {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;
}
