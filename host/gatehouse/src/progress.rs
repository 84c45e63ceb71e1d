//! Progress of slow work, on standard error: bars on a terminal, or notes that `-q` silences.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tokio::{task::JoinHandle, time::interval};

use crate::out;

const REPORT_INTERVAL: Duration = Duration::from_secs(5);

/// Notes: one at the start, then one every few seconds.
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

/// Returns a bar. `template` is a template of indicatif.
pub(crate) fn bar(length: u64, template: &str) -> ProgressBar {
    let bar = ProgressBar::new(length);
    if let Ok(style) = ProgressStyle::with_template(template) {
        bar.set_style(style);
    }
    bar
}

/// Shows a spinner until `vectors` are computed. The process that computes them ends with its command.
pub(crate) async fn wait_for_vectors(vectors: impl Future<Output = bool>) -> bool {
    let bar = ProgressBar::new_spinner().with_message("waiting for vectors");
    bar.enable_steady_tick(Duration::from_millis(100));
    let settled = vectors.await;
    bar.finish_and_clear();
    settled
}
