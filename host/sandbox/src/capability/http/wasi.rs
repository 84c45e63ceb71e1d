//! `wasi:http/outgoing-handler` for gates that were not written for Gatehouse: JavaScript's `fetch()`, and
//! every library on WASI. A request is collected, goes through the sender, and its answer comes back whole.

use std::{future::Future, sync::Arc};

use bytes::Bytes;
use gatehouse_core::{
    FaultKind,
    budget::ByteReservation,
    outcome::Fault,
    ports::http::{HttpResponse, MAX_REQUEST_BODY, RedirectMode},
};
use http_body_util::{BodyExt, Full};
use tokio::time::{Instant, timeout_at};
use wasmtime_wasi_http::{Error, RequestOptions, WasiBody, WasiHttpHooks};

use super::{OutgoingRequest, RequestSender};

/// What becomes of the connection afterwards; here nothing does.
type ConnectionFuture = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// The most bytes that a body takes at once. It keeps as much for the guest until the request is sent.
pub(crate) const CHUNK: usize = 16 << 10;

/// The sender as `wasi:http` sees it.
pub(crate) struct OutgoingHandler {
    sender: Arc<RequestSender>,
    /// What the request that is sent next takes of the budget.
    carried: Option<ByteReservation>,
}

impl OutgoingHandler {
    pub(super) fn new(sender: Arc<RequestSender>) -> Self {
        Self { sender, carried: None }
    }

    /// The next request takes so much of the budget until it is over.
    pub(crate) fn set_reservation(&mut self, held: Option<ByteReservation>) {
        self.carried = held;
    }
}

impl WasiHttpHooks for OutgoingHandler {
    fn send_request(
        &mut self,
        request: http::Request<WasiBody>,
        options: Option<RequestOptions>,
        _: ConnectionFuture,
    ) -> Box<dyn Future<Output = Result<(http::Response<WasiBody>, ConnectionFuture), Error>> + Send> {
        let (sender, carried) = (Arc::clone(&self.sender), self.carried.take());
        Box::new(async move {
            let _carried = carried;
            let sent = send(&sender, request, options).await;
            let response = sent.and_then(answer).map_err(|fault| error(&sender, fault))?;
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
    let begun = Instant::now();
    // The answer comes all at once, so its first byte is there when the last one is.
    let time = options.and_then(|options| options.first_byte_timeout);
    let (parts, body) = request.into_parts();
    sender.admit(&parts.uri.to_string())?;
    let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let headers = headers.collect();
    let mut held = sender.room.reserve();
    let collected = timeout_at(sender.deadline(begun, time), collect(body, &mut held)).await;
    let too_late = "The body of the request was not finished in time.";
    let body = collected.unwrap_or_else(|_| Err(Fault::new(FaultKind::TimedOut, too_late)))?;
    let request = OutgoingRequest {
        method: parts.method.to_string(),
        url: parts.uri.to_string(),
        headers,
        body: Some(body),
        // Who speaks wasi:http follows redirects itself; the next hop is a request like any other.
        redirects: RedirectMode::Return,
        begun: Some(begun),
        time,
    };
    sender.send(request).await
}

/// The whole body. What is not sent yet takes up room as answers do.
async fn collect(mut body: WasiBody, held: &mut ByteReservation) -> Result<Vec<u8>, Fault> {
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|_| Fault::invalid("The body of the request was not finished."))?;
        let Some(data) = frame.data_ref() else { continue };
        if bytes.len() + data.len() > MAX_REQUEST_BODY {
            let message = format!("The body of the request has more than {MAX_REQUEST_BODY} bytes.");
            return Err(Fault::exhausted(message));
        }
        if !held.take(data.len()) {
            return Err(Fault::exhausted("The bodies that this call holds are too large together."));
        }
        bytes.extend_from_slice(data);
    }
    Ok(bytes)
}

fn answer(answer: HttpResponse) -> Result<http::Response<WasiBody>, Fault> {
    let HttpResponse { status, headers, body, reservation: held, .. } = answer;
    let mut response = http::Response::builder().status(status);
    for (name, value) in headers {
        response = response.header(name, value);
    }
    let body = Full::new(Bytes::from(body)).map_err(Error::from).map_frame(move |frame| {
        // What the guest has not read yet takes up room.
        let _ = &held;
        frame
    });
    let broken = |error| Fault::internal(format!("The answer cannot be given to the gate: {error}."));
    response.body(body.boxed_unsync()).map_err(broken)
}

/// The error that the interface has for a fault. It has no words for most of them, so what forbids a request
/// is said to the operator.
fn error(sender: &RequestSender, fault: Fault) -> Error {
    match fault.kind {
        FaultKind::Denied => {
            let hint = fault.hint.unwrap_or_default();
            tracing::warn!(target: "gate", gate = sender.rules.gate(), "{} {hint}", fault.message);
            Error::HttpRequestDenied
        }
        FaultKind::TimedOut => Error::HttpResponseTimeout,
        _ => Error::InternalError(Some(fault.message)),
    }
}
