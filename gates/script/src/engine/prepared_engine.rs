//! An engine that stands ready, with all that a script finds in it. Making one takes a millisecond, so the build of this gate
//! keeps the memory of a gate that has made one: see `snapshot` in its Cargo.toml.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use rquickjs::{CatchResultExt, Context, Ctx, Function, Object, Persistent, Runtime};

use super::{MAX_MEMORY_BYTES, MAX_STACK_BYTES, RunState, ScriptError, functions};

const PRELUDE: &str = include_str!("prelude.js");

thread_local! {
    static PREPARED: Cell<Option<PreparedEngine>> = const { Cell::new(None) };
}

/// The run that an engine serves, as its functions find it: none until a script begins.
#[derive(Default)]
pub(super) struct CurrentRun(RefCell<Option<Rc<RunState>>>);

impl CurrentRun {
    /// What a function makes of the run. Before one has begun nothing calls.
    pub(super) fn with<T: Default>(&self, make: impl FnOnce(&RunState) -> T) -> T {
        let run = self.0.borrow().clone();
        run.map(|run| make(&run)).unwrap_or_default()
    }
}

/// An engine that has run nothing yet. It serves one script.
pub(super) struct PreparedEngine {
    // In this order: what belongs to a context goes before it, and that before the runtime.
    prelude: Persistent<Object<'static>>,
    context: Context,
    _runtime: Runtime,
    served: Rc<CurrentRun>,
}

/// Makes an engine, for a call that comes later.
pub(crate) fn prepare() {
    PREPARED.with(|ready| {
        // What fails here fails again where it is told.
        let kept = ready.take().or_else(|| PreparedEngine::make().ok());
        ready.set(kept);
    });
}

impl PreparedEngine {
    /// The one that stands ready, or else a new one.
    pub(super) fn take() -> Result<Self, ScriptError> {
        PREPARED.with(Cell::take).map_or_else(Self::make, Ok)
    }

    fn make() -> Result<Self, ScriptError> {
        let failed =
            |error: String| ScriptError::from_message(format!("The engine could not start: {error}"));
        let runtime = Runtime::new().map_err(|error| failed(error.to_string()))?;
        runtime.set_memory_limit(MAX_MEMORY_BYTES);
        runtime.set_max_stack_size(MAX_STACK_BYTES);
        let served = Rc::new(CurrentRun::default());
        let own = Rc::clone(&served);
        runtime.set_interrupt_handler(Some(Box::new(move || own.with(|run| run.clock.is_over()))));
        let context = Context::full(&runtime).map_err(|error| failed(error.to_string()))?;
        let prelude = context.with(|ctx| {
            let made = functions::host(&ctx, &served).and_then(|host| {
                let make: Function = ctx.eval(PRELUDE)?;
                make.call::<_, Object>((host,))
            });
            let made = made.catch(&ctx).map_err(|error| failed(error.to_string()));
            made.map(|made| Persistent::save(&ctx, made))
        })?;
        Ok(Self { prelude, context, _runtime: runtime, served })
    }

    /// Gives the engine's functions the run that they are for.
    pub(super) fn serve(&self, run: &Rc<RunState>) {
        self.served.0.replace(Some(Rc::clone(run)));
    }

    /// Enters the engine, with what the prelude offers it.
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
