//! The composition list of capabilities: one file per WIT interface, one field per capability.
//! A capability holds its port and the grant; nothing of a gate's own choosing ends up here.

mod context;
pub(crate) mod http;
mod knowledge;
mod text;

use std::sync::Arc;

use gatehouse_core::{
    call::{Call, ProgressSink},
    capability::Grants,
    catalog::Catalog,
    http::Rules,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::Ports;

/// What the host knows about the call an instance is made for.
pub(crate) struct CallFacts {
    pub(crate) gate: Arc<str>,
    pub(crate) grants: Arc<Grants>,
    pub(crate) ports: Ports,
    pub(crate) params: Arc<str>,
    pub(crate) log_lines: u32,
    pub(crate) http: Arc<Rules>,
    pub(crate) http_requests: u32,
    /// None while a gate describes itself: then it has neither client nor catalog nor engines.
    pub(crate) call: Option<Client>,
}

/// The client's side of a call.
pub(crate) struct Client {
    pub(crate) catalog: Arc<Catalog>,
    pub(crate) cancel: CancellationToken,
    pub(crate) progress: Option<Arc<dyn ProgressSink>>,
    pub(crate) deadline: Instant,
}

impl Client {
    pub(crate) fn of(call: &Call) -> Self {
        Self {
            catalog: Arc::clone(&call.catalog),
            cancel: call.cancel.clone(),
            progress: call.progress.clone(),
            deadline: call.deadline,
        }
    }
}

/// Every capability a gate can have.
pub(crate) struct Capabilities {
    pub(crate) context: context::Context,
    pub(crate) knowledge: knowledge::Knowledge,
    pub(crate) text: text::Text,
    pub(crate) http: http::Http,
}

impl Capabilities {
    pub(crate) fn new(facts: CallFacts) -> Self {
        Self {
            knowledge: knowledge::Knowledge::new(&facts),
            text: text::Text::new(&facts),
            http: http::Http::new(&facts),
            context: context::Context::new(facts),
        }
    }
}
