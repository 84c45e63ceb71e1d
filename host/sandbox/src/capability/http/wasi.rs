//! `wasi:http/outgoing-handler`, for JavaScript's `fetch()` and libraries for WASI. Collects the request, sends it with
//! [`RequestSender`] and returns a complete response.

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

/// Drives the connection after the response; always ready here.
type ConnectionFuture = Box<dyn Future<Output = Result<(), Error>> + Send>;

/// Maximum bytes per write to a body. The stream buffers as much for the guest until the request is sent.
pub(crate) const CHUNK: usize = 16 << 10;

/// Adapts [`RequestSender`] to `wasi:http`.
pub(crate) struct OutgoingHandler {
    sender: Arc<RequestSender>,
    /// Part of the budget that the next request uses.
    reservation: Option<ByteReservation>,
}

impl OutgoingHandler {
    pub(super) fn new(sender: Arc<RequestSender>) -> Self {
        Self { sender, reservation: None }
    }

    pub(crate) fn set_reservation(&mut self, held: Option<ByteReservation>) {
        self.reservation = held;
    }
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
    let begun = Instant::now();
    // The response arrives as a whole, so the timeout of its first byte limits all of it.
    let time = options.and_then(|options| options.first_byte_timeout);
    let (parts, body) = request.into_parts();
    sender.admit(&parts.uri.to_string())?;
    let headers = parts.headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec()));
    let headers = headers.collect();
    let mut held = sender.room.reserve();
    let collected = timeout_at(sender.deadline(begun, time), collect(body, &mut held)).await;
    let too_late = "the request body was not finished in time";
    let body = collected.unwrap_or_else(|_| Err(Fault::new(FaultKind::TimedOut, too_late)))?;
    let request = OutgoingRequest {
        method: parts.method.to_string(),
        url: parts.uri.to_string(),
        headers,
        body: Some(body),
        // Clients of `wasi:http` follow redirects themselves; each hop is a new request.
        redirects: RedirectMode::Return,
        begun: Some(begun),
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
            tracing::warn!(target: "gate", gate = sender.rules.gate(), "{}", fault.in_one_line());
            Error::HttpRequestDenied
        }
        FaultKind::TimedOut => Error::HttpResponseTimeout,
        _ => Error::InternalError(Some(fault.message)),
    }
}
