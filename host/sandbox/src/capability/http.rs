//! `http`: requests to the hosts that presets.toml names for the gate. Two interfaces lead here, our own and
//! `wasi:http`; both go through one [`Door`], so they have the same rules, caps and budget.

mod wasi;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::{StreamExt, stream};
use gatehouse_core::{
    budget::ByteBudget,
    http::Rules,
    outcome,
    ports::{
        self,
        http::{HttpRequest, HttpResponse, Redirects},
    },
};
use tokio::time::Instant;

use super::CallFacts;
use crate::{
    abi::v0_1::gatehouse::gate::{
        http::{Host, Request, Response},
        types::Fault,
    },
    limits::MAX_TIME,
    state::State,
};
pub(crate) use wasi::{CHUNK, Outgoing};

/// How long one request may take where the gate does not say.
const REQUEST_TIME: Duration = Duration::from_secs(30);

/// The most requests of one `fetch-many`.
const MAX_MANY: usize = 16;

/// How many of them run at the same time.
const AT_ONCE: usize = 8;

/// Bytes of answers that one call may hold at the same time; as much as may be copied at once. They are a part
/// of what the host holds for the call.
const ROOM: usize = 16 << 20;

/// The capability of one call.
pub(crate) struct Http {
    door: Arc<Door>,
}

/// The one way out of a call.
pub(crate) struct Door {
    rules: Arc<Rules>,
    /// None while a gate describes itself.
    open: Option<Open>,
    limit: u32,
    left: AtomicU32,
    room: ByteBudget,
}

struct Open {
    port: Arc<dyn ports::Http>,
    deadline: Instant,
}

/// A request before the door adds what the call knows.
struct Asked {
    method: String,
    url: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Option<Vec<u8>>,
    redirects: Redirects,
    /// When it began, and how long it may take.
    begun: Instant,
    time: Option<Duration>,
}

impl Http {
    pub(super) fn new(facts: &CallFacts, budget: &ByteBudget) -> Self {
        let open = facts
            .call
            .as_ref()
            .map(|client| Open { port: Arc::clone(&facts.ports.http), deadline: client.deadline });
        let limit = facts.limits.http_requests;
        let rules = Arc::clone(&facts.http);
        let door = Door { rules, open, limit, left: AtomicU32::new(limit), room: budget.part(ROOM) };
        Self { door: Arc::new(door) }
    }

    /// The same capability, for `wasi:http`.
    pub(crate) fn outgoing(&self) -> Outgoing {
        Outgoing::new(Arc::clone(&self.door))
    }
}

impl Door {
    /// When a request that began then has to be over.
    fn deadline(&self, begun: Instant, time: Option<Duration>) -> Instant {
        let own = begun + time.unwrap_or(REQUEST_TIME).min(MAX_TIME);
        self.open.as_ref().map_or(own, |open| own.min(open.deadline))
    }

    /// Faults where no request of this gate can be sent, so that nothing is collected for one that never is.
    fn admit(&self, url: &str) -> Result<(), outcome::Fault> {
        if self.open.is_none() {
            return Err(outcome::Fault::denied("A gate that describes itself has no access to HTTP."));
        }
        self.rules.check(url).map(drop)
    }

    /// Counts a request against the call's budget, and sends it.
    async fn send(&self, asked: Asked) -> Result<HttpResponse, outcome::Fault> {
        let Some(open) = &self.open else {
            return Err(outcome::Fault::denied("A gate that describes itself has no access to HTTP."));
        };
        let less = |left: u32| left.checked_sub(1);
        if self.left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_err() {
            let (gate, limit) = (self.rules.gate(), self.limit);
            let message = format!("Gate '{gate}' sent {limit} HTTP requests in one call, which is the most.");
            let hint = format!(
                "Ask for less at once, or raise limits.http_requests under [gates.{gate}] in presets.toml."
            );
            return Err(outcome::Fault::exhausted(message).hint(hint));
        }
        let request = HttpRequest {
            method: asked.method,
            url: asked.url,
            headers: asked.headers,
            body: asked.body,
            redirects: asked.redirects,
            deadline: self.deadline(asked.begun, asked.time),
            room: self.room.clone(),
        };
        open.port.fetch(&self.rules, request).await
    }

    async fn fetch(&self, request: Request) -> Result<HttpResponse, outcome::Fault> {
        let asked = Asked {
            method: request.method,
            url: request.url,
            headers: request.headers.into_iter().map(|line| (line.name, line.value.into_bytes())).collect(),
            body: request.body,
            redirects: Redirects::Follow,
            begun: Instant::now(),
            time: request.timeout_ms.map(|ms| Duration::from_millis(ms.into())),
        };
        self.send(asked).await
    }
}

impl Host for State {
    async fn fetch(&mut self, request: Request) -> Result<Response, Fault> {
        let door = Arc::clone(&self.capabilities.http.door);
        Ok(door.fetch(request).await?.into())
    }

    async fn fetch_many(&mut self, requests: Vec<Request>) -> Vec<Result<Response, Fault>> {
        let count = requests.len();
        if count > MAX_MANY {
            let why = format!("{count} requests at once are too many, the most is {MAX_MANY}.");
            let fault = || Err(outcome::Fault::exhausted(why.clone()).hint("Send them in parts.").into());
            return requests.iter().map(|_| fault()).collect();
        }
        let door = Arc::clone(&self.capabilities.http.door);
        let answers = stream::iter(requests).map(|request| door.fetch(request)).buffered(AT_ONCE);
        // Converted when the last one is there: until then each takes up its room.
        let answers: Vec<_> = answers.collect().await;
        answers.into_iter().map(|answer| Ok(answer?.into())).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_gate_that_describes_itself_has_no_network() {
        let (rules, room) = (Arc::new(Rules::none("weather")), ByteBudget::new(ROOM));
        let door = Door { rules, open: None, limit: 64, left: AtomicU32::new(64), room };
        let url = "https://api.weather.gov/".to_owned();
        let request =
            Request { method: "GET".into(), url, headers: Vec::new(), body: None, timeout_ms: None };
        let fault = door.fetch(request).await.expect_err("denied");
        assert_eq!(fault.kind, outcome::FaultKind::Denied);
        assert_eq!(fault.message, "A gate that describes itself has no access to HTTP.");
    }
}
