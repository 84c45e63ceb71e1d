//! Progress notes on standard error for slow work: one at the start, then one every few seconds. `-q` silences them.

use std::time::Duration;

use tokio::{task::JoinHandle, time::interval};

use crate::out;

const REPORT_INTERVAL: Duration = Duration::from_secs(5);

pub(crate) struct ProgressTicker(JoinHandle<()>);

impl ProgressTicker {
    /// Prints `what`, for example `compiling weather.wasm`, and starts the ticker.
    pub(crate) fn start(what: String) -> Self {
        out::note(format!("{what} …"));
        Self(tokio::spawn(async move {
            let mut ticks = interval(REPORT_INTERVAL);
            // The first tick is immediate, and `what` is already printed.
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
