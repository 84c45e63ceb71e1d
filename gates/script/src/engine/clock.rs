//! How long a script has run, and whether that is enough. Waiting for a person does not count where the host says so.

use std::cell::Cell;
use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

/// Milliseconds that are kept for the reply.
#[cfg(target_family = "wasm")]
const FOR_REPLY: u64 = 200;

/// The time of one run.
pub(crate) struct Clock {
    #[cfg(not(target_family = "wasm"))]
    started: Instant,
    #[cfg(target_family = "wasm")]
    left_at_start: u64,
    bound: u64,
    over: Cell<bool>,
}

impl Clock {
    /// Starts; `bound` is milliseconds.
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn start(bound: u64) -> Self {
        Self { started: Instant::now(), bound, over: Cell::new(false) }
    }

    /// Starts; `bound` is milliseconds, and no more than what the host leaves.
    #[cfg(target_family = "wasm")]
    pub(crate) fn start(bound: u64) -> Self {
        let left = gatehouse_sdk::context::remaining();
        Self { left_at_start: left, bound: bound.min(left.saturating_sub(FOR_REPLY)), over: Cell::new(false) }
    }

    /// Milliseconds since the start.
    pub(crate) fn elapsed(&self) -> u64 {
        #[cfg(not(target_family = "wasm"))]
        return u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        #[cfg(target_family = "wasm")]
        return self.left_at_start.saturating_sub(gatehouse_sdk::context::remaining());
    }

    /// Milliseconds that the script may take.
    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// Whether the script has to stop now, which is then remembered.
    pub(crate) fn is_over(&self) -> bool {
        let over = self.elapsed() >= self.bound;
        if over {
            self.over.set(true);
        }
        over
    }

    /// Whether it was ever told to stop.
    pub(crate) fn was_over(&self) -> bool {
        self.over.get()
    }

    /// Waits until so many milliseconds after the start, or until the script's time is up.
    pub(crate) fn wait_until(&self, due: u64) {
        let wait = due.min(self.bound).saturating_sub(self.elapsed());
        std::thread::sleep(Duration::from_millis(wait));
    }
}
