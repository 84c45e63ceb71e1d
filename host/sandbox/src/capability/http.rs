//! `http`: requests to hosts that presets.toml allows. Gatehouse's interface and `wasi:http` share rules, limits and
//! budget.

use std::{
    future::Future,
    sync::{Arc, atomic::AtomicU32},
    time::Duration,
};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use gatehouse_core::{
    CallDeadline, FaultKind, Principal,
    budget::{ByteBudget, ByteReservation},
    capability::Capability,
    outcome::Fault,
    ports::http::{HttpRequest, HttpResponse, MAX_REQUEST_BODY, RedirectMode},
};
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::{GateFacts, InstanceContext, describing};
use crate::limits::{MAX_TIME, refused_batch, take_one};

const REQUEST_TIME: Duration = Duration::from_secs(30);

const MAX_BATCH: usize = 16;

const MAX_CONCURRENT_REQUESTS: usize = 8;

/// Maximum bytes of responses that one call can hold; the default of `copy`.
const MAX_RESPONSE_BYTES: usize = 16 << 20;

pub(crate) struct RequestSender {
    facts: Arc<GateFacts>,
    /// `None` while a gate describes itself. A request may outlive its call, so it does not hold the call's context.
    call: Option<(CallDeadline, Principal)>,
    left: AtomicU32,
    room: ByteBudget,
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
        let (requests_left, room) =
            (AtomicU32::new(facts.limits.http_requests), budget.part(MAX_RESPONSE_BYTES));
        let call = facts.call.as_ref();
        let call = call.map(|call| (call.deadline.clone(), call.context.principal().clone()));
        Arc::new(Self { facts: Arc::clone(&facts.facts), call, left: requests_left, room })
    }

    fn deadline(&self, start: Instant, time: Option<Duration>) -> Instant {
        let own_deadline = start + time.unwrap_or(REQUEST_TIME).min(MAX_TIME);
        self.call.as_ref().map_or(own_deadline, |(deadline, _)| own_deadline.min(deadline.instant()))
    }

    /// Fails if the request cannot be sent, before its body is collected.
    fn admit(&self, url: &str) -> Result<(), Fault> {
        if self.call.is_none() {
            return Err(describing(Capability::Http));
        }
        self.facts.http.check(url).map(drop)
    }

    /// Counts a request toward the call's limit and sends it.
    pub(crate) async fn send(&self, request: OutgoingRequest) -> Result<HttpResponse, Fault> {
        let Some((_, principal)) = &self.call else {
            return Err(describing(Capability::Http));
        };
        let limit = self.facts.limits.http_requests;
        take_one(&self.left, &self.facts.gate, limit, "HTTP requests", "http_requests")?;
        let request = HttpRequest {
            principal: principal.clone(),
            method: request.method,
            url: request.url,
            headers: request.headers,
            body: request.body,
            redirects: request.redirects,
            deadline: self.deadline(request.begun.unwrap_or_else(Instant::now), request.time),
            budget: self.room.clone(),
        };
        self.facts.ports.http.fetch(&self.facts.http, request).await
    }

    /// Sends requests concurrently. All responses stay in the budget until the last one arrives.
    pub(crate) async fn send_many(&self, requests: Vec<OutgoingRequest>) -> Vec<Result<HttpResponse, Fault>> {
        if let Some(refused) = refused_batch(requests.len(), "requests", MAX_BATCH) {
            return refused;
        }
        stream::iter(requests)
            .map(|request| self.send(request))
            .buffered(MAX_CONCURRENT_REQUESTS)
            .collect()
            .await
    }
}

/// Drives the connection after the response; always ready here.
type ConnectionFuture = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// Maximum bytes per write to a body. The stream buffers as much for the guest until the request is sent.
pub(crate) const CHUNK: usize = 16 << 10;

/// Adapts [`RequestSender`] to `wasi:http`.
pub(crate) struct OutgoingHandler {
    pub(crate) sender: Arc<RequestSender>,
    /// Part of the budget that the next request uses.
    pub(crate) reservation: Option<ByteReservation>,
}

impl WasiHttpHooks for OutgoingHandler {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: ConnectionFuture,
    ) -> Box<dyn Future<Output = Result<(http::Response<WasiBody>, ConnectionFuture), Error>> + Send> {
        let (sender, reservation) = (Arc::clone(&self.sender), self.reservation.take());
        Box::new(async move {
            let _reservation = reservation;
            let sent = send(&sender, request, options).await;
            let response = sent.and_then(to_wasi_response).map_err(|fault| to_error_code(&sender, fault))?;
            Ok((response, Box::new(async { Ok(()) }) as ConnectionFuture))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        CHUNK
    }
}

async fn send(
    sender: &RequestSender,
    request: http::Request<WasiBody>,
    options: Option<RequestOptions>,
) -> Result<HttpResponse, Fault> {
    let start = Instant::now();
    // The response arrives as a whole, so the timeout of its first byte limits all of it.
    let time = options.and_then(|options| options.first_byte_timeout);
    let (parts, body) = request.into_parts();
    sender.admit(&parts.uri.to_string())?;
    let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let headers = headers.collect();
    let mut held = sender.room.reserve();
    let collected = timeout_at(sender.deadline(start, time), collect(body, &mut held)).await;
    let too_late = "the request body was not finished in time";
    let body = collected.unwrap_or_else(|_| Err(Fault::new(FaultKind::TimedOut, too_late)))?;
    let request = OutgoingRequest {
        method: parts.method.to_string(),
        url: parts.uri.to_string(),
        headers,
        body: Some(body),
        // Clients of `wasi:http` follow redirects themselves; each hop is a new request.
        redirects: RedirectMode::Return,
        begun: Some(start),
        time,
    };
    sender.send(request).await
}

/// Reads the whole body. Its bytes count toward the same budget as responses.
async fn collect(mut body: WasiBody, held: &mut ByteReservation) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Fault::invalid("the request body was not finished"))?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > MAX_REQUEST_BODY {
            let message = format!("request body is larger than {MAX_REQUEST_BODY} bytes");
            return Err(Fault::exhausted(message));
        }
        if !held.take(data.len()) {
            return Err(Fault::exhausted(
                "the request and response bodies of this call exceed its memory budget",
            ));
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}

fn to_wasi_response(response: HttpResponse) -> Result<http::Response<WasiBody>, Fault> {
    let HttpResponse { status, headers, body, reservation: held, .. } = response;
    let mut response = http::Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    let body = Full::new(Bytes::from(body)).map_err(Error::from).map_frame(move |frame| {
        let _ = &held;
        frame
    });
    let broken = |error| Fault::internal(format!("cannot pass the response to the gate: {error}"));
    response.body(body.boxed_unsync()).map_err(broken)
}

/// Maps a fault to an error code. No code has a reason for a denied request, so the reason is logged.
fn to_error_code(sender: &RequestSender, fault: Fault) -> Error {
    match fault.kind {
        FaultKind::Denied => {
            tracing::warn!(target: "gate", gate = &*sender.facts.gate, "{}", fault.in_one_line());
            Error::HttpRequestDenied
        }
        FaultKind::TimedOut => Error::HttpResponseTimeout,
        _ => Error::InternalError(Some(fault.message)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn a_gate_that_describes_itself_has_no_network() {
        let facts = InstanceContext::new(&testing::facts("weather"), "{}".into(), None);
        let sender = RequestSender::new(&facts, &ByteBudget::new(MAX_RESPONSE_BYTES));
        let request = OutgoingRequest {
            method: "GET".into(),
            url: "https://api.weather.gov/".into(),
            headers: Vec::new(),
            body: None,
            redirects: RedirectMode::Follow,
            begun: None,
            time: None,
        };
        let fault = sender.send(request).await.expect_err("denied");
        assert_eq!(fault.kind, FaultKind::Denied);
        assert_eq!(
            fault.message,
            "a gate has no access to http while it describes itself or converts a file"
        );
    }
}
