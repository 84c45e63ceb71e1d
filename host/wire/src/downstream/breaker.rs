//! Circuit breaker of a server: blocks attempts for a while after repeated failures, then lets one probe decide.
//!
//! [`gatehouse_net::CircuitBreaker`] opens after the first failure, for a growing time, and admits all callers after it.
//! A server is a program to start, so one failure is not enough here, and calls must not start it together.

use std::time::Duration;

use gatehouse_core::ports::servers::CircuitState;
use gatehouse_net::Backoff;
use tokio::time::Instant;

pub(super) const MAX_FAILED_CONNECTIONS: u32 = 3;

pub(super) const MAX_FAILED_CALLS: u32 = 5;

/// Time that the circuit stays open.
pub(super) const RECOVERY: Duration = Duration::from_secs(30);

/// The same if nothing listens at the address of the server, which costs nothing to try: it may only be restarting.
const RECOVERY_IF_REFUSED: Backoff = Backoff { first: Duration::from_secs(1), longest: RECOVERY };

/// Failures within this time have one cause, such as a restart during many calls.
const MOMENT: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(super) struct ServerBreaker {
    connections: u32,
    calls: u32,
    /// Refused connections in a row.
    refusals: u32,
    last_failure: Option<Instant>,
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

    /// Records a failed attempt to connect. `is_refused` if nothing listens at the address of the server.
    pub(super) fn connection_failed(&mut self, now: Instant, is_refused: bool) {
        self.connections += 1;
        if self.probing || self.connections >= MAX_FAILED_CONNECTIONS {
            self.refusals = if is_refused { self.refusals + 1 } else { 0 };
            self.open_for(now, if is_refused { RECOVERY_IF_REFUSED.pause(self.refusals) } else { RECOVERY });
        }
    }

    /// Records the time of a failure. Returns `false` if another one of the same moment was counted.
    fn is_news(&mut self, now: Instant) -> bool {
        let is_news = self.probing || self.last_failure.is_none_or(|last| now.duration_since(last) >= MOMENT);
        if is_news {
            self.last_failure = Some(now);
        }
        is_news
    }

    pub(super) fn call_failed(&mut self, now: Instant) {
        if !self.is_news(now) {
            return;
        }
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
        self.open_for(now, RECOVERY);
    }

    fn open_for(&mut self, now: Instant, time: Duration) {
        let (refusals, last_failure) = (self.refusals, self.last_failure);
        *self = Self { open_until: Some(now + time), refusals, last_failure, ..Self::default() };
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
            breaker.connection_failed(after(0), false);
            assert!(breaker.admit(after(0)).is_ok());
        }
        breaker.connection_failed(after(0), false);
        assert_eq!(breaker.admit(after(18)), Err(CircuitRejection::Open(Duration::from_secs(12))));
        assert_eq!(breaker.status(after(18)), (CircuitState::Open, Some(Duration::from_secs(12))));
        assert_eq!(breaker.admit(after(30)), Ok(()));
        assert_eq!(breaker.admit(after(30)), Err(CircuitRejection::Probing), "exactly one");
        assert_eq!(breaker.status(after(30)).0, CircuitState::HalfOpen);
        breaker.connection_failed(after(30), false);
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
                tokio::time::advance(MOMENT).await;
                breaker.call_failed(Instant::now());
            }
            breaker.record_success();
        }
        assert!(breaker.admit(Instant::now()).is_ok());
        for _ in 0..MAX_FAILED_CALLS {
            assert!(breaker.admit(Instant::now()).is_ok());
            tokio::time::advance(MOMENT).await;
            // Calls that fail together fail for one reason.
            (0..100).for_each(|_| breaker.call_failed(Instant::now()));
        }
        assert!(breaker.admit(Instant::now()).is_err());
    }

    #[tokio::test(start_paused = true)]
    async fn refused_connections_are_tried_again_soon() {
        let mut breaker = ServerBreaker::default();
        (1..MAX_FAILED_CONNECTIONS).for_each(|_| breaker.connection_failed(Instant::now(), true));
        for expected in [1, 2, 4, 8, 16, 30, 30] {
            breaker.connection_failed(Instant::now(), true);
            let Err(CircuitRejection::Open(left)) = breaker.admit(Instant::now()) else { panic!("admitted") };
            assert_eq!(left, Duration::from_secs(expected));
            tokio::time::advance(left).await;
            assert_eq!(breaker.admit(Instant::now()), Ok(()));
        }
        breaker.connection_failed(Instant::now(), false);
        assert_eq!(breaker.status(Instant::now()).1, Some(RECOVERY), "another failure");
    }
}
