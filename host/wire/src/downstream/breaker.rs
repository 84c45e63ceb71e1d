//! Circuit breaker of a server: blocks attempts for a while after repeated failures, then lets one probe decide.
//!
//! [`gatehouse_net::CircuitBreaker`] opens after the first failure, for a growing time, and admits all callers after it.
//! A server is a program to start, so one failure is not enough here, and calls must not start it together.

use std::time::Duration;

use gatehouse_core::ports::servers::CircuitState;
use tokio::time::Instant;

pub(super) const MAX_FAILED_CONNECTIONS: u32 = 3;

pub(super) const MAX_FAILED_CALLS: u32 = 5;

/// Time that the circuit stays open.
pub(super) const RECOVERY: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
pub(super) struct ServerBreaker {
    connections: u32,
    calls: u32,
    open_until: Option<Instant>,
    probing: bool,
}

/// Reason that an attempt is not admitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CircuitRejection {
    /// Time until the next attempt.
    Open(Duration),
    /// Another attempt decides.
    Probing,
}

impl ServerBreaker {
    /// Admits an attempt. After the recovery time, the first attempt is the probe.
    pub(super) fn admit(&mut self, now: Instant) -> Result<(), CircuitRejection> {
        match self.open_until {
            None => Ok(()),
            Some(until) if until > now => Err(CircuitRejection::Open(until - now)),
            Some(_) if self.probing => Err(CircuitRejection::Probing),
            Some(_) => {
                self.probing = true;
                Ok(())
            }
        }
    }

    pub(super) fn record_success(&mut self) {
        *self = Self::default();
    }

    pub(super) fn connection_failed(&mut self, now: Instant) {
        self.connections += 1;
        if self.probing || self.connections >= MAX_FAILED_CONNECTIONS {
            self.open(now);
        }
    }

    pub(super) fn call_failed(&mut self, now: Instant) {
        self.calls += 1;
        if self.probing || self.calls >= MAX_FAILED_CALLS {
            self.open(now);
        }
    }

    /// Allows another probe after an undecided one.
    pub(super) fn probe_abandoned(&mut self) {
        self.probing = false;
    }

    pub(super) fn open(&mut self, now: Instant) {
        *self = Self { open_until: Some(now + RECOVERY), ..Self::default() };
    }

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
    async fn consecutive_failures_open_it_and_one_probe_decides() {
        let mut breaker = ServerBreaker::default();
        let after = |seconds| Instant::now() + Duration::from_secs(seconds);
        for _ in 1..MAX_FAILED_CONNECTIONS {
            breaker.connection_failed(after(0));
            assert!(breaker.admit(after(0)).is_ok());
        }
        breaker.connection_failed(after(0));
        assert_eq!(breaker.admit(after(18)), Err(CircuitRejection::Open(Duration::from_secs(12))));
        assert_eq!(breaker.status(after(18)), (CircuitState::Open, Some(Duration::from_secs(12))));
        assert_eq!(breaker.admit(after(30)), Ok(()));
        assert_eq!(breaker.admit(after(30)), Err(CircuitRejection::Probing), "exactly one");
        assert_eq!(breaker.status(after(30)).0, CircuitState::HalfOpen);
        breaker.connection_failed(after(30));
        assert_eq!(
            breaker.admit(after(59)),
            Err(CircuitRejection::Open(Duration::from_secs(1))),
            "and open again for as long"
        );
        assert_eq!(breaker.admit(after(60)), Ok(()));
        breaker.record_success();
        assert_eq!(breaker.status(after(60)), (CircuitState::Closed, None));
    }

    #[tokio::test(start_paused = true)]
    async fn success_resets_the_failure_count() {
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
