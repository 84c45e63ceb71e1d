//! The slots of programs that start.

use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::{join, join_all};
use tokio::time::Instant;

use super::*;

#[tokio::test(start_paused = true)]
async fn only_a_few_programs_start_at_the_same_time() {
    let (slots, starting) = (Semaphore::new(MAX_STARTS), AtomicUsize::new(0));
    let begin = Instant::now();
    let starts = (0..10).map(|_| {
        run_in_slot(&slots, async {
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
    let slots = Semaphore::new(MAX_STARTS);
    let begin = Instant::now();
    let hanging = join_all((0..MAX_STARTS).map(|_| run_in_slot(&slots, sleep(Duration::from_secs(60)))));
    let next = run_in_slot(&slots, async { begin.elapsed() });
    let (_, waited) = join(hanging, next).await;
    assert_eq!((waited, begin.elapsed()), (MAX_HOLD, Duration::from_secs(60)));
}
