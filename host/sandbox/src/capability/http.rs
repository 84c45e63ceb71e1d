//! `http`: requests to hosts that presets.toml allows. Gatehouse's interface and `wasi:http` share rules, limits and
//! budget.

mod wasi;

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    CallDeadline, Principal,
    budget::ByteBudget,
    capability::Capability,
    http::HttpRules,
    outcome::Fault,
    ports::{
        self,
        http::{HttpRequest, HttpResponse, RedirectMode},
    },
};
use tokio::time::Instant;

use super::{InstanceContext, describing};
use crate::limits::{MAX_TIME, raise_hint, take_one};
pub(crate) use wasi::{CHUNK, OutgoingHandler};

const REQUEST_TIME: Duration = Duration::from_secs(30);

const MAX_BATCH: usize = 16;

const MAX_CONCURRENT_REQUESTS: usize = 8;

/// Maximum bytes of responses that one call can hold; the default of `copy`.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

pub(crate) struct RequestSender {
    rules: Arc<HttpRules>,
    /// `None` while a gate describes itself.
    open: Option<HttpAccess>,
    limit: u32,
    left: AtomicU32,
    room: ByteBudget,
}

struct HttpAccess {
    port: Arc<dyn ports::HttpFetcher>,
    deadline: CallDeadline,
    principal: Principal,
}

/// A request without the call's settings.
pub(crate) struct OutgoingRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) redirects: RedirectMode,
    /// Start time. `None` means when it is sent.
    pub(crate) begun: Option<Instant>,
    pub(crate) time: Option<Duration>,
}

impl RequestSender {
    pub(super) fn new(facts: &InstanceContext, budget: &ByteBudget) -> Arc<Self> {
        let port = Arc::clone(&facts.ports.http);
        let open = facts.call.as_ref().map(|call| HttpAccess {
            port,
            deadline: call.deadline.clone(),
            principal: call.context.principal().clone(),
        });
        let limit = facts.limits.http_requests;
        let rules = Arc::clone(&facts.http);
        Arc::new(Self {
            rules,
            open,
            limit,
            left: AtomicU32::new(limit),
            room: budget.part(MAX_RESPONSE_BYTES),
        })
    }

    pub(crate) fn outgoing(self: &Arc<Self>) -> OutgoingHandler {
        OutgoingHandler::new(Arc::clone(self))
    }

    fn deadline(&self, begun: Instant, time: Option<Duration>) -> Instant {
        let own = begun + time.unwrap_or(REQUEST_TIME).min(MAX_TIME);
        self.open.as_ref().map_or(own, |open| own.min(open.deadline.instant()))
    }

    /// Fails if the request cannot be sent, before its body is collected.
    fn admit(&self, url: &str) -> Result<(), Fault> {
        if self.open.is_none() {
            return Err(describing(Capability::Http));
        }
        self.rules.check(url).map(drop)
    }

    /// Counts a request toward the call's limit and sends it.
    pub(crate) async fn send(&self, request: OutgoingRequest) -> Result<HttpResponse, Fault> {
        let Some(open) = &self.open else {
            return Err(describing(Capability::Http));
        };
        if !take_one(&self.left) {
            let (gate, limit) = (self.rules.gate(), self.limit);
            let message = format!("gate '{gate}' exceeded its limit of {limit} HTTP requests in one call");
            return Err(Fault::exhausted(message).hint(raise_hint(gate, "http_requests")));
        }
        let request = HttpRequest {
            principal: open.principal.clone(),
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: request.body,
            redirects: request.redirects,
            deadline: self.deadline(request.begun.unwrap_or_else(Instant::now), request.time),
            budget: self.room.clone(),
        };
        open.port.fetch(&self.rules, request).await
    }

    /// Sends requests concurrently. All responses stay in the budget until the last one arrives.
    pub(crate) async fn send_many(&self, requests: Vec<OutgoingRequest>) -> Vec<Result<HttpResponse, Fault>> {
        let count = requests.len();
        if count > MAX_BATCH {
            let why = format!("{count} requests in one batch; the limit is {MAX_BATCH}");
            let fault = || Err(Fault::exhausted(why.clone()).hint("Split them into smaller batches."));
            return requests.iter().map(|_| fault()).collect();
        }
        stream::iter(requests)
            .map(|request| self.send(request))
            .buffered(MAX_CONCURRENT_REQUESTS)
            .collect()
            .await
    }
}

#[cfg(test)]
mod tests {
    use gatehouse_core::FaultKind;

    use super::*;

    #[tokio::test]
    async fn a_gate_that_describes_itself_has_no_network() {
        let (rules, room) = (Arc::new(HttpRules::deny_all("weather")), ByteBudget::new(MAX_RESPONSE_BYTES));
        let sender = RequestSender { rules, open: None, limit: 64, left: AtomicU32::new(64), room };
        let url = "https://api.weather.gov/".to_owned();
        let (method, redirects) = ("GET".to_owned(), RedirectMode::Follow);
        let request = OutgoingRequest {
            method,
            url,
            headers: Vec::new(),
            body: None,
            redirects,
            begun: None,
            time: None,
        };
        let fault = sender.send(request).await.expect_err("denied");
        assert_eq!(fault.kind, FaultKind::Denied);
        assert_eq!(fault.message, "a gate has no access to http while it describes itself");
    }
}
