//! Pauses between retries, and a circuit breaker.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Mutex,
    time::Duration,
};

use gatehouse_core::lock;
use tokio::time::Instant;

/// Exponential backoff: each failure doubles the pause.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    pub first: Duration,
    pub longest: Duration,
}

impl Backoff {
    /// Returns the pause after this number of consecutive failures.
    pub fn pause(&self, failures: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(self.longest)
    }

    /// Returns a random part of the pause ("full jitter"), so that clients do not retry together.
    pub fn jittered_pause(&self, failures: u32) -> Duration {
        // The keys of each `RandomState` are random.
        let random = RandomState::new().hash_one(0_u8);
        // A float represents 53 bits exactly.
        self.pause(failures).mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// Circuit breaker: after a connection failure, calls fail immediately with the same cause until the next try is due.
/// The first success closes the circuit.
#[derive(Debug)]
pub struct CircuitBreaker<F> {
    backoff: Backoff,
    open: Mutex<Option<OpenCircuit<F>>>,
}

#[derive(Debug)]
struct OpenCircuit<F> {
    cause: F,
    failures: u32,
    until: Instant,
}

impl<F: Clone> CircuitBreaker<F> {
    pub fn new(backoff: Backoff) -> Self {
        Self { backoff, open: Mutex::new(None) }
    }

    /// Returns the last cause, and the time until the next try, as an error if the server must not be contacted yet.
    pub fn check(&self) -> Result<(), (F, Duration)> {
        let now = Instant::now();
        match &*lock(&self.open) {
            Some(open) if open.until > now => Err((open.cause.clone(), open.until - now)),
            _ => Ok(()),
        }
    }

    /// Records that the server could not be reached. Concurrent failures count as one.
    pub fn record_failure(&self, cause: F) {
        let mut open = lock(&self.open);
        let now = Instant::now();
        let failures = match &*open {
            Some(open) if open.until > now => open.failures,
            Some(open) => open.failures.saturating_add(1),
            None => 1,
        };
        *open = Some(OpenCircuit { cause, failures, until: now + self.backoff.pause(failures) });
    }

    pub fn record_success(&self) {
        *lock(&self.open) = None;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BACKOFF: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(5) };

    #[tokio::test(start_paused = true)]
    async fn pauses_grow_to_a_bound_and_end_with_success() {
        let breaker = CircuitBreaker::new(BACKOFF);
        for pause in [1, 2, 4, 5, 5].map(Duration::from_secs) {
            assert_eq!(breaker.check(), Ok(()));
            breaker.record_failure("refused");
            breaker.record_failure("refused");
            assert_eq!(breaker.check(), Err(("refused", pause)));
            tokio::time::advance(pause).await;
        }
        breaker.record_success();
        breaker.record_failure("refused");
        assert_eq!(breaker.check(), Err(("refused", Duration::from_secs(1))));
    }

    #[test]
    fn jittered_pauses_are_random_parts() {
        let mut seen = std::collections::BTreeSet::new();
        for (failures, most) in [(1, 1), (2, 2), (3, 4), (4, 5), (40, 5)] {
            for _ in 0..100 {
                let pause = BACKOFF.jittered_pause(failures);
                assert!(pause <= Duration::from_secs(most), "{failures}: {pause:?}");
                seen.insert(pause);
            }
        }
        assert!(seen.len() > 400, "{} different pauses", seen.len());
    }
}
