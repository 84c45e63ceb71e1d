//! The composition list of capabilities: one file per WIT interface, one field per capability.
//! A capability holds its port and the grant; nothing of a gate's own choosing ends up here.

mod context;
mod knowledge;
mod kv;
mod text;

use std::sync::Arc;

use gatehouse_core::{
    call::{Call, ProgressSink},
    capability::Grants,
    catalog::Catalog,
};
use tokio_util::sync::CancellationToken;

use crate::{Ports, limits::Limits};

/// What the host knows about the call an instance works for.
pub(crate) struct CallFacts {
    pub(crate) gate: Arc<str>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) ports: Ports,
    pub(crate) params: Arc<str>,
    pub(crate) limits: Limits,
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
            limits: self.limits.clone(),
            call: None,
        }
    }
}

/// The client's side of a call.
pub(crate) struct Client {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
}

impl Client {
    pub(crate) fn of(call: &Call) -> Self {
        Self {
            catalog: Arc::clone(&call.catalog),
            cancel: call.cancel.clone(),
            progress: call.progress.clone(),
        }
    }
}

/// Every capability a gate can have.
pub(crate) struct Capabilities {
    pub(crate) context: context::Context,
    pub(crate) knowledge: knowledge::Knowledge,
    pub(crate) kv: kv::Kv,
    pub(crate) text: text::Text,
}

impl Capabilities {
    pub(crate) fn new(facts: CallFacts) -> Self {
        Self {
            knowledge: knowledge::Knowledge::new(&facts),
            kv: kv::Kv::new(&facts),
            text: text::Text::new(&facts),
            context: context::Context::new(facts),
        }
    }

    /// What the host knows about the call that runs.
    pub(crate) fn facts(&self) -> &CallFacts {
        self.context.facts()
    }
}
