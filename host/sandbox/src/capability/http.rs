//! `http`: requests to the hosts that presets.toml names for the gate. Two interfaces lead here, our own and
//! `wasi:http`; both go through one [`RequestSender`], so they have the same rules, caps and budget.

mod wasi;

use std::{
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    CallDeadline,
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

/// How long one request may take where the gate does not say.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// The most requests of one `fetch-many`.
const MAX_BATCH: usize = 16;

/// How many of them run at the same time.
const MAX_CONCURRENT_REQUESTS: usize = 8;

/// Bytes of answers that one call may hold at the same time; as much as may be copied at once. They are a part
/// of what the host holds for the call.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

/// The one way out of a call.
pub(crate) struct RequestSender {
    rules: Arc<HttpRules>,
    /// None while a gate describes itself.
    open: Option<HttpAccess>,
    limit: u32,
    left: AtomicU32,
    room: ByteBudget,
}

struct HttpAccess {
    port: Arc<dyn ports::HttpFetcher>,
    deadline: CallDeadline,
}

/// A request before what the call knows is added.
pub(crate) struct OutgoingRequest {
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) headers: Vec<(String, Vec<u8>)>,
    pub(crate) body: Option<Vec<u8>>,
    pub(crate) redirects: RedirectMode,
    /// When it began; none where it begins when it is sent.
    pub(crate) begun: Option<Instant>,
    /// How long it may take.
    pub(crate) time: Option<Duration>,
}

impl RequestSender {
    pub(super) fn new(facts: &InstanceContext, budget: &ByteBudget) -> Arc<Self> {
        let port = Arc::clone(&facts.ports.http);
        let open = facts.call.as_ref().map(|call| HttpAccess { port, deadline: call.deadline.clone() });
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

    /// The same capability, for `wasi:http`.
    pub(crate) fn outgoing(self: &Arc<Self>) -> OutgoingHandler {
        OutgoingHandler::new(Arc::clone(self))
    }

    /// When a request that began then has to be over.
    fn deadline(&self, begun: Instant, time: Option<Duration>) -> Instant {
        let own = begun + time.unwrap_or(REQUEST_TIME).min(MAX_TIME);
        self.open.as_ref().map_or(own, |open| own.min(open.deadline.instant()))
    }

    /// Faults where no request of this gate can be sent, so that nothing is collected for one that never is.
    fn admit(&self, url: &str) -> Result<(), Fault> {
        if self.open.is_none() {
            return Err(describing(Capability::Http));
        }
        self.rules.check(url).map(drop)
    }

    /// Counts a request against the call's budget, and sends it.
    pub(crate) async fn send(&self, request: OutgoingRequest) -> Result<HttpResponse, Fault> {
        let Some(open) = &self.open else {
            return Err(describing(Capability::Http));
        };
        if !take_one(&self.left) {
            let (gate, limit) = (self.rules.gate(), self.limit);
            let message = format!("Gate '{gate}' sent {limit} HTTP requests in one call, which is the most.");
            return Err(Fault::exhausted(message).hint(raise_hint(gate, "http_requests")));
        }
        let request = HttpRequest {
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

    /// Sends several at the same time. The answers are there when the last one is: until then each takes up its room.
    pub(crate) async fn send_many(&self, requests: Vec<OutgoingRequest>) -> Vec<Result<HttpResponse, Fault>> {
        let count = requests.len();
        if count > MAX_BATCH {
            let why = format!("{count} requests at once are too many, the most is {MAX_BATCH}.");
            let fault = || Err(Fault::exhausted(why.clone()).hint("Send them in parts."));
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
        assert_eq!(fault.message, "A gate that describes itself has no access to http.");
    }
}
