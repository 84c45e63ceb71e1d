//! Threads for CPU-intensive calls.
//!
//! They form a separate runtime. Its tasks use timers of the main runtime and panic if that one stops first, so it must
//! end before.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::lock;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::spawn_blocking,
};

/// Maximum wait for the threads to end. Guests yield every few milliseconds.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// One thread per core, started on first use. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Workers(Arc<WorkerThreads>);

#[derive(Default)]
struct WorkerThreads(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Unused,
    Started(Runtime),
    /// Ended, or failed to start.
    Stopped,
}

impl Workers {
    /// Returns the handle of the runtime. `None` if it ended or failed to start.
    pub(super) fn handle(&self) -> Option<Handle> {
        let mut state = lock(&self.0.0);
        if matches!(*state, State::Unused) {
            *state = start();
        }
        match &*state {
            State::Started(runtime) => Some(runtime.handle().clone()),
            State::Unused | State::Stopped => None,
        }
    }

    /// Stops the threads and their calls, and waits for them to end.
    pub(super) async fn end(&self) {
        let state = std::mem::replace(&mut *lock(&self.0.0), State::Stopped);
        if let State::Started(runtime) = state {
            // Blocks its thread until the runtime ends.
            let _ = spawn_blocking(move || runtime.shutdown_timeout(MAX_WAIT)).await;
        }
    }
}

fn start() -> State {
    let mut builder = Builder::new_multi_thread();
    // The same intervals as in the main runtime, which also runs guests.
    match builder.enable_all().event_interval(4).global_queue_interval(4).build() {
        Ok(runtime) => State::Started(runtime),
        Err(error) => {
            tracing::warn!(%error, "cannot start worker threads; long calls share one \
            thread");
            State::Stopped
        }
    }
}

impl Drop for WorkerThreads {
    /// Does not wait: dropping a runtime blocks, which an async context must not.
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *lock(&self.0), State::Stopped);
        if let State::Started(runtime) = state {
            runtime.shutdown_background();
        }
    }
}
