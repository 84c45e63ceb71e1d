//! Limit on processes that start at the same time. Package runners download and unpack at startup, and many of them
//! together would miss their time limits.

use std::{pin::pin, time::Duration};

use tokio::{sync::Semaphore, time::timeout};

const MAX_STARTS: usize = 4;

/// Maximum time to hold a slot.
const MAX_HOLD: Duration = Duration::from_secs(10);

pub(super) struct StartSlots(Semaphore);

impl Default for StartSlots {
    fn default() -> Self {
        Self(Semaphore::new(MAX_STARTS))
    }
}

impl StartSlots {
    /// Runs `start` in a slot. After [`MAX_HOLD`], `start` continues without the slot.
    pub(super) async fn run<T>(&self, start: impl Future<Output = T>) -> T {
        let slot = self.0.acquire().await;
        let mut start = pin!(start);
        if let Ok(started) = timeout(MAX_HOLD, &mut start).await {
            return started;
        }
        drop(slot);
        start.await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use futures_util::future::{join, join_all};
    use tokio::time::{Instant, sleep};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn few_programs_start_at_the_same_time() {
        let (slots, starting) = (StartSlots::default(), AtomicUsize::new(0));
        let begin = Instant::now();
        let starts = (0..10).map(|_| {
            slots.run(async {
                assert!(starting.fetch_add(1, Ordering::SeqCst) < MAX_STARTS);
                sleep(Duration::from_secs(1)).await;
                starting.fetch_sub(1, Ordering::SeqCst);
            })
        });
        join_all(starts).await;
        assert_eq!(begin.elapsed(), Duration::from_secs(3), "four, four and two");
    }

    #[tokio::test(start_paused = true)]
    async fn programs_that_hang_do_not_keep_their_slots() {
        let slots = StartSlots::default();
        let begin = Instant::now();
        let hanging = join_all((0..MAX_STARTS).map(|_| slots.run(sleep(Duration::from_secs(60)))));
        let next = slots.run(async { begin.elapsed() });
        let (_, waited) = join(hanging, next).await;
        assert_eq!((waited, begin.elapsed()), (MAX_HOLD, Duration::from_secs(60)));
    }
}
