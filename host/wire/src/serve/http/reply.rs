//! Responses of the HTTP layer, and the body type of all responses.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use gatehouse_telemetry::metrics;
use http::{
    HeaderValue, Response, StatusCode,
    header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER},
};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Body, Frame, SizeHint};
use serde::Serialize;
use serde_json::Value;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::active_request::ActiveRequest;
use crate::serve::envelope;

pub(super) type BoxResponse = Response<BoxBody<Bytes, Infallible>>;

pub(super) fn json(status: StatusCode, value: &impl Serialize) -> BoxResponse {
    let Ok(text) = serde_json::to_vec(value) else {
        return plain(StatusCode::INTERNAL_SERVER_ERROR, "the reply cannot be written as JSON");
    };
    let mut response = plain(status, text);
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> BoxResponse {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response
}

/// Returns a refusal of the method that names the allowed ones.
pub(super) fn method_not_allowed(allowed: &'static str) -> BoxResponse {
    let mut response = plain(StatusCode::METHOD_NOT_ALLOWED, "");
    response.headers_mut().insert(ALLOW, HeaderValue::from_static(allowed));
    response
}

/// Returns a JSON-RPC error that belongs to no request.
pub(super) fn refuse(status: StatusCode, reason: &str) -> BoxResponse {
    refuse_request(status, Value::Null, reason)
}

/// Returns a refusal for now, which closes the connection.
pub(super) fn busy(reason: &str) -> BoxResponse {
    let mut response = refuse(StatusCode::SERVICE_UNAVAILABLE, reason);
    response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_static("1"));
    response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
    response
}

/// Returns a JSON-RPC error for the request with this ID.
pub(super) fn refuse_request(status: StatusCode, id: Value, reason: &str) -> BoxResponse {
    json(status, &envelope::invalid(Some(id), reason))
}

/// Counts a response that is an error of HTTP.
pub(super) fn record_error(status: StatusCode) {
    if let Some(metrics) = metrics() {
        metrics.http_errors.series([status.as_str()]).inc();
    }
}

/// A response body. Dropping it ends the request.
pub(super) struct ResponseBody {
    body: BoxBody<Bytes, Infallible>,
    work: ActiveRequest,
    ends: Vec<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl ResponseBody {
    /// `ends` are set for a stream of changes, which ends as soon as one is cancelled.
    pub(super) fn new(
        body: BoxBody<Bytes, Infallible>,
        mut work: ActiveRequest,
        ends: Vec<CancellationToken>,
    ) -> Self {
        if !ends.is_empty() {
            work.enter_listening();
        }
        Self { body, work, ends: ends.into_iter().map(|end| Box::pin(end.cancelled_owned())).collect() }
    }
}

impl Body for ResponseBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(cx);
        if let Poll::Ready(Some(Ok(frame))) = &polled
            && let Some(data) = frame.data_ref()
        {
            self.work.connection.add_unsent(data.len());
        }
        let mut is_over =
            |end: &mut Pin<Box<WaitForCancellationFutureOwned>>| end.as_mut().poll(cx).is_ready();
        if polled.is_pending() && self.ends.iter_mut().any(&mut is_over) {
            return Poll::Ready(None);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
