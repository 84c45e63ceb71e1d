//! The time of a call, which stands still while somebody is asked: a person who thinks uses up none of it. The calls that
//! one causes share its time, so that all of them wait when one of them does.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::lock;

/// The longest that one client's call may wait for answers, over all questions: a person who has not answered in ten
/// minutes is gone, and what waits holds an instance of its gate.
pub const MAX_PAUSE: Duration = Duration::from_secs(600);

/// Maximum time that a call keeps for itself when it waits for another one.
const MAX_MARGIN: Duration = Duration::from_secs(1);

/// How long a client's call and those that it causes have stood still.
#[derive(Debug, Default)]
pub(crate) struct CallTime {
    pauses: Mutex<PauseTotals>,
    resumed: Notify,
}

#[derive(Debug, Default)]
struct PauseTotals {
    /// Those that are over, together; what overlaps counts once.
    over: Duration,
    /// Those that are not.
    open: u32,
    /// Since when there is one that is not.
    since: Option<Instant>,
}

impl PauseTotals {
    fn total(&self) -> Duration {
        self.over + self.since.map_or(Duration::ZERO, |since| since.elapsed())
    }
}

impl CallTime {
    /// How long it has stood still by now.
    pub(crate) fn paused(&self) -> Duration {
        lock(&self.pauses).total()
    }

    fn is_paused(&self) -> bool {
        lock(&self.pauses).open > 0
    }

    /// Has the time stand still until what is given back is dropped; none where it has done so for as long as it may.
    pub(crate) fn pause(self: &Arc<Self>) -> Option<PauseGuard> {
        let mut pauses = lock(&self.pauses);
        let left = MAX_PAUSE.checked_sub(pauses.total()).filter(|left| !left.is_zero())?;
        pauses.open += 1;
        pauses.since.get_or_insert_with(Instant::now);
        Some(PauseGuard { time: Arc::clone(self), until: Instant::now() + left })
    }
}

/// For as long as it lives the time of a call stands still.
pub(crate) struct PauseGuard {
    time: Arc<CallTime>,
    /// When it has lasted as long as it may.
    pub(crate) until: Instant,
}

impl Drop for PauseGuard {
    fn drop(&mut self) {
        let mut pauses = lock(&self.time.pauses);
        pauses.open -= 1;
        if pauses.open == 0 {
            pauses.over = pauses.total();
            pauses.since = None;
            drop(pauses);
            self.time.resumed.notify_waiters();
        }
    }
}

/// When a call has to be over, counted in its own time.
#[derive(Debug, Clone)]
pub struct CallDeadline {
    /// Where its time does not stand still from now on.
    at: Instant,
    /// How long it had stood still when `at` was set.
    paused: Duration,
    time: Arc<CallTime>,
}

impl CallDeadline {
    /// One that no question puts off.
    pub fn fixed(at: Instant) -> Self {
        Self { at, paused: Duration::ZERO, time: Arc::default() }
    }

    pub(crate) fn new(at: Instant, paused: Duration, time: &Arc<CallTime>) -> Self {
        Self { at, paused, time: Arc::clone(time) }
    }

    /// When that is, if nobody is asked from now on.
    pub fn instant(&self) -> Instant {
        self.at + self.time.paused().saturating_sub(self.paused)
    }

    /// What is left until then.
    pub fn remaining(&self) -> Duration {
        self.instant().saturating_duration_since(Instant::now())
    }

    /// Whether the time is up.
    pub fn is_expired(&self) -> bool {
        self.remaining().is_zero() && !self.time.is_paused()
    }

    /// The sooner of the two.
    #[must_use]
    pub fn min(self, other: Self) -> Self {
        if other.instant() < self.instant() { other } else { self }
    }

    /// This one, but no later than so long from now.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        let own = Self::new(Instant::now() + limit, self.time.paused(), &self.time);
        own.min(self.clone())
    }

    /// Returns the deadline for work that the call waits for: a little before its own, so that it can still report
    /// what was too slow.
    #[must_use]
    pub fn for_nested(&self) -> Self {
        let margin = (self.remaining() / 20).min(MAX_MARGIN);
        Self { at: self.at.checked_sub(margin).unwrap_or(self.at), ..self.clone() }
    }

    /// Waits until the time is up.
    pub async fn expired(&self) {
        loop {
            let resumed = self.time.resumed.notified();
            tokio::pin!(resumed);
            // From here on no end of a pause goes unnoticed.
            resumed.as_mut().enable();
            if self.time.is_paused() {
                resumed.await;
            } else if self.is_expired() {
                return;
            } else {
                tokio::time::sleep_until(self.instant()).await;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::{FutureExt, poll};

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[tokio::test(start_paused = true)]
    async fn a_deadline_moves_by_as_long_as_somebody_was_asked() {
        let time = Arc::new(CallTime::default());
        let begun = Instant::now();
        let deadline = CallDeadline::new(begun + 3 * SECOND, Duration::ZERO, &time);
        let mut passes = Box::pin(deadline.expired());
        assert!(poll!(passes.as_mut()).is_pending());
        let first = time.pause().expect("time to wait");
        let second = time.pause().expect("time to wait");
        tokio::time::advance(10 * SECOND).await;
        drop(first);
        assert!(!deadline.is_expired() && poll!(passes.as_mut()).is_pending(), "it stands still");
        tokio::time::advance(10 * SECOND).await;
        drop(second);
        assert_eq!(deadline.remaining(), 3 * SECOND, "what overlaps counts once");
        let later = deadline.within(2 * SECOND);
        assert_eq!(later.remaining(), 2 * SECOND, "what was before counts for none that comes after");
        passes.await;
        assert_eq!(begun.elapsed(), 23 * SECOND);
        assert!(deadline.is_expired() && later.expired().now_or_never().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn nested_work_ends_a_little_earlier() {
        let time = Arc::new(CallTime::default());
        for (limit, nested) in
            [(SECOND, SECOND * 19 / 20), (60 * SECOND, 59 * SECOND), (Duration::ZERO, Duration::ZERO)]
        {
            let deadline = CallDeadline::new(Instant::now() + limit, Duration::ZERO, &time);
            assert_eq!(deadline.for_nested().remaining(), nested);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn all_questions_of_a_call_share_one_time_to_wait() {
        let time = Arc::new(CallTime::default());
        for _ in 0..2 {
            let pause = time.pause().expect("time to wait");
            tokio::time::advance(MAX_PAUSE / 2).await;
            drop(pause);
        }
        assert!(time.pause().is_none());
    }
}
