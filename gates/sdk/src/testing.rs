//! A fake host, so that a gate's logic runs under `cargo test`.
//!
//! Set a closure on a [`Fake`] for each host function that the gate calls, and run the gate inside [`Fake::run`]. Other
//! functions return an `internal` fault. The fake records log lines, progress and messages.

pub(crate) mod artifacts;
pub(crate) mod context;
pub(crate) mod kv;
pub(crate) mod replies;

use std::{
    any::Any,
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use crate::{
    Fault, Gate, Origin, Params, Reply, bindings::gatehouse::gate::types, context::ClientInfo,
    models::Serving, tool::read_only,
};

/// Time limit of a call without a preset setting.
const DEADLINE_MS: u64 = 30_000;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Fake>>> = const { RefCell::new(None) };
}

/// A configurable fake host.
#[derive(Default)]
#[must_use]
pub struct Fake {
    exposed: BTreeMap<String, String>,
    now: Cell<u64>,
    remaining: Option<u64>,
    cancelled: bool,
    client: Option<ClientInfo>,
    kv: Option<kv::Store>,
    artifacts: Option<artifacts::Store>,
    failures: BTreeMap<&'static str, Fault>,
    /// Boxed closures by interface and function; each has its function's own type.
    functions: BTreeMap<&'static str, Box<dyn Any>>,
    reported: RefCell<Vec<String>>,
}

impl Fake {
    /// Creates a host without functions and exposed tools.
    pub fn new() -> Self {
        Self::default()
    }

    /// Exposes tools in the caller's preset, under their own names.
    pub fn exposes<'a>(mut self, tools: impl IntoIterator<Item = &'a str>) -> Self {
        self.exposed.extend(tools.into_iter().map(|t| (t.to_owned(), t.to_owned())));
        self
    }

    /// Exposes a tool in the caller's preset under another name.
    pub fn exposes_as(mut self, tool: &str, name: &str) -> Self {
        self.exposed.insert(tool.to_owned(), name.to_owned());
        self
    }

    /// Sets the clock, in milliseconds.
    pub fn now(self, ms: u64) -> Self {
        self.now.set(ms);
        self
    }

    /// Sets the milliseconds left for the call; 30,000 by default.
    pub fn remaining(mut self, ms: u64) -> Self {
        self.remaining = Some(ms);
        self
    }

    /// Makes a storage function (`kv.set`, `artifacts.put`) return this fault.
    pub fn fails(mut self, function: &'static str, fault: Fault) -> Self {
        self.failures.insert(function, fault);
        self
    }

    pub(crate) fn failure(&self, function: &str) -> Result<(), Fault> {
        self.failures.get(function).cloned().map_or(Ok(()), Err)
    }

    /// Marks the call as canceled by the client.
    pub fn cancelled(mut self) -> Self {
        self.cancelled = true;
        self
    }

    /// Sets the client of the call.
    pub fn client(mut self, client: ClientInfo) -> Self {
        self.client = Some(client);
        self
    }

    /// Sets the result of [`crate::models::which`].
    pub fn serving(self, llm: Option<&str>, web_search: Option<&str>, embedding: &str) -> Self {
        let serving = Serving {
            llm: llm.map(str::to_owned),
            web_search: web_search.map(str::to_owned),
            embedding: embedding.to_owned(),
        };
        self.which(move || Ok(serving.clone()))
    }

    pub(crate) fn set<F: ?Sized + 'static>(mut self, function: &'static str, f: Box<F>) -> Self {
        self.functions.insert(function, Box::new(f));
        self
    }

    pub(crate) fn function<F: ?Sized + 'static>(&self, function: &'static str) -> Result<&F, Fault> {
        let set = self.functions.get(function).and_then(|f| f.downcast_ref::<Box<F>>());
        set.map_or_else(|| unset(function), |f| Ok(f.as_ref()))
    }

    /// Runs `body` with this host on this thread.
    pub fn run<T>(self, body: impl FnOnce() -> T) -> T {
        self.run_and_hear(body).0
    }

    /// Like [`Fake::run`], and also returns what the gate logged and reported.
    pub fn run_and_hear<T>(self, body: impl FnOnce() -> T) -> (T, Vec<String>) {
        let fake = Rc::new(self);
        let before = CURRENT.with(|c| c.replace(Some(Rc::clone(&fake))));
        let _restore = Restore(before);
        let answer = body();
        (answer, fake.reported.take())
    }
}

/// Restores the previous host, even if the body panics.
struct Restore(Option<Rc<Fake>>);

impl Drop for Restore {
    fn drop(&mut self) {
        CURRENT.with(|c| c.replace(self.0.take()));
    }
}

/// Calls a tool as the host would, with arguments and parameters as JSON text.
pub fn call<P: Params>(gate: &Gate<P>, tool: &str, arguments: &str, params: &str) -> Result<Reply, Fault> {
    gate.call(request(tool, arguments, params))
}

fn request(tool: &str, arguments: &str, params: &str) -> types::Call {
    types::Call {
        id: "call-1".into(),
        tool: tool.into(),
        arguments: arguments.into(),
        params: params.into(),
        caller: None,
        preset: "test".into(),
        deadline_ms: DEADLINE_MS,
        meta: None,
    }
}

/// Applies a gate's filter to the reply to a call with these arguments.
pub fn filter<P: Params>(
    gate: &Gate<P>,
    origin: Origin,
    arguments: &str,
    reply: Reply,
    params: &str,
) -> Result<Option<Reply>, Fault> {
    gate.on_reply(request(&origin.tool.name.clone(), arguments, params), origin, reply)
}

/// Returns the origin of a read-only tool of the source `server`.
pub fn origin(tool: &str) -> Origin {
    let input_schema = "{\"type\":\"object\"}".into();
    let tool = types::Tool { input_schema, idempotent: true, ..read_only(tool) };
    Origin { name: tool.name.clone(), source: "server".into(), version: "1".into(), tool }
}

/// Advances the current host's clock.
pub fn advance(ms: u64) {
    let host = current();
    host.now.set(host.now.get().saturating_add(ms));
}

pub(crate) fn current() -> Rc<Fake> {
    CURRENT.with(|c| c.borrow().clone()).unwrap_or_default()
}

fn unset<T>(function: &str) -> Result<T, Fault> {
    Err(Fault::internal(format!("the test host does not implement '{function}'")))
}
