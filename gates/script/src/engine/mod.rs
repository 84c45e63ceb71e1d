//! Runs scripts in QuickJS with limits on time, memory, stack and output.
//!
//! Each run has its own engine, which is prepared in the component's memory image (see `prepare`). Tool calls are
//! queued while there are jobs to run, and then sent as one batch. Console output is returned even if the script fails.
//!
//! On WebAssembly, QuickJS is built with `wasi.h`, because it disables its stack check for WASI otherwise.

mod addresses;
mod big_int;
mod drive;
mod failure;
mod json;
mod locale;
mod prepared_engine;
mod run_state;
mod tools;

use std::rc::Rc;

use serde_json::Value;

pub(crate) use failure::ScriptError;
pub(crate) use prepared_engine::prepare;
pub(crate) use run_state::{CallQueue, Clock, Console};
pub(crate) use tools::{ScriptTools, entries, forwarding_tool, is_same_name, parse_json};

use self::{prepared_engine::PreparedEngine, run_state::Random};
use crate::typescript::CompiledScript;

/// Memory limit of a script; the rest is for replies, arguments and the parser.
const MAX_MEMORY_BYTES: usize = 40 << 20;

/// Stack size at which QuickJS throws a RangeError.
const MAX_STACK_BYTES: usize = 192 << 10;

const MAX_VALUE_BYTES: usize = 8 << 20;

#[derive(Debug, Clone, Copy)]
pub(crate) struct RunLimits {
    /// Milliseconds.
    pub(crate) time: u64,
    pub(crate) calls: u32,
    /// Maximum concurrent calls.
    pub(crate) parallel: u32,
}

#[derive(Debug)]
pub(crate) struct RunOutcome {
    /// JSON of the returned value. `None` if the script returned nothing.
    pub(crate) value: Result<Option<String>, ScriptError>,
    pub(crate) console: Vec<String>,
    pub(crate) calls: u32,
    pub(crate) batches: u32,
    /// Number of calls that the script did not await.
    pub(crate) unawaited: u32,
}

pub(crate) struct RunState {
    pub(crate) clock: Clock,
    pub(crate) console: Console,
    pub(crate) tools: ScriptTools,
    pub(crate) queue: CallQueue,
    random: Random,
    /// JSON of the global `input`.
    input: Option<String>,
}

pub(crate) fn run(source: &str, input: Option<&Value>, limits: RunLimits) -> RunOutcome {
    let run = Rc::new(RunState {
        clock: Clock::start(limits.time),
        console: Console::default(),
        tools: ScriptTools::default(),
        queue: CallQueue::new(limits),
        random: Random::default(),
        input: input.map(Value::to_string),
    });
    RunOutcome {
        value: start(&run, source),
        console: run.console.take(),
        calls: run.queue.made.get(),
        batches: run.queue.batches.get(),
        unawaited: run.queue.unawaited.get(),
    }
}

fn start(run: &Rc<RunState>, source: &str) -> Result<Option<String>, ScriptError> {
    let script = CompiledScript::read(source)?;
    let engine = PreparedEngine::take()?;
    engine.serve(run);
    let value = engine.with(|ctx, prelude| drive::drive(ctx, run, prelude, &script, source));
    if run.clock.expired.get() {
        let seconds = run.clock.limit as f64 / 1000.0;
        return Err(ScriptError::from_message(format!(
            "the script was stopped after {seconds} s. Do less, or raise timeout_ms."
        )));
    }
    value
}
