//! An engine with all globals, prepared before a script arrives. Creating one takes a millisecond, so the build
//! snapshots the memory of a gate that has prepared one: see `snapshot` in Cargo.toml.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use gatehouse_sdk::catalog::ToolRequest;
use rquickjs::{CatchResultExt, Context, Ctx, Function, Object, Persistent, Runtime, function::Opt};
use serde_json::json;

use super::{MAX_MEMORY_BYTES, MAX_STACK_BYTES, RunState, ScriptError, addresses, big_int, json, locale};

const PRELUDE: &str = include_str!("prelude.js");
const LOCALE: &str = include_str!("locale.js");

thread_local! {
    static PREPARED: Cell<Option<PreparedEngine>> = const { Cell::new(None) };
}

/// The run that an engine serves. `None` until a script starts.
#[derive(Default)]
pub(super) struct CurrentRun(RefCell<Option<Rc<RunState>>>);

impl CurrentRun {
    /// Calls `make` with the run. Returns the default before a run starts, when the prelude makes no calls.
    pub(super) fn with<T: Default>(&self, make: impl FnOnce(&RunState) -> T) -> T {
        let run = self.0.borrow().clone();
        run.map(|run| make(&run)).unwrap_or_default()
    }
}

pub(super) struct PreparedEngine {
    // Field order matters: values must be dropped before their context, and the context before the runtime.
    prelude: Persistent<Object<'static>>,
    context: Context,
    _runtime: Runtime,
    served: Rc<CurrentRun>,
}

pub(crate) fn prepare() {
    PREPARED.with(|ready| {
        // An error here would occur again in `take`, which reports it.
        let engine = ready.take().or_else(|| PreparedEngine::make().ok());
        ready.set(engine);
    });
}

impl PreparedEngine {
    /// Takes the prepared engine, or makes a new one.
    pub(super) fn take() -> Result<Self, ScriptError> {
        PREPARED.with(Cell::take).map_or_else(Self::make, Ok)
    }

    fn make() -> Result<Self, ScriptError> {
        let failed =
            |error: String| ScriptError::from_message(format!("cannot start the script engine: {error}"));
        let runtime = Runtime::new().map_err(|error| failed(error.to_string()))?;
        runtime.set_memory_limit(MAX_MEMORY_BYTES);
        runtime.set_max_stack_size(MAX_STACK_BYTES);
        let served = Rc::new(CurrentRun::default());
        let current_run = Rc::clone(&served);
        runtime.set_interrupt_handler(Some(Box::new(move || current_run.with(|run| run.clock.is_expired()))));
        let context = Context::full(&runtime).map_err(|error| failed(error.to_string()))?;
        let prelude = context.with(|ctx| {
            let object = host(&ctx, &served).and_then(|host| {
                let make: Function = ctx.eval(PRELUDE)?;
                make.call::<_, Object>((host,))
            });
            let object = object.catch(&ctx).map_err(|error| failed(error.to_string()));
            object.map(|object| Persistent::save(&ctx, object))
        })?;
        Ok(Self { prelude, context, _runtime: runtime, served })
    }

    pub(super) fn serve(&self, run: &Rc<RunState>) {
        self.served.0.replace(Some(Rc::clone(run)));
    }

    pub(super) fn with<T>(
        self,
        enter: impl for<'js> FnOnce(&Ctx<'js>, Object<'js>) -> Result<T, ScriptError>,
    ) -> Result<T, ScriptError> {
        let Self { prelude, context, .. } = &self;
        context.with(|ctx| {
            let prelude = prelude
                .clone()
                .restore(&ctx)
                .map_err(|error| ScriptError::from_message(error.to_string()))?;
            enter(&ctx, prelude)
        })
    }
}

/// Returns the host functions for the prelude.
fn host<'js>(ctx: &Ctx<'js>, served: &Rc<CurrentRun>) -> rquickjs::Result<Object<'js>> {
    let host = Object::new(ctx.clone())?;
    let current_run = Rc::clone(served);
    let print = move |line: String| current_run.with(|run| run.console.print(&line));
    host.set("print", Function::new(ctx.clone(), print)?)?;
    let current_run = Rc::clone(served);
    host.set("now", Function::new(ctx.clone(), move || current_run.with(|run| run.clock.elapsed() as f64))?)?;
    let current_run = Rc::clone(served);
    host.set("random", Function::new(ctx.clone(), move || current_run.with(|run| run.random.next()))?)?;
    host.set("isDeep", Function::new(ctx.clone(), |text: String| json::is_deep(&text))?)?;
    host.set("mark", big_int::MARK)?;
    host.set("markIntegers", Function::new(ctx.clone(), |json: String| big_int::marked(&json))?)?;
    host.set("unmark", Function::new(ctx.clone(), big_int::unmarked)?)?;
    host.set("encode", Function::new(ctx.clone(), |text: String| text.into_bytes())?)?;
    let decode = |bytes: Vec<u8>, encoding: String, fatal: bool| locale::decode(bytes, &encoding, fatal);
    host.set("decode", Function::new(ctx.clone(), decode)?)?;
    host.set("locale", ctx.eval::<Function<'_>, _>(LOCALE)?)?;
    host.set("zone", Function::new(ctx.clone(), |name: String, at: f64| locale::zone(&name, at))?)?;
    let url =
        |address: String, base: Opt<Option<String>>| addresses::parse(&address, base.0.flatten().as_deref());
    host.set("url", Function::new(ctx.clone(), url)?)?;
    let changed = |address: String, part: String, value: String| addresses::changed(&address, &part, &value);
    host.set("changedUrl", Function::new(ctx.clone(), changed)?)?;
    host.set("query", Function::new(ctx.clone(), |text: String| addresses::query(&text))?)?;
    let written = |pairs: String| addresses::written_query(&pairs);
    host.set("writtenQuery", Function::new(ctx.clone(), written)?)?;
    let current_run = Rc::clone(served);
    host.set("sources", Function::new(ctx.clone(), move || current_run.with(|run| run.tools.sources()))?)?;
    let current_run = Rc::clone(served);
    let call = move |source: String, tool: String, arguments: String| {
        current_run.with(|run| call(run, &source, &tool, arguments))
    };
    host.set("call", Function::new(ctx.clone(), call)?)?;
    Ok(host)
}

/// Queues a tool call. Returns JSON with its ID, or with the reason if it cannot be made.
fn call(run: &RunState, source: &str, tool: &str, arguments: String) -> String {
    if let Some(max) = run.queue.reached_limit() {
        let message = format!("the script made {max} calls, which is the limit");
        let suggestion = "Do less in one script, or raise max_calls in the preset.";
        return json!({"fatal": true, "message": message, "type": "exhausted", "suggestion": suggestion})
            .to_string();
    }
    match run.tools.resolve(source, tool, json::well_formed(arguments)) {
        Ok((name, arguments)) => {
            let id = run.queue.add(ToolRequest { tool: name, arguments });
            json!({"id": id}).to_string()
        }
        Err(refusal) => refusal.to_string(),
    }
}
