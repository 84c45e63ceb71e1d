//! The clock of a call, which pauses while the user is asked something and while the task of a server runs, and starts
//! again when a server reports progress. Nested calls share it.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use tokio::{sync::Notify, time::Instant};

use crate::lock;

/// Maximum pause of a client's call for questions, over all of them. A user who has not answered in ten minutes has
/// left, and the call occupies a gate instance.
pub const MAX_PAUSE: Duration = Duration::from_secs(600);

/// Maximum pause of a client's call for tasks of servers, over all of them.
pub const MAX_TASK_PAUSE: Duration = Duration::from_secs(3_600);

/// Maximum time that a call reserves for itself while it waits for another call.
const MAX_MARGIN: Duration = Duration::from_secs(1);

#[derive(Debug, Default)]
pub(crate) struct CallClock {
    pauses: Mutex<PauseTotals>,
    resumed: Notify,
}

#[derive(Debug)]
struct PauseTotals {
    all: PauseTotal,
    /// Those that [`MAX_PAUSE`] limits.
    questions: PauseTotal,
    /// Those that [`MAX_TASK_PAUSE`] limits.
    tasks: PauseTotal,
    /// Time that does not count because progress was reported after it.
    extension: Duration,
    /// Time of the last progress, or of the start, and the pauses until then.
    last_progress: (Instant, Duration),
}

impl Default for PauseTotals {
    fn default() -> Self {
        Self {
            all: PauseTotal::default(),
            questions: PauseTotal::default(),
            tasks: PauseTotal::default(),
            extension: Duration::ZERO,
            last_progress: (Instant::now(), Duration::ZERO),
        }
    }
}

#[derive(Debug, Default)]
struct PauseTotal {
    /// Total of finished pauses; overlapping ones count once.
    finished: Duration,
    /// Number of open pauses.
    open: u32,
    /// Start of the current paused period.
    open_since: Option<Instant>,
}

impl PauseTotal {
    fn time(&self) -> Duration {
        self.finished + self.open_since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn begin(&mut self) {
        self.open += 1;
        self.open_since.get_or_insert_with(Instant::now);
    }

    fn end(&mut self) {
        self.open -= 1;
        if self.open == 0 {
            self.finished = self.time();
            self.open_since = None;
        }
    }
}

impl CallClock {
    pub(crate) fn paused(&self) -> Duration {
        lock(&self.pauses).all.time()
    }

    /// Returns the time that does not count for deadlines: pauses, and the time before the last progress.
    pub(crate) fn uncounted(&self) -> Duration {
        let pauses = lock(&self.pauses);
        pauses.all.time() + pauses.extension
    }

    /// Returns how much progress has extended the time.
    pub(crate) fn extension(&self) -> Duration {
        lock(&self.pauses).extension
    }

    /// Starts the time again, as a server that reports progress is alive. Extends it by at most `max` in all.
    pub(crate) fn record_progress(&self, max: Duration) {
        let mut pauses = lock(&self.pauses);
        let (last, paused) = pauses.last_progress;
        let active = last.elapsed().saturating_sub(pauses.all.time().saturating_sub(paused));
        pauses.extension = pauses.extension.max(max.min(pauses.extension + active));
        pauses.last_progress = (Instant::now(), pauses.all.time());
    }

    fn is_paused(&self) -> bool {
        lock(&self.pauses).all.open > 0
    }

    /// Pauses the clock until the guard is dropped. `None` if [`MAX_PAUSE`] is used up.
    pub(crate) fn pause(self: &Arc<Self>) -> Option<PauseGuard> {
        self.begin_pause(|pauses| &mut pauses.questions, MAX_PAUSE, MAX_PAUSE)
    }

    /// Pauses the clock for the task of a server, at most for `limit`. `None` if [`MAX_TASK_PAUSE`] is used up.
    pub(crate) fn pause_for_task(self: &Arc<Self>, limit: Duration) -> Option<PauseGuard> {
        self.begin_pause(|pauses| &mut pauses.tasks, MAX_TASK_PAUSE, limit)
    }

    /// Pauses the clock at most for `limit`, and for all pauses of this kind at most for `max`.
    fn begin_pause(self: &Arc<Self>, kind: PauseKind, max: Duration, limit: Duration) -> Option<PauseGuard> {
        let mut pauses = lock(&self.pauses);
        let pause_total = kind(&mut pauses);
        let remaining = max.checked_sub(pause_total.time()).filter(|remaining| !remaining.is_zero())?;
        pause_total.begin();
        pauses.all.begin();
        Some(PauseGuard { time: Arc::clone(self), until: Instant::now() + remaining.min(limit), kind })
    }
}

pub(crate) struct PauseGuard {
    time: Arc<CallClock>,
    /// When the maximum pause will be used up.
    pub(crate) until: Instant,
    kind: PauseKind,
}

/// Selects the total that a kind of pause counts for, in addition to the total of all.
type PauseKind = fn(&mut PauseTotals) -> &mut PauseTotal;

impl Drop for PauseGuard {
    fn drop(&mut self) {
        let mut pauses = lock(&self.time.pauses);
        (self.kind)(&mut pauses).end();
        pauses.all.end();
        if pauses.all.open == 0 {
            drop(pauses);
            self.time.resumed.notify_waiters();
        }
    }
}

#[derive(Debug, Clone)]
pub struct CallDeadline {
    at: Instant,
    /// Uncounted time when `at` was set.
    uncounted: Duration,
    time: Arc<CallClock>,
}

impl CallDeadline {
    pub fn fixed(at: Instant) -> Self {
        Self { at, uncounted: Duration::ZERO, time: Arc::default() }
    }

    pub(crate) fn new(at: Instant, uncounted: Duration, time: &Arc<CallClock>) -> Self {
        Self { at, uncounted, time: Arc::clone(time) }
    }

    /// Returns the deadline, assuming no further pauses or progress.
    pub fn instant(&self) -> Instant {
        self.at + self.time.uncounted().saturating_sub(self.uncounted)
    }

    pub fn remaining(&self) -> Duration {
        self.instant().saturating_duration_since(Instant::now())
    }

    pub fn is_expired(&self) -> bool {
        self.remaining().is_zero() && !self.time.is_paused()
    }

    #[must_use]
    pub fn min(self, other: Self) -> Self {
        if other.instant() < self.instant() { other } else { self }
    }

    /// Returns this deadline, or `limit` from now if that is earlier.
    #[must_use]
    pub fn within(&self, limit: Duration) -> Self {
        let deadline = Self::new(Instant::now() + limit, self.time.uncounted(), &self.time);
        deadline.min(self.clone())
    }

    /// Returns a slightly earlier deadline for work that the call waits for, so that the call can still report it.
    #[must_use]
    pub fn for_nested(&self) -> Self {
        let margin = (self.remaining() / 20).min(MAX_MARGIN);
        Self { at: self.at.checked_sub(margin).unwrap_or(self.at), ..self.clone() }
    }

    pub async fn expired(&self) {
        loop {
            let resumed = self.time.resumed.notified();
            tokio::pin!(resumed);
            // Registers before the check, so that no end of a pause is missed.
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
mod tests;
