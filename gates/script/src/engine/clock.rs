//! Measures and limits the run time of a script. Time in which the host waits for a user does not count.

use std::cell::Cell;
use std::time::Duration;
#[cfg(not(target_family = "wasm"))]
use std::time::Instant;

/// Milliseconds reserved for the reply.
#[cfg(target_family = "wasm")]
const FOR_REPLY: u64 = 200;

pub(crate) struct Clock {
    #[cfg(not(target_family = "wasm"))]
    started: Instant,
    #[cfg(target_family = "wasm")]
    left_at_start: u64,
    bound: u64,
    over: Cell<bool>,
}

impl Clock {
    #[cfg(not(target_family = "wasm"))]
    pub(crate) fn start(bound: u64) -> Self {
        Self { started: Instant::now(), bound, over: Cell::new(false) }
    }

    /// Starts the clock with a limit in milliseconds, lowered to the time that the host has left for the call.
    #[cfg(target_family = "wasm")]
    pub(crate) fn start(bound: u64) -> Self {
        let left = gatehouse_sdk::context::remaining();
        Self { left_at_start: left, bound: bound.min(left.saturating_sub(FOR_REPLY)), over: Cell::new(false) }
    }

    pub(crate) fn elapsed(&self) -> u64 {
        #[cfg(not(target_family = "wasm"))]
        return u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        #[cfg(target_family = "wasm")]
        return self.left_at_start.saturating_sub(gatehouse_sdk::context::remaining());
    }

    pub(crate) fn bound(&self) -> u64 {
        self.bound
    }

    /// Returns whether the script has to stop now, and remembers it.
    pub(crate) fn is_over(&self) -> bool {
        let over = self.elapsed() >= self.bound;
        if over {
            self.over.set(true);
        }
        over
    }

    pub(crate) fn was_over(&self) -> bool {
        self.over.get()
    }

    /// Waits until `due` milliseconds after the start, or until the limit.
    pub(crate) fn wait_until(&self, due: u64) {
        let wait = due.min(self.bound).saturating_sub(self.elapsed());
        std::thread::sleep(Duration::from_millis(wait));
    }
}
