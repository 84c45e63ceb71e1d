//! Threads for checks that may take long: reading schemas, and checking values by them.
//!
//! A check computes for up to a second and waits for nothing, so it must not run where requests are served,
//! nor in the runtime's blocking threads, which files and databases need. There are few threads here, with a
//! stack of known size. Every source has a queue of its own, the queues take turns, and no source has more
//! than half of the threads at once: a gate that keeps its share busy delays itself.
//!
//! A thread is started when there is work for it and ends when there was none for some seconds. A check that
//! nobody waits for any more is told so, and ends.

use std::{
    collections::{HashMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Condvar, LazyLock, Mutex, MutexGuard, PoisonError},
    thread,
    time::Duration,
};

use tokio::sync::oneshot;

use crate::{outcome::Fault, tool::SourceId};

/// Schemas are at most 64 levels deep, and a level takes less than ten kilobytes in a debug build.
const STACK: usize = 4 << 20;

/// How long a thread waits for more work.
const IDLE: Duration = Duration::from_secs(5);

/// The most threads, and of them those that one source may have.
static THREADS: LazyLock<usize> =
    LazyLock::new(|| thread::available_parallelism().map_or(2, |cores| cores.get().clamp(2, 8)));

static POOL: LazyLock<Pool> = LazyLock::new(Pool::default);

type Job = Box<dyn FnOnce() + Send>;

#[derive(Default)]
struct Pool {
    state: Mutex<State>,
    work_came: Condvar,
}

#[derive(Default)]
struct State {
    /// Work that waits, by source; the source whose turn is next stands first.
    queues: VecDeque<(SourceId, VecDeque<Job>)>,
    /// How many threads work for a source.
    busy: HashMap<SourceId, usize>,
    threads: usize,
    idle: usize,
}

impl State {
    fn add(&mut self, source: &SourceId, job: Job) {
        match self.queues.iter_mut().find(|(known, _)| known == source) {
            Some((_, queue)) => queue.push_back(job),
            None => self.queues.push_back((source.clone(), VecDeque::from([job]))),
        }
    }

    /// The next piece of work that may run now. Its source goes to the end of the line.
    fn take(&mut self, share: usize) -> Option<(SourceId, Job)> {
        let free = |source: &SourceId| self.busy.get(source).is_none_or(|busy| *busy < share);
        let at = self.queues.iter().position(|(source, _)| free(source))?;
        let (source, mut queue) = self.queues.remove(at)?;
        let job = queue.pop_front()?;
        if !queue.is_empty() {
            self.queues.push_back((source.clone(), queue));
        }
        *self.busy.entry(source.clone()).or_default() += 1;
        Some((source, job))
    }

    fn done(&mut self, source: &SourceId) {
        if let Some(busy) = self.busy.get_mut(source) {
            *busy -= 1;
            if *busy == 0 {
                self.busy.remove(source);
            }
        }
    }
}

impl Pool {
    fn state(&self) -> MutexGuard<'_, State> {
        crate::lock(&self.state)
    }

    /// Adds work, and a thread for it if all are busy and there may be another.
    fn add(&'static self, source: &SourceId, job: Job) -> std::io::Result<()> {
        let mut state = self.state();
        state.add(source, job);
        if state.idle == 0 && state.threads < *THREADS {
            let started = thread::Builder::new().name("check".into()).stack_size(STACK);
            match started.spawn(|| self.work()) {
                Ok(_) => state.threads += 1,
                // Those that there are will come to it.
                Err(_) if state.threads > 0 => {}
                Err(error) => {
                    state.queues.retain(|(known, _)| known != source);
                    return Err(error);
                }
            }
        }
        self.work_came.notify_one();
        Ok(())
    }

    /// What each thread does.
    fn work(&self) {
        let mut state = self.state();
        loop {
            if let Some((source, job)) = state.take(THREADS.div_ceil(2)) {
                drop(state);
                job();
                state = self.state();
                state.done(&source);
                // What waited for this source's share may go on, here or on a thread that slept through it.
                self.work_came.notify_one();
                continue;
            }
            state.idle += 1;
            let waited = self.work_came.wait_timeout(state, IDLE).unwrap_or_else(PoisonError::into_inner);
            state = waited.0;
            state.idle -= 1;
            // Nothing that may run is left behind: whoever adds work counts on those that are idle.
            if waited.1.timed_out() && state.queues.is_empty() {
                state.threads -= 1;
                return;
            }
        }
    }
}

/// Does work for a source on a thread of its own. `work` is told how to find out whether somebody still waits
/// for it: nobody does when this future was dropped. Faults where the work panicked or no thread can be had.
pub async fn run<T: Send + 'static>(
    source: &SourceId,
    work: impl FnOnce(&dyn Fn() -> bool) -> T + Send + 'static,
) -> Result<T, Fault> {
    let failed = || Fault::internal(format!("A check for {source} failed. This is a bug in the host."));
    let (sender, answer) = oneshot::channel();
    let job = move || {
        if sender.is_closed() {
            return;
        }
        // A panic drops the sender, which tells whoever waits.
        if let Ok(done) = catch_unwind(AssertUnwindSafe(|| work(&|| sender.is_closed()))) {
            let _ = sender.send(done);
        }
    };
    POOL.add(source, Box::new(job)).map_err(|error| {
        Fault::exhausted(format!("No thread can be started to check what {source} says: {error}"))
    })?;
    answer.await.map_err(|_| failed())
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    fn source(name: &str) -> SourceId {
        SourceId::Gate(name.into())
    }

    #[test]
    fn sources_take_turns_and_none_has_more_than_its_share() {
        let mut state = State::default();
        for name in ["greedy", "greedy", "greedy", "modest"] {
            state.add(&source(name), Box::new(|| {}));
        }
        let mut taken = || state.take(1).map(|(source, _)| source.name().to_owned());
        assert_eq!([taken(), taken(), taken()], [Some("greedy".into()), Some("modest".into()), None]);
        state.done(&source("greedy"));
        assert!(state.take(1).is_some_and(|(source, _)| source.name().to_string() == "greedy"));
        state.done(&source("modest"));
        assert_eq!(state.busy.len(), 1, "only the one that works is remembered");
    }

    #[tokio::test]
    async fn a_source_that_keeps_its_share_busy_delays_itself_only() {
        let (release, held) = mpsc::channel::<()>();
        let held = std::sync::Arc::new(Mutex::new(held));
        let greedy: Vec<_> = (0..32)
            .map(|_| {
                let held = std::sync::Arc::clone(&held);
                tokio::spawn(async move {
                    run(&source("greedy-test"), move |_| drop(held.lock().map(|held| held.recv()))).await
                })
            })
            .collect();
        assert_eq!(run(&source("modest-test"), |_| 5).await, Ok(5));
        drop(release);
        for one in greedy {
            one.await.expect("a task").expect("done");
        }
    }

    #[tokio::test]
    async fn work_that_nobody_waits_for_is_told_and_a_panic_is_a_fault() {
        let (tell, told) = mpsc::channel();
        let (began, begun) = oneshot::channel();
        let alone = source("alone-test");
        let waiting = run(&alone, move |abandoned| {
            let _ = began.send(());
            while !abandoned() {
                thread::yield_now();
            }
            let _ = tell.send("ended");
        });
        tokio::select! {
            biased;
            _ = waiting => unreachable!("it waits to be abandoned"),
            _ = begun => {}
        }
        assert_eq!(told.recv(), Ok("ended"));
        let panicked = run(&source("panic-test"), |_| -> () { panic!("on purpose") }).await;
        assert!(panicked.expect_err("a fault").message.contains("gate 'panic-test'"));
    }
}
