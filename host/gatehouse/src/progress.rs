//! Says what takes its time: at once what begins, then now and then how long it has taken. On standard error, like all
//! remarks; `-q` silences it.

use std::time::Duration;

use tokio::{task::JoinHandle, time::interval};

use crate::out;

/// Between two remarks.
const BETWEEN: Duration = Duration::from_secs(5);

/// Work that is under way until this is dropped.
pub(crate) struct Progress(JoinHandle<()>);

impl Progress {
    /// `what` begins a line: `compiling weather.wasm`.
    pub(crate) fn start(what: String) -> Self {
        out::note(format!("{what} …"));
        Self(tokio::spawn(async move {
            let mut ticks = interval(BETWEEN);
            // The first tick comes at once, and what begins was just said.
            ticks.tick().await;
            let mut passed = Duration::ZERO;
            loop {
                ticks.tick().await;
                passed += BETWEEN;
                out::note(format!("{what}: {} s so far", passed.as_secs()));
            }
        }))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.abort();
    }
}
