//! A stand-in for the host, so that a gate's logic runs under `cargo test`. Not part of a component.
//!
//! A [`Fake`] holds one closure per host function. A test sets those it needs and runs a call inside
//! [`Fake::run`]; a function that was not set answers with an `internal` fault that names it. What the
//! gate tells the host (log lines, progress) is kept and can be read back.

pub(crate) mod kv;
pub(crate) mod models;

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use crate::{
    Fault, Gate, Params, Reply,
    bindings::gatehouse::gate::types,
    context::Level,
    http::{Request, Response},
    knowledge::*,
    text::{DigestResult, ExtractResult},
};

mod host;

pub(crate) use host::{catalog, context, http, knowledge, text};

thread_local! {
    static CURRENT: RefCell<Option<Rc<Fake>>> = const { RefCell::new(None) };
}

type Search = Box<dyn Fn(&str, &Filters, u32) -> Result<SearchResult, Fault>>;
type Read = Box<dyn Fn(&str) -> Result<Lookup, Fault>>;
type Neighbours = Box<dyn Fn(&str) -> Result<Vec<Neighbour>, Fault>>;
type Upsert = Box<dyn Fn(&[Draft]) -> Result<IndexReport, Fault>>;
type Patch = Box<dyn Fn(&str, &Changes, Option<&str>, bool) -> Result<PatchReport, Fault>>;
type Index = Box<dyn Fn(Option<&str>, &IndexOptions) -> Result<IndexReport, Fault>>;
type Stats = Box<dyn Fn() -> Result<Statistics, Fault>>;
type CallTool = Box<dyn Fn(&str, &str) -> Result<Reply, Fault>>;
type Fetch = Box<dyn Fn(&Request) -> Result<Response, Fault>>;
type Extract = Box<dyn Fn(&str, &str, u32) -> Result<ExtractResult, Fault>>;
type Digest = Box<dyn Fn(&str, &str, u32) -> Result<DigestResult, Fault>>;

/// The host as a test wants it.
#[derive(Default)]
pub struct Fake {
    exposed: BTreeMap<String, String>,
    now: u64,
    cancelled: bool,
    search: Option<Search>,
    read: Option<Read>,
    neighbours: Option<Neighbours>,
    upsert: Option<Upsert>,
    patch: Option<Patch>,
    index: Option<Index>,
    stats: Option<Stats>,
    extract: Option<Extract>,
    digest: Option<Digest>,
    tools: Vec<catalog::Entry>,
    call_tool: Option<CallTool>,
    fetch: Option<Fetch>,
    kv: Option<kv::Kept>,
    models: models::Models,
    heard: RefCell<Vec<String>>,
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
    pub fn now(mut self, ms: u64) -> Self {
        self.now = ms;
        self
    }

    /// The client has given the call up.
    #[must_use]
    pub fn cancelled(mut self) -> Self {
        self.cancelled = true;
        self
    }

    /// What [`crate::knowledge::search`] does.
    #[must_use]
    pub fn search(
        mut self,
        f: impl Fn(&str, &Filters, u32) -> Result<SearchResult, Fault> + 'static,
    ) -> Self {
        self.search = Some(Box::new(f));
        self
    }

    /// What [`crate::knowledge::read`] does.
    #[must_use]
    pub fn read(mut self, f: impl Fn(&str) -> Result<Lookup, Fault> + 'static) -> Self {
        self.read = Some(Box::new(f));
        self
    }

    /// What [`crate::knowledge::neighbours`] does.
    #[must_use]
    pub fn neighbours(mut self, f: impl Fn(&str) -> Result<Vec<Neighbour>, Fault> + 'static) -> Self {
        self.neighbours = Some(Box::new(f));
        self
    }

    /// What [`crate::knowledge::upsert`] does.
    #[must_use]
    pub fn upsert(mut self, f: impl Fn(&[Draft]) -> Result<IndexReport, Fault> + 'static) -> Self {
        self.upsert = Some(Box::new(f));
        self
    }

    /// What [`crate::knowledge::patch`] does.
    #[must_use]
    pub fn patch(
        mut self,
        f: impl Fn(&str, &Changes, Option<&str>, bool) -> Result<PatchReport, Fault> + 'static,
    ) -> Self {
        self.patch = Some(Box::new(f));
        self
    }

    /// What [`crate::knowledge::index`] does.
    #[must_use]
    pub fn index(
        mut self,
        f: impl Fn(Option<&str>, &IndexOptions) -> Result<IndexReport, Fault> + 'static,
    ) -> Self {
        self.index = Some(Box::new(f));
        self
    }

    /// What [`crate::knowledge::stats`] does.
    #[must_use]
    pub fn stats(mut self, f: impl Fn() -> Result<Statistics, Fault> + 'static) -> Self {
        self.stats = Some(Box::new(f));
        self
    }

    /// What [`crate::text::extract`] does.
    #[must_use]
    pub fn extract(mut self, f: impl Fn(&str, &str, u32) -> Result<ExtractResult, Fault> + 'static) -> Self {
        self.extract = Some(Box::new(f));
        self
    }

    /// What [`crate::text::digest`] does.
    #[must_use]
    pub fn digest(mut self, f: impl Fn(&str, &str, u32) -> Result<DigestResult, Fault> + 'static) -> Self {
        self.digest = Some(Box::new(f));
        self
    }

    /// What [`crate::catalog::tools`] finds and [`crate::catalog::call`] does, and
    /// [`crate::catalog::call_many`] with each of its calls.
    #[must_use]
    pub fn catalog(
        mut self,
        tools: Vec<crate::catalog::Entry>,
        f: impl Fn(&str, &str) -> Result<Reply, Fault> + 'static,
    ) -> Self {
        self.tools = tools;
        self.call_tool = Some(Box::new(f));
        self
    }

    /// What [`crate::http::fetch`] does, and [`crate::http::fetch_many`] with each of its requests.
    #[must_use]
    pub fn fetch(mut self, f: impl Fn(&Request) -> Result<Response, Fault> + 'static) -> Self {
        self.fetch = Some(Box::new(f));
        self
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
        (answer, fake.heard.take())
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
    gate.call(types::Call {
        id: "call-1".into(),
        tool: tool.into(),
        arguments: arguments.into(),
        params: params.into(),
        caller: None,
        preset: "test".into(),
        deadline_ms: 30_000,
    })
}

fn current() -> Rc<Fake> {
    CURRENT.with(|c| c.borrow().clone()).unwrap_or_default()
}

fn unset<T>(function: &str) -> Result<T, Fault> {
    Err(Fault::internal(format!("the test's host has no '{function}'")))
}
