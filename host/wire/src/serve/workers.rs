//! Threads for calls that compute for long.
//!
//! They are a runtime of their own, whose tasks wait for timers of the runtime that serves. So they have to end first: a
//! task that polls a timer of a runtime that has ended panics.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::lock;
use tokio::{
    runtime::{Builder, Handle, Runtime},
    task::spawn_blocking,
};

/// Maximum wait for the threads to end. A guest gives its thread back every few milliseconds.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// As many threads as there are cores, started by the first call that needs them. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Workers(Arc<WorkerThreads>);

#[derive(Default)]
struct WorkerThreads(Mutex<State>);

#[derive(Default)]
enum State {
    #[default]
    Unused,
    Started(Runtime),
    /// They ended, or cannot be started.
    None,
}

impl Workers {
    /// Returns where calls are spawned. `None` if the threads ended or cannot be started.
    pub(super) fn handle(&self) -> Option<Handle> {
        let mut state = lock(&self.0.0);
        if matches!(*state, State::Unused) {
            *state = start();
        }
        match &*state {
            State::Started(runtime) => Some(runtime.handle().clone()),
            State::Unused | State::None => None,
        }
    }

    /// Ends the threads and the calls on them, and waits until they have ended.
    pub(super) async fn end(&self) {
        let state = std::mem::replace(&mut *lock(&self.0.0), State::None);
        if let State::Started(runtime) = state {
            // Blocks; the thread that does it is not needed by anything else.
            let _ = spawn_blocking(move || runtime.shutdown_timeout(MAX_WAIT)).await;
        }
    }
}

fn start() -> State {
    let mut builder = Builder::new_multi_thread();
    // As the threads that read, where guests run too.
    match builder.enable_all().event_interval(4).global_queue_interval(4).build() {
        Ok(runtime) => State::Started(runtime),
        Err(error) => {
            tracing::warn!(%error, "long calls share one thread");
            State::None
        }
    }
}

impl Drop for WorkerThreads {
    /// Does not wait for the threads, as dropping a runtime does: a thread of another runtime must not.
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *lock(&self.0), State::None);
        if let State::Started(runtime) = state {
            runtime.shutdown_background();
        }
    }
}
