//! Tests of deadlines that move.

use futures_util::{FutureExt, poll};

use super::*;

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test(start_paused = true)]
async fn deadline_moves_by_the_time_of_pauses() {
    let time = Arc::new(CallClock::default());
    let start = Instant::now();
    let deadline = CallDeadline::new(start + 3 * SECOND, Duration::ZERO, &time);
    let mut passes = Box::pin(deadline.expired());
    assert!(poll!(passes.as_mut()).is_pending());
    let first = time.pause().expect("time to wait");
    let second = time.pause().expect("time to wait");
    tokio::time::advance(10 * SECOND).await;
    drop(first);
    assert!(!deadline.is_expired() && poll!(passes.as_mut()).is_pending(), "the clock is paused");
    tokio::time::advance(10 * SECOND).await;
    drop(second);
    assert_eq!(deadline.remaining(), 3 * SECOND, "overlapping pauses count once");
    let later = deadline.within(2 * SECOND);
    assert_eq!(later.remaining(), 2 * SECOND, "earlier pauses do not count");
    passes.await;
    assert_eq!(start.elapsed(), 23 * SECOND);
    assert!(deadline.is_expired() && later.expired().now_or_never().is_some());
}

#[tokio::test(start_paused = true)]
async fn progress_starts_the_time_anew_up_to_a_maximum() {
    let time = Arc::new(CallClock::default());
    let start = Instant::now();
    let deadline = CallDeadline::new(start + 3 * SECOND, Duration::ZERO, &time);
    let mut passes = Box::pin(deadline.expired());
    for _ in 0..4 {
        tokio::time::advance(2 * SECOND).await;
        assert!(poll!(passes.as_mut()).is_pending());
        time.record_progress(7 * SECOND);
    }
    assert_eq!(deadline.remaining(), 2 * SECOND, "10 s in all");
    let pause = time.pause().expect("time to wait");
    tokio::time::advance(5 * SECOND).await;
    drop(pause);
    time.record_progress(20 * SECOND);
    assert_eq!(deadline.remaining(), 2 * SECOND, "a pause counts once");
    tokio::time::advance(SECOND).await;
    time.record_progress(20 * SECOND);
    assert_eq!(deadline.remaining(), 2 * SECOND);
    assert_eq!(time.paused(), 5 * SECOND, "progress is no pause");
    passes.await;
    assert_eq!(start.elapsed(), 16 * SECOND);
}

#[tokio::test(start_paused = true)]
async fn nested_work_ends_a_little_earlier() {
    let time = Arc::new(CallClock::default());
    for (limit, nested) in
        [(SECOND, SECOND * 19 / 20), (60 * SECOND, 59 * SECOND), (Duration::ZERO, Duration::ZERO)]
    {
        let deadline = CallDeadline::new(Instant::now() + limit, Duration::ZERO, &time);
        assert_eq!(deadline.for_nested().remaining(), nested);
    }
}

#[tokio::test(start_paused = true)]
async fn questions_of_a_call_share_one_maximum_pause() {
    let time = Arc::new(CallClock::default());
    for _ in 0..2 {
        let pause = time.pause().expect("time to wait");
        tokio::time::advance(MAX_PAUSE / 2).await;
        drop(pause);
    }
    assert!(time.pause().is_none());
}

#[tokio::test(start_paused = true)]
async fn tasks_of_servers_use_up_none_of_the_time_for_questions() {
    let time = Arc::new(CallClock::default());
    let task = time.pause_for_task(6 * MAX_PAUSE).expect("time for tasks");
    tokio::time::advance(2 * MAX_PAUSE).await;
    let question = time.pause().expect("time to wait");
    assert_eq!(question.until, Instant::now() + MAX_PAUSE);
    drop(task);
    assert!(time.is_paused());
    drop(question);
    assert_eq!((time.is_paused(), time.paused()), (false, 2 * MAX_PAUSE));
    let rest = time.pause_for_task(MAX_TASK_PAUSE).expect("time for tasks");
    assert_eq!(rest.until, Instant::now() + MAX_TASK_PAUSE - 2 * MAX_PAUSE, "the total is limited");
}
