//! `context`: log lines, client messages and progress of a running call. Always granted, within limits on their number
//! and rate.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use gatehouse_core::{json, names::quoted, ports::client::MessageLevel, question::MAX_CLIENT_MESSAGE_BYTES};
use tracing::Level;

use super::{Capabilities, InstanceContext};

/// Minimum time between progress messages; earlier ones are dropped. Each costs the client as much as a reply.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

const MAX_LINE: usize = 2_000;

pub(super) struct OutputQuota {
    gate: Arc<str>,
    lines_left: u32,
    lines_dropped: u64,
    last_progress: Option<Instant>,
}

impl OutputQuota {
    pub(super) fn new(facts: &InstanceContext) -> Self {
        let (gate, lines_left) = (facts.gate.clone(), facts.limits.log_lines);
        Self { gate, lines_left, lines_dropped: 0, last_progress: None }
    }

    /// Counts a line. Returns `false` if it is over the limit.
    fn take_line(&mut self) -> bool {
        let left = self.lines_left.checked_sub(1);
        self.lines_left = left.unwrap_or_default();
        self.lines_dropped += u64::from(left.is_none());
        left.is_some()
    }
}

impl Drop for OutputQuota {
    fn drop(&mut self) {
        if self.lines_dropped > 0 {
            tracing::warn!(target: "gate", gate = &*self.gate, dropped = self.lines_dropped, "dropped log lines over the limit");
        }
    }
}

impl Capabilities {
    pub(crate) fn log(&mut self, level: Level, message: &str, fields: &str) {
        let context = &mut self.context;
        if !context.take_line() {
            return;
        }
        let (gate, message, fields) = (&*context.gate, quoted(message, MAX_LINE), quoted(fields, MAX_LINE));
        match level {
            Level::TRACE => tracing::trace!(target: "gate", gate, fields, "{message}"),
            Level::DEBUG => tracing::debug!(target: "gate", gate, fields, "{message}"),
            Level::INFO => tracing::info!(target: "gate", gate, fields, "{message}"),
            Level::WARN => tracing::warn!(target: "gate", gate, fields, "{message}"),
            Level::ERROR => tracing::error!(target: "gate", gate, fields, "{message}"),
        }
    }

    pub(crate) fn message(&mut self, level: MessageLevel, data: &str) {
        let Some(call) = self.facts.call.as_ref().map(|call| Arc::clone(&call.context)) else { return };
        if data.len() <= MAX_CLIENT_MESSAGE_BYTES && self.context.take_line() {
            // Text that is not JSON is sent as a string.
            let data = json::parse(data).unwrap_or_else(|_| data.into());
            call.notify_client(level, &self.facts.gate, data);
        }
    }

    pub(crate) fn progress(&mut self, done: u64, total: Option<u64>, message: Option<String>) {
        let Some(sink) = self.facts.call.as_ref().and_then(|call| call.context.progress.as_ref()) else {
            return;
        };
        let (now, last) = (Instant::now(), &mut self.context.last_progress);
        if last.is_none_or(|last| now - last >= PROGRESS_INTERVAL) {
            *last = Some(now);
            sink.report(done, total, message.map(|text| quoted(&text, MAX_LINE)));
        }
    }
}
