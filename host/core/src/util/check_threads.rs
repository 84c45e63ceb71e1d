//! Threads for long checks: reading schemas and validating values.
//!
//! A check can take a second of CPU time, so it gets its own thread with a known stack size instead of one of the
//! runtime's. It waits for a permit first. No source gets more than half of the permits, so a gate that floods the host
//! delays only itself. A named principal has one share for all sources. A check stops when its caller stops waiting.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, LazyLock},
    thread,
};

use serde_json::Value;
use tokio::sync::oneshot;

use crate::{
    Fault, Principal, Schema, SourceId,
    fair_semaphore::FairSemaphore,
    schema::{StepBudget, ValidationError},
};

/// Schemas are at most 64 levels deep, and a level takes less than 10 kB of stack in a debug build.
const STACK_BYTES: usize = 4 << 20;

static CHECK_PERMITS: LazyLock<FairSemaphore> = LazyLock::new(|| {
    let threads = thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8));
    FairSemaphore::with_max_per_sharer(threads, threads.div_ceil(2))
});

/// Checks a value against a source's schema: on this thread if `short` and few steps suffice, otherwise on its own
/// thread. `check` may run again on the value that an interrupted run left.
pub(crate) async fn check(
    (principal, source): (&Principal, &SourceId),
    schema: &Arc<Schema>,
    mut value: Value,
    short: bool,
    check: impl Fn(&Schema, &mut Value, &mut StepBudget<'_>) -> Result<(), ValidationError> + Send + 'static,
) -> Result<(Value, Result<(), ValidationError>), Fault> {
    if short && schema.is_read() {
        let checked = check(schema, &mut value, &mut StepBudget::new_short());
        if !matches!(checked, Err(ValidationError::Stopped(_))) {
            return Ok((value, checked));
        }
    }
    let schema = Arc::clone(schema);
    run(principal, source, move |abandoned| {
        let checked = check(&schema, &mut value, &mut StepBudget::new_long(abandoned));
        (value, checked)
    })
    .await
}

/// Runs work for a source on its own thread. `principal` caused it.
///
/// `work` gets a function that returns true once this future was dropped. Faults if the work panics or the thread
/// cannot be started.
pub async fn run<T: Send + 'static>(
    principal: &Principal,
    source: &SourceId,
    work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
) -> Result<T, Fault> {
    let turn = CHECK_PERMITS.acquire(principal, source.name()).await;
    let (sender, answer) = oneshot::channel();
    let job = move || {
        let _turn = turn;
        // A panic drops the sender, so the receiver fails.
        if let Ok(done) = catch_unwind(AssertUnwindSafe(|| work(&|| sender.is_closed()))) {
            let _ = sender.send(done);
        }
    };
    let started = thread::Builder::new().name("check".into()).stack_size(STACK_BYTES).spawn(job);
    started.map_err(|error| {
        Fault::exhausted(format!("cannot start a thread to check data of {source}: {error}"))
    })?;
    let failed =
        |_| Fault::internal(format!("a check of data of {source} panicked; this is a bug in the host"));
    answer.await.map_err(failed)
}

#[cfg(test)]
mod tests {
    use std::sync::{Mutex, mpsc};

    use tokio::task::JoinHandle;

    use super::*;

    fn source(name: &str) -> SourceId {
        SourceId::Gate(name.into())
    }

    /// Starts work for each source, which ends when the sender is dropped.
    fn keep_busy(
        principal: &Principal,
        sources: impl Iterator<Item = SourceId>,
    ) -> (mpsc::Sender<()>, Vec<JoinHandle<Result<(), Fault>>>) {
        let (release, held) = mpsc::channel::<()>();
        let held = Arc::new(Mutex::new(held));
        let start = |source| {
            let (held, principal) = (Arc::clone(&held), principal.clone());
            let work = move |_: &dyn Fn() -> bool| drop(held.lock().map(|held| held.recv()));
            tokio::spawn(async move { run(&principal, &source, work).await })
        };
        (release, sources.map(start).collect())
    }

    #[tokio::test]
    async fn a_source_that_keeps_its_share_busy_delays_itself_only() {
        let (release, greedy) = keep_busy(&Principal::Local, (0..32).map(|_| source("greedy-test")));
        assert_eq!(run(&Principal::Local, &source("modest-test"), |_| 5).await, Ok(5));
        drop(release);
        for one in greedy {
            one.await.expect("a task").expect("done");
        }
    }

    #[tokio::test]
    async fn a_principal_that_keeps_its_share_busy_delays_itself_only() {
        let [noisy, quiet] = ["noisy-test", "quiet-test"].map(|name| Principal::Named(name.into()));
        let (release, busy) = keep_busy(&noisy, (0..32).map(|n| source(&format!("noisy-test-{n}"))));
        tokio::task::yield_now().await;
        assert_eq!(run(&quiet, &source("noisy-test-0"), |_| 5).await, Ok(5));
        drop(release);
        for one in busy {
            one.await.expect("a task").expect("done");
        }
    }

    #[tokio::test]
    async fn abandoned_work_is_notified_and_a_panic_is_a_fault() {
        let (sender, ended) = mpsc::channel();
        let (start_sender, start_receiver) = oneshot::channel();
        let alone = source("alone-test");
        let waiting = run(&Principal::Local, &alone, move |abandoned| {
            let _ = start_sender.send(());
            while !abandoned() {
                thread::yield_now();
            }
            let _ = sender.send("ended");
        });
        tokio::select! {
            biased;
            _ = waiting => unreachable!("it waits to be abandoned"),
            _ = start_receiver => {}
        }
        assert_eq!(ended.recv(), Ok("ended"));
        let panicked =
            run(&Principal::Local, &source("panic-test"), |_| -> () { panic!("on purpose") }).await;
        assert!(panicked.expect_err("a fault").message.contains("gate 'panic-test'"));
    }
}
