//! A stand-in for the host, so that a gate's logic runs under `cargo test`. Not part of a component.
//!
//! A [`Fake`] holds one closure per host function. A test sets those it needs and runs a call inside
//! [`Fake::run`]; a function that was not set answers with an `internal` fault that names it. What the
//! gate tells the host (log lines, progress) is kept and can be read back.

pub(crate) mod artifacts;
pub(crate) mod context;
pub(crate) mod kv;

use std::{
    any::Any,
    cell::{Cell, RefCell},
    collections::BTreeMap,
    rc::Rc,
};

use crate::{
    Fault, Gate, Origin, Params, Reply, bindings::gatehouse::gate::types, context::ClientInfo,
    models::Serving,
};

/// The time of a call where the preset says nothing of it.
const DEADLINE_MS: u64 = 30_000;

thread_local! {
    static CURRENT: RefCell<Option<Rc<Fake>>> = const { RefCell::new(None) };
}

/// The host as a test wants it.
#[derive(Default)]
pub struct Fake {
    exposed: BTreeMap<String, String>,
    now: Cell<u64>,
    remaining: Option<u64>,
    cancelled: bool,
    client: Option<ClientInfo>,
    kv: Option<kv::Store>,
    artifacts: Option<artifacts::Store>,
    failures: BTreeMap<&'static str, Fault>,
    /// What was set, by interface and function: each a boxed closure of the function's own type.
    functions: BTreeMap<&'static str, Box<dyn Any>>,
    reported: RefCell<Vec<String>>,
}

impl Fake {
    /// A host that offers nothing and exposes no tool.
    pub fn new() -> Self {
        Self::default()
    }

    /// The caller's preset has these tools, under their own names.
    #[must_use]
    pub fn exposes<'a>(mut self, tools: impl IntoIterator<Item = &'a str>) -> Self {
        self.exposed.extend(tools.into_iter().map(|t| (t.to_owned(), t.to_owned())));
        self
    }

    /// The caller's preset has this tool under another name.
    #[must_use]
    pub fn exposes_as(mut self, tool: &str, name: &str) -> Self {
        self.exposed.insert(tool.to_owned(), name.to_owned());
        self
    }

    /// What the clock says.
    #[must_use]
    pub fn now(self, ms: u64) -> Self {
        self.now.set(ms);
        self
    }

    /// Milliseconds that are left of the call's time; those of a preset that says nothing where this is not called.
    #[must_use]
    pub fn remaining(mut self, ms: u64) -> Self {
        self.remaining = Some(ms);
        self
    }

    /// A function of a host that keeps things (`kv.set`, `artifacts.put`) answers with this fault.
    #[must_use]
    pub fn fails(mut self, function: &'static str, fault: Fault) -> Self {
        self.failures.insert(function, fault);
        self
    }

    pub(crate) fn failure(&self, function: &str) -> Result<(), Fault> {
        self.failures.get(function).cloned().map_or(Ok(()), Err)
    }

    /// The client has given the call up.
    #[must_use]
    pub fn cancelled(mut self) -> Self {
        self.cancelled = true;
        self
    }

    /// The client of the call.
    #[must_use]
    pub fn client(mut self, client: ClientInfo) -> Self {
        self.client = Some(client);
        self
    }

    /// What [`crate::models::which`] says.
    #[must_use]
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

    /// Runs `body` with this host in place, on this thread.
    pub fn run<T>(self, body: impl FnOnce() -> T) -> T {
        self.run_and_hear(body).0
    }

    /// Like [`Fake::run`], and also says what the gate logged and how far it said it was.
    pub fn run_and_hear<T>(self, body: impl FnOnce() -> T) -> (T, Vec<String>) {
        let fake = Rc::new(self);
        let before = CURRENT.with(|c| c.replace(Some(Rc::clone(&fake))));
        let _restore = Restore(before);
        let answer = body();
        (answer, fake.reported.take())
    }
}

/// Puts the former host back, also when the body panics.
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

/// Has the filter of a gate look at the reply to a call with these arguments.
pub fn filter<P: Params>(
    gate: &Gate<P>,
    origin: Origin,
    arguments: &str,
    reply: Reply,
    params: &str,
) -> Result<Option<Reply>, Fault> {
    gate.on_reply(request(&origin.tool.name.clone(), arguments, params), origin, reply)
}

/// A read-only tool of the source `server`, as a filter hears of it.
pub fn origin(tool: &str) -> Origin {
    let tool = types::Tool {
        name: tool.into(),
        title: None,
        description: String::new(),
        input_schema: "{\"type\":\"object\"}".into(),
        output_schema: None,
        intent: types::Intent::Query,
        effect: types::Effect::ReadOnly,
        idempotent: true,
        open_world: false,
        dry_run: None,
        additive: false,
        meta: None,
        icons: Vec::new(),
    };
    Origin { name: tool.name.clone(), source: "server".into(), version: "1".into(), tool }
}

/// Lets time go by for the host in place.
pub fn advance(ms: u64) {
    let host = current();
    host.now.set(host.now.get().saturating_add(ms));
}

pub(crate) fn current() -> Rc<Fake> {
    CURRENT.with(|c| c.borrow().clone()).unwrap_or_default()
}

fn unset<T>(function: &str) -> Result<T, Fault> {
    Err(Fault::internal(format!("the test's host has no '{function}'")))
}
