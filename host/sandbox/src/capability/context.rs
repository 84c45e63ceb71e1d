//! `context`: facts about the running call, and the way to speak while it runs.

use std::time::{Duration, Instant};

use gatehouse_core::names::quoted;

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::context::{Host, Level},
    state::State,
};

/// Progress that comes faster than this is thinned out; nobody reads it, and each message costs the
/// client as much as a reply.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(50);

/// The most characters of a log line or a progress message.
const MAX_LINE: usize = 2_000;

pub(crate) struct Context {
    facts: CallFacts,
    lines_left: u32,
    lines_dropped: u64,
    last_progress: Option<Instant>,
}

impl Context {
    pub(super) fn new(facts: CallFacts) -> Self {
        let lines_left = facts.limits.log_lines;
        Self { facts, lines_left, lines_dropped: 0, last_progress: None }
    }

    pub(super) fn facts(&self) -> &CallFacts {
        &self.facts
    }

    fn write(&self, level: Level, message: &str, fields: &str) {
        let (gate, message, fields) =
            (&*self.facts.gate, quoted(message, MAX_LINE), quoted(fields, MAX_LINE));
        match level {
            Level::Trace => tracing::trace!(target: "gate", gate, fields, "{message}"),
            Level::Debug => tracing::debug!(target: "gate", gate, fields, "{message}"),
            Level::Info => tracing::info!(target: "gate", gate, fields, "{message}"),
            Level::Warn => tracing::warn!(target: "gate", gate, fields, "{message}"),
            Level::Error => tracing::error!(target: "gate", gate, fields, "{message}"),
        }
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        if self.lines_dropped > 0 {
            tracing::warn!(target: "gate", gate = &*self.facts.gate, dropped = self.lines_dropped, "log lines beyond the cap were dropped");
        }
    }
}

impl Host for State {
    fn params(&mut self) -> wasmtime::Result<String> {
        Ok(self.capabilities.context.facts.params.to_string())
    }

    fn log(&mut self, level: Level, message: String, fields: String) -> wasmtime::Result<()> {
        let context = &mut self.capabilities.context;
        match context.lines_left.checked_sub(1) {
            Some(left) => {
                context.lines_left = left;
                context.write(level, &message, &fields);
            }
            None => context.lines_dropped += 1,
        }
        Ok(())
    }

    fn progress(&mut self, done: u64, total: Option<u64>, message: Option<String>) -> wasmtime::Result<()> {
        let context = &mut self.capabilities.context;
        let Some(sink) = context.facts.call.as_ref().and_then(|client| client.progress.as_ref()) else {
            return Ok(());
        };
        let now = Instant::now();
        if context.last_progress.is_none_or(|last| now - last >= PROGRESS_INTERVAL) {
            context.last_progress = Some(now);
            sink.report(done, total, message.map(|text| quoted(&text, MAX_LINE)));
        }
        Ok(())
    }

    fn now(&mut self) -> wasmtime::Result<u64> {
        Ok(self.capabilities.context.facts.ports.clock.now_ms())
    }

    fn cancelled(&mut self) -> wasmtime::Result<bool> {
        Ok(self.capabilities.context.facts.call.as_ref().is_some_and(|client| client.cancel.is_cancelled()))
    }

    fn exposed_name(&mut self, tool: String) -> wasmtime::Result<Option<String>> {
        let client = self.capabilities.context.facts.call.as_ref();
        Ok(client.and_then(|client| client.catalog.exposed_name(&tool)).map(str::to_owned))
    }
}
