//! When a server that could not be reached is asked again. In between, calls fail at once and say why.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use gatehouse_core::outcome::Fault;
use tokio::time::Instant;

use super::Times;

/// The memory of failed connections.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    last: Mutex<Option<Failure>>,
}

#[derive(Debug)]
struct Failure {
    fault: Fault,
    /// How many there were in a row.
    times: u32,
    until: Instant,
}

impl Backoff {
    /// Whether a connection may be tried now; if not, the fault of the last one and when it may.
    pub(super) fn ask(&self) -> Result<(), Fault> {
        match &*self.lock() {
            Some(Failure { fault, until, .. }) if *until > Instant::now() => {
                let seconds = (*until - Instant::now()).as_secs_f64();
                let mut fault = fault.clone();
                fault.message = format!("{}; it is tried again in {seconds:.1} s", fault.message);
                Err(fault)
            }
            _ => Ok(()),
        }
    }

    /// A connection failed.
    pub(super) fn failed(&self, fault: &Fault, times: &Times) {
        let mut last = self.lock();
        let before = last.as_ref().map_or(0, |failure| failure.times);
        let pause = pause(before, times);
        *last = Some(Failure { fault: fault.clone(), times: before + 1, until: Instant::now() + pause });
    }

    /// A connection stands.
    pub(super) fn succeeded(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Failure>> {
        self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn pause(before: u32, times: &Times) -> Duration {
    times.first_pause.saturating_mul(1 << before.min(16)).min(times.longest_pause)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_bound_and_end_with_success() {
        let (backoff, times) = (Backoff::default(), Times::default());
        let fault = Fault::unavailable("refused");
        assert!(backoff.ask().is_ok());
        for pause in [0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0] {
            backoff.failed(&fault, &times);
            let said = backoff.ask().unwrap_err().message;
            assert_eq!(said, format!("refused; it is tried again in {pause:.1} s"));
            tokio::time::advance(Duration::from_secs_f64(pause)).await;
            assert!(backoff.ask().is_ok());
        }
        backoff.succeeded();
        backoff.failed(&fault, &times);
        assert!(backoff.ask().unwrap_err().message.contains("0.5 s"));
    }
}
