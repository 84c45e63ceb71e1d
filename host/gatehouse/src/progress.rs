//! Says what takes its time: at once what begins, then now and then how long it has taken. On standard error, like all
//! remarks; `-q` silences it.

use std::time::Duration;

use tokio::{task::JoinHandle, time::interval};

use crate::out;

/// Between two remarks.
const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Work that is under way until this is dropped.
pub(crate) struct ProgressTicker(JoinHandle<()>);

impl ProgressTicker {
    /// `what` begins a line: `compiling weather.wasm`.
    pub(crate) fn start(what: String) -> Self {
        out::note(format!("{what} …"));
        Self(tokio::spawn(async move {
            let mut ticks = interval(REPORT_INTERVAL);
            // The first tick comes at once, and what begins was just said.
            ticks.tick().await;
            let mut passed = Duration::ZERO;
            loop {
                ticks.tick().await;
                passed += REPORT_INTERVAL;
                out::note(format!("{what}: {} s so far", passed.as_secs()));
            }
        }))
    }
}

impl Drop for ProgressTicker {
    fn drop(&mut self) {
        self.0.abort();
    }
}
