//! What gates can reach, in core's types: a file for each capability that has rules of its own. Whatever is not
//! always granted begins with [`Capabilities::granted`], the one check; the functions of each contract version
//! in `abi` do.

mod context;
pub(crate) mod http;
mod models;
mod text;

use std::sync::Arc;

use gatehouse_core::{
    budget::ByteBudget,
    call::{Call, ProgressSink},
    capability::{Access, Capability, Grants},
    catalog::Catalog,
    http::Rules,
    nesting::Nesting,
    outcome::Fault,
    tool::{SourceId, ToolSpec},
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

pub(crate) use models::Question;

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

/// Every capability a gate can have: what the host knows about its call, and what the call has used up.
pub(crate) struct Capabilities {
    facts: CallFacts,
    context: context::Context,
    models: models::Models,
    /// Shared with `wasi:http`.
    pub(crate) http: Arc<http::RequestSender>,
    /// What they have the host hold comes out of it.
    pub(crate) budget: ByteBudget,
}

/// A gate at work for a client, which was granted what it is about to do.
#[derive(Clone, Copy)]
pub(crate) struct Granted<'a> {
    pub(crate) facts: &'a CallFacts,
    pub(crate) client: &'a Client,
}

impl Capabilities {
    pub(crate) fn new(facts: CallFacts, budget: &ByteBudget) -> Self {
        Self {
            context: context::Context::new(&facts),
            models: models::Models::new(&facts),
            http: http::RequestSender::new(&facts, budget),
            budget: budget.clone(),
            facts,
        }
    }

    /// What the host knows about the call that runs.
    pub(crate) fn facts(&self) -> &CallFacts {
        &self.facts
    }

    /// The one way to what presets.toml grants; a gate that describes itself has none of it.
    pub(crate) fn granted(&self, capability: Capability, access: Access) -> Result<Granted<'_>, Fault> {
        let facts = &self.facts;
        facts.grants.require(&facts.gate, capability, access)?;
        let client = facts.call.as_ref().ok_or_else(|| describing(capability))?;
        Ok(Granted { facts, client })
    }
}

fn describing(capability: Capability) -> Fault {
    Fault::denied(format!("A gate that describes itself has no access to {capability}."))
}
