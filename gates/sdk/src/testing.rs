//! A stand-in for the host, so that a gate's logic runs under `cargo test`. Not part of a component.
//!
//! A [`Fake`] holds one closure per host function. A test sets those it needs and runs a call inside
//! [`Fake::run`]; a function that was not set answers with an `internal` fault that names it. What the
//! gate tells the host (log lines, progress) is kept and can be read back.

use std::{cell::RefCell, collections::BTreeMap, rc::Rc};

use crate::{
    Fault, Gate, Params, Reply,
    bindings::gatehouse::gate::types,
    context::Level,
    http::{Request, Response},
    knowledge::*,
    text::ExtractResult,
};

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
type Fetch = Box<dyn Fn(&Request) -> Result<Response, Fault>>;
type Extract = Box<dyn Fn(&str, &str, u32) -> Result<ExtractResult, Fault>>;

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
    fetch: Option<Fetch>,
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

pub(crate) mod context {
    use super::*;

    pub(crate) fn log(level: Level, message: &str, fields: &str) {
        current().heard.borrow_mut().push(format!("{level:?}: {message} {fields}").trim_end().to_owned());
    }
    pub(crate) fn progress(done: u64, total: Option<u64>, message: Option<&str>) {
        let total = total.map(|t| format!("/{t}")).unwrap_or_default();
        current().heard.borrow_mut().push(format!("{done}{total} {}", message.unwrap_or_default()));
    }
    pub(crate) fn now() -> u64 {
        current().now
    }
    pub(crate) fn cancelled() -> bool {
        current().cancelled
    }
    pub(crate) fn exposed_name(tool: &str) -> Option<String> {
        current().exposed.get(tool).cloned()
    }
}

pub(crate) mod text {
    use super::*;

    pub(crate) fn extract(text: &str, query: &str, budget: u32) -> Result<ExtractResult, Fault> {
        current().extract.as_ref().map_or_else(|| unset("extract"), |f| f(text, query, budget))
    }
}

pub(crate) mod http {
    use super::*;

    pub(crate) fn fetch(request: &Request) -> Result<Response, Fault> {
        current().fetch.as_ref().map_or_else(|| unset("fetch"), |f| f(request))
    }
    pub(crate) fn fetch_many(requests: &[Request]) -> Vec<Result<Response, Fault>> {
        requests.iter().map(fetch).collect()
    }
}

pub(crate) mod knowledge {
    use super::*;

    pub(crate) fn search(query: &str, filters: &Filters, limit: u32) -> Result<SearchResult, Fault> {
        current().search.as_ref().map_or_else(|| unset("search"), |f| f(query, filters, limit))
    }
    pub(crate) fn read(id_or_title: &str) -> Result<Lookup, Fault> {
        current().read.as_ref().map_or_else(|| unset("read"), |f| f(id_or_title))
    }
    pub(crate) fn neighbours(id: &str) -> Result<Vec<Neighbour>, Fault> {
        current().neighbours.as_ref().map_or_else(|| unset("neighbours"), |f| f(id))
    }
    pub(crate) fn upsert(drafts: &[Draft]) -> Result<IndexReport, Fault> {
        current().upsert.as_ref().map_or_else(|| unset("upsert"), |f| f(drafts))
    }
    pub(crate) fn patch(
        id: &str,
        changes: &Changes,
        wiki_dir: Option<&str>,
        stamp: bool,
    ) -> Result<PatchReport, Fault> {
        current().patch.as_ref().map_or_else(|| unset("patch"), |f| f(id, changes, wiki_dir, stamp))
    }
    pub(crate) fn index(root: Option<&str>, options: &IndexOptions) -> Result<IndexReport, Fault> {
        current().index.as_ref().map_or_else(|| unset("index"), |f| f(root, options))
    }
    pub(crate) fn stats() -> Result<Statistics, Fault> {
        current().stats.as_ref().map_or_else(|| unset("stats"), |f| f())
    }
}
