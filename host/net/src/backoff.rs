//! Pauses before the next try: how long, and who is turned away meanwhile.

use std::{
    hash::{BuildHasher, RandomState},
    sync::Mutex,
    time::Duration,
};

use gatehouse_core::lock;
use tokio::time::Instant;

/// Pauses that double with each failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Backoff {
    /// After the first failure.
    pub first: Duration,
    /// The longest.
    pub longest: Duration,
}

impl Backoff {
    /// The pause after so many failures in a row.
    pub fn pause(&self, failures: u32) -> Duration {
        self.first.saturating_mul(2_u32.saturating_pow(failures.saturating_sub(1))).min(self.longest)
    }

    /// A random part of it, so that those who failed together do not come back together ("full jitter").
    pub fn jittered_pause(&self, failures: u32) -> Duration {
        // The hasher's keys are random, and differ each time.
        let random = RandomState::new().hash_one(0_u8);
        // 53 bits are what a float holds exactly.
        self.pause(failures).mul_f64((random >> 11) as f64 / (1_u64 << 53) as f64)
    }
}

/// Leaves a server alone after a failure to reach it: until the next try is due, calls fail at once with the same
/// cause. The first success ends it, so a server that comes back is found without a restart.
#[derive(Debug)]
pub struct CircuitBreaker<F> {
    backoff: Backoff,
    open: Mutex<Option<OpenCircuit<F>>>,
}

#[derive(Debug)]
struct OpenCircuit<F> {
    cause: F,
    /// Failures in a row.
    failures: u32,
    until: Instant,
}

impl<F: Clone> CircuitBreaker<F> {
    /// A server that has not failed yet.
    pub fn new(backoff: Backoff) -> Self {
        Self { backoff, open: Mutex::new(None) }
    }

    /// Whether the server may be asked now.
    ///
    /// # Errors
    /// What failed last, and how long it is until the next try.
    pub fn check(&self) -> Result<(), (F, Duration)> {
        let now = Instant::now();
        match &*lock(&self.open) {
            Some(open) if open.until > now => Err((open.cause.clone(), open.until - now)),
            _ => Ok(()),
        }
    }

    /// The server could not be reached. Calls that were under way together failed together: that is one failure.
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

    /// The server answered.
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
            // Failures at the same time are one.
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
