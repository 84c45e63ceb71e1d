//! Leaves a server alone that fails: after so many failures nothing is attempted for a while, then one attempt decides.

use std::time::Duration;

use gatehouse_core::ports::servers::CircuitState;
use tokio::time::Instant;

/// Attempts to connect in a row that open it.
pub(super) const MAX_FAILED_CONNECTIONS: u32 = 3;

/// Calls in a row that did not get through and open it.
pub(super) const MAX_FAILED_CALLS: u32 = 5;

/// How long it stays open.
pub(super) const RECOVERY: Duration = Duration::from_secs(30);

/// The state of one server's circuit.
#[derive(Debug, Default)]
pub(super) struct ServerBreaker {
    connections: u32,
    calls: u32,
    open_until: Option<Instant>,
    probing: bool,
}

impl ServerBreaker {
    /// Whether an attempt may be made now; where the time is up, this one is the probe.
    ///
    /// # Errors
    /// How long it is until the next attempt.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), Duration> {
        match self.open_until {
            None => Ok(()),
            Some(until) if until > now => Err(until - now),
            Some(_) if self.probing => Err(Duration::ZERO),
            Some(_) => {
                self.probing = true;
                Ok(())
            }
        }
    }

    /// Something got through.
    pub(super) fn record_success(&mut self) {
        *self = Self::default();
    }

    /// An attempt to connect failed.
    pub(super) fn connection_failed(&mut self, now: Instant) {
        self.connections += 1;
        if self.probing || self.connections >= MAX_FAILED_CONNECTIONS {
            self.open(now);
        }
    }

    /// A call did not get through.
    pub(super) fn call_failed(&mut self, now: Instant) {
        self.calls += 1;
        if self.probing || self.calls >= MAX_FAILED_CALLS {
            self.open(now);
        }
    }

    /// The server is left alone from now on.
    pub(super) fn trip(&mut self, now: Instant) {
        self.open(now);
    }

    /// The attempt that should have decided was given up.
    pub(super) fn probe_abandoned(&mut self) {
        self.probing = false;
    }

    fn open(&mut self, now: Instant) {
        *self = Self { open_until: Some(now + RECOVERY), ..Self::default() };
    }

    /// For people, and how long it is until the next attempt.
    pub(super) fn status(&self, now: Instant) -> (CircuitState, Option<Duration>) {
        match self.open_until {
            None => (CircuitState::Closed, None),
            Some(until) if until > now => (CircuitState::Open, Some(until - now)),
            Some(_) => (CircuitState::HalfOpen, None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn it_opens_after_failures_in_a_row_and_one_attempt_decides() {
        let mut breaker = ServerBreaker::default();
        let after = |seconds| Instant::now() + Duration::from_secs(seconds);
        for _ in 1..MAX_FAILED_CONNECTIONS {
            breaker.connection_failed(after(0));
            assert!(breaker.admit(after(0)).is_ok());
        }
        breaker.connection_failed(after(0));
        assert_eq!(breaker.admit(after(18)), Err(Duration::from_secs(12)));
        assert_eq!(breaker.status(after(18)), (CircuitState::Open, Some(Duration::from_secs(12))));
        assert_eq!(breaker.admit(after(30)), Ok(()));
        assert_eq!(breaker.admit(after(30)), Err(Duration::ZERO), "exactly one");
        assert_eq!(breaker.status(after(30)).0, CircuitState::HalfOpen);
        breaker.connection_failed(after(30));
        assert_eq!(breaker.admit(after(59)), Err(Duration::from_secs(1)), "and open again for as long");
        assert_eq!(breaker.admit(after(60)), Ok(()));
        breaker.record_success();
        assert_eq!(breaker.status(after(60)), (CircuitState::Closed, None));
    }

    #[tokio::test(start_paused = true)]
    async fn calls_that_got_through_are_forgotten_failures() {
        let mut breaker = ServerBreaker::default();
        for _ in 0..3 {
            for _ in 1..MAX_FAILED_CALLS {
                breaker.call_failed(Instant::now());
            }
            breaker.record_success();
        }
        assert!(breaker.admit(Instant::now()).is_ok());
        for _ in 0..MAX_FAILED_CALLS {
            breaker.call_failed(Instant::now());
        }
        assert!(breaker.admit(Instant::now()).is_err());
    }
}
