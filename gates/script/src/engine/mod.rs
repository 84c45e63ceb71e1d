//! Runs a script: QuickJS in a cage of time, memory, stack and output.
//!
//! Each run has an engine of its own, which stands ready in the component's memory when it is loaded (`ready`). Calls of tools gather while there are jobs to run, and leave together when none is
//! left. What a script printed is kept whatever becomes of it.
//!
//! On WebAssembly QuickJS is built with `wasi.h` read first: it switches its check of the stack off for WASI otherwise.

mod clock;
mod console;
mod drive;
mod failure;
mod functions;
mod json;
mod prepared_engine;
mod queue;
mod random;
mod tools;

use std::rc::Rc;

use serde_json::Value;

pub(crate) use clock::Clock;
pub(crate) use console::Console;
pub(crate) use failure::ScriptError;
pub(crate) use prepared_engine::prepare;
pub(crate) use queue::CallQueue;
pub(crate) use tools::{PROXY, ScriptTools, entries, is_same_name, parse_json};

use self::{prepared_engine::PreparedEngine, random::Random};
use crate::typescript::CompiledScript;

/// Bytes of memory for what a script makes; the rest of the gate's is for replies, arguments and the parser.
const MAX_MEMORY_BYTES: usize = 40 << 20;

/// Bytes of stack after which QuickJS throws a RangeError.
const MAX_STACK_BYTES: usize = 192 << 10;

/// Bytes of JSON that a script may return.
const MAX_VALUE_BYTES: usize = 8 << 20;

/// What a run may use up.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RunLimits {
    /// Milliseconds.
    pub(crate) time: u64,
    pub(crate) calls: u32,
    /// Calls that run at the same time.
    pub(crate) parallel: u32,
}

/// How a run ended.
#[derive(Debug)]
pub(crate) struct RunOutcome {
    /// JSON of what the script returned; none where it returned nothing.
    pub(crate) value: Result<Option<String>, ScriptError>,
    pub(crate) console: Vec<String>,
    pub(crate) calls: u32,
    pub(crate) batches: u32,
    /// Calls that nobody waited for.
    pub(crate) unawaited: u32,
}

/// What the functions of the host side share.
pub(crate) struct RunState {
    pub(crate) clock: Clock,
    pub(crate) console: Console,
    pub(crate) tools: ScriptTools,
    pub(crate) queue: CallQueue,
    random: Random,
    /// JSON of what the script has as `input`.
    input: Option<String>,
}

/// Reads TypeScript and runs it; `input` is a global of it.
pub(crate) fn run(source: &str, input: Option<&Value>, bounds: RunLimits) -> RunOutcome {
    let run = Rc::new(RunState {
        clock: Clock::start(bounds.time),
        console: Console::default(),
        tools: ScriptTools::default(),
        queue: CallQueue::new(bounds),
        random: Random::default(),
        input: input.map(Value::to_string),
    });
    let mut unawaited = 0;
    let value = match CompiledScript::read(source) {
        Ok(script) => start(&run, &script, source, &mut unawaited),
        Err(mistake) => Err(mistake.into()),
    };
    RunOutcome {
        value,
        console: run.console.take(),
        calls: run.queue.made(),
        batches: run.queue.batches(),
        unawaited,
    }
}

fn start(
    run: &Rc<RunState>,
    script: &CompiledScript,
    source: &str,
    unawaited: &mut u32,
) -> Result<Option<String>, ScriptError> {
    let engine = PreparedEngine::take()?;
    engine.serve(run);
    let value = engine.with(|ctx, prelude| drive::drive(ctx, run, prelude, script, source, unawaited));
    if run.clock.was_over() {
        let seconds = run.clock.bound() as f64 / 1000.0;
        return Err(ScriptError::from_message(format!(
            "The script was stopped after {seconds} s. Do less, or give it more with timeout_ms."
        )));
    }
    value
}
