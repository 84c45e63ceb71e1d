//! The composition list of capabilities: one file per WIT interface, one field per capability.
//! A capability holds its port and the grant; nothing of a gate's own choosing ends up here.

mod catalog;
mod context;
pub(crate) mod http;
mod knowledge;
mod kv;
mod models;
mod text;

use std::sync::Arc;

use gatehouse_core::{
    budget::ByteBudget,
    call::{Call, ProgressSink},
    capability::{Capability, Grants},
    catalog::Catalog,
    http::Rules,
    nesting::Nesting,
    tool::{SourceId, ToolSpec},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::{Ports, limits::Limits, wasi::threads::FileThreads};

/// What the host knows about the call an instance works for.
pub(crate) struct CallFacts {
    pub(crate) gate: Arc<str>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) ports: Ports,
    pub(crate) params: Arc<str>,
    pub(crate) http: Arc<Rules>,
    pub(crate) limits: Limits,
    /// Where the blocking work of its files goes.
    pub(crate) threads: Arc<FileThreads>,
    /// None while a gate describes itself: then it has neither client nor catalog nor engines.
    pub(crate) call: Option<Client>,
}

impl CallFacts {
    /// The same gate while it serves nobody.
    pub(crate) fn without_call(&self) -> Self {
        Self {
            gate: Arc::clone(&self.gate),
            grants: Arc::clone(&self.grants),
            ports: self.ports.clone(),
            params: "{}".into(),
            http: Arc::clone(&self.http),
            limits: self.limits.clone(),
            threads: Arc::clone(&self.threads),
            call: None,
        }
    }
}

/// The client's side of a call.
pub(crate) struct Client {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
    /// For calls of the gate's own, where it is granted to make any.
    pub(crate) nesting: Option<Nesting>,
    pub(crate) deadline: Instant,
}

impl Client {
    pub(crate) fn of(call: &Call, source: &SourceId, tool: &ToolSpec, grants: &Grants) -> Self {
        let may_call = grants.access(Capability::Catalog).is_some();
        Self {
            nesting: may_call.then(|| Nesting::of(call, source, tool)).flatten(),
            catalog: Arc::clone(&call.catalog),
            cancel: call.cancel.clone(),
            progress: call.progress.clone(),
            deadline: call.deadline,
        }
    }
}

/// Every capability a gate can have.
pub(crate) struct Capabilities {
    pub(crate) catalog: catalog::Tools,
    pub(crate) context: context::Context,
    pub(crate) knowledge: knowledge::Knowledge,
    pub(crate) kv: kv::Kv,
    pub(crate) models: models::Models,
    pub(crate) text: text::Text,
    pub(crate) http: http::Http,
}

impl Capabilities {
    /// What they have the host hold, they take from this budget.
    pub(crate) fn new(facts: CallFacts, budget: &ByteBudget) -> Self {
        let mut facts = facts;
        Self {
            catalog: catalog::Tools::new(&mut facts, budget),
            knowledge: knowledge::Knowledge::new(&facts),
            kv: kv::Kv::new(&facts),
            models: models::Models::new(&facts),
            text: text::Text::new(&facts),
            http: http::Http::new(&facts, budget),
            context: context::Context::new(facts),
        }
    }

    /// What the host knows about the call that runs.
    pub(crate) fn facts(&self) -> &CallFacts {
        self.context.facts()
    }
}
