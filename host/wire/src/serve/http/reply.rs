//! Responses of the HTTP layer, and the body type of all responses.

use std::{
    convert::Infallible,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::body::{Body, Frame, SizeHint};
use serde_json::Value;
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

use super::connection::ActiveRequest;
use crate::serve::envelope;

pub(super) type BoxResponse = Response<BoxBody<Bytes, Infallible>>;

pub(super) fn json(status: StatusCode, value: &Value) -> BoxResponse {
    let mut response = plain(status, value.to_string());
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

pub(super) fn plain(status: StatusCode, text: impl Into<Bytes>) -> BoxResponse {
    let mut response = Response::new(Full::new(text.into()).boxed());
    *response.status_mut() = status;
    response
}

/// Returns a JSON-RPC error that belongs to no request.
pub(super) fn refuse(status: StatusCode, why: &str) -> BoxResponse {
    refuse_request(status, Value::Null, why)
}

/// Returns a JSON-RPC error for the request with this ID.
pub(super) fn refuse_request(status: StatusCode, id: Value, why: &str) -> BoxResponse {
    json(status, &envelope::invalid(Some(id), why))
}

/// A response body. Dropping it ends the request.
pub(super) struct ResponseBody {
    body: BoxBody<Bytes, Infallible>,
    work: ActiveRequest,
    end: Option<Pin<Box<WaitForCancellationFutureOwned>>>,
}

impl ResponseBody {
    /// `end` ends a stream of changes.
    pub(super) fn new(
        body: BoxBody<Bytes, Infallible>,
        mut work: ActiveRequest,
        end: Option<CancellationToken>,
    ) -> Self {
        if end.is_some() {
            work.enter_listening();
        }
        Self { body, work, end: end.map(|end| Box::pin(end.cancelled_owned())) }
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
        let ends = |end: &mut Pin<Box<WaitForCancellationFutureOwned>>| end.as_mut().poll(cx).is_ready();
        if polled.is_pending() && self.end.as_mut().is_some_and(ends) {
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
