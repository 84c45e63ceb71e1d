//! Responses that take longer than a moment. They begin immediately as an event stream, so that no proxy or client takes a
//! long call for a dead connection.
//!
//! Requests of 2026-07-28 have no session that would send anything before the result. Errors that are known within
//! [`MAX_HOLD`] keep their HTTP status; after that the status is 200, and the JSON-RPC error is an event.

use std::{convert::Infallible, pin::Pin, time::Duration};

use bytes::Bytes;
use futures_util::stream;
use http::{
    HeaderValue, Method, Response,
    header::{CACHE_CONTROL, CONTENT_TYPE},
    request::Parts,
};
use http_body_util::{BodyExt, StreamBody};
use hyper::body::Frame;
use rmcp::model::ProtocolVersion;
use tokio::{
    sync::mpsc,
    time::{MissedTickBehavior, interval, timeout},
};
use tokio_util::task::AbortOnDropHandle;

use super::{
    direct_requests::{MAX_HOLD, VERSION, accepts, has_only},
    mcp::SESSION,
    reply::BoxResponse,
};
use crate::{media_type, serve::envelope};

/// Time between two comments of a stream, shorter than the idle limits of common proxies.
const KEEP_ALIVE: Duration = Duration::from_secs(15);

const COMMENT: Bytes = Bytes::from_static(b": \n\n");

type PendingResponse = Pin<Box<dyn Future<Output = BoxResponse> + Send>>;

/// Whether the response to a request may be an event stream that begins before the result.
pub(super) fn may_stream(parts: &Parts) -> bool {
    parts.method == Method::POST
        && has_only(&parts.headers, VERSION, ProtocolVersion::V_2026_07_28.as_str())
        && !parts.headers.contains_key(SESSION)
        && accepts(&parts.headers, "text/event-stream")
}

/// Waits for a response, and opens a stream for it if it takes longer than [`MAX_HOLD`]. Dropping the stream drops
/// `answer`.
pub(super) async fn hold(answer: impl Future<Output = BoxResponse> + Send + 'static) -> BoxResponse {
    let mut answer: PendingResponse = Box::pin(answer);
    if let Ok(response) = timeout(MAX_HOLD, &mut answer).await {
        return response;
    }
    // Few, so that a client that reads nothing holds the call back.
    let (events, received) = mpsc::channel(4);
    let task = AbortOnDropHandle::new(tokio::spawn(send_events(answer, events)));
    let frames = stream::unfold((received, task), |(mut received, task)| async move {
        let bytes = received.recv().await?;
        Some((Ok::<_, Infallible>(Frame::data(bytes)), (received, task)))
    });
    let mut response = Response::new(BodyExt::boxed(StreamBody::new(frames)));
    for (name, value) in [
        (CONTENT_TYPE, "text/event-stream"),
        (CACHE_CONTROL, "no-cache"),
        (http::HeaderName::from_static("x-accel-buffering"), "no"),
    ] {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

/// Sends comments until there is a response, and then its body as events.
async fn send_events(mut answer: PendingResponse, events: mpsc::Sender<Bytes>) {
    let mut ticks = interval(KEEP_ALIVE);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let response = loop {
        tokio::select! {
            biased;
            response = &mut answer => break response,
            _ = ticks.tick() => if events.send(COMMENT).await.is_err() {
                return;
            }
        }
    };
    let kind = media_type(response.headers());
    let mut body = response.into_body();
    if kind == "text/event-stream" {
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(data) = frame.into_data() else { continue };
            if events.send(data).await.is_err() {
                return;
            }
        }
        return;
    }
    let Ok(collected) = body.collect().await;
    let text = collected.to_bytes();
    let message = match kind == "application/json" {
        true => text,
        false => envelope::invalid(None, String::from_utf8_lossy(&text)).to_string().into(),
    };
    let _ = events.send([b"data: ", &message[..], b"\n\n"].concat().into()).await;
}

#[cfg(test)]
mod tests {
    use http::StatusCode;
    use serde_json::json;
    use tokio::{sync::oneshot, time::advance};

    use super::*;
    use crate::serve::http::reply;

    async fn text(
        body: &mut (impl http_body_util::BodyExt<Data = Bytes, Error = Infallible> + Unpin),
    ) -> Option<String> {
        let frame = body.frame().await?.expect("a frame");
        Some(String::from_utf8(frame.into_data().expect("data").to_vec()).expect("text"))
    }

    #[tokio::test(start_paused = true)]
    async fn a_quick_answer_keeps_its_status() {
        let refused = async { reply::json(StatusCode::BAD_REQUEST, &json!({"error": {}})) };
        let response = hold(refused).await;
        assert_eq!(response.status(), StatusCode::BAD_REQUEST);
        assert_eq!(response.headers()[CONTENT_TYPE], "application/json");
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_answer_is_a_stream_that_is_never_silent_for_long() {
        let (sender, answer) = oneshot::channel();
        let response = hold(async { answer.await.expect("an answer") }).await;
        assert_eq!(
            (response.status(), &response.headers()["x-accel-buffering"]),
            (StatusCode::OK, &"no".parse().expect("a value"))
        );
        let mut body = response.into_body();
        for _ in 0..3 {
            assert_eq!(text(&mut body).await.as_deref(), Some(": \n\n"));
        }
        assert!(
            sender.send(reply::json(StatusCode::NOT_FOUND, &json!({"id": 1, "error": {"code": 5}}))).is_ok()
        );
        assert_eq!(text(&mut body).await.as_deref(), Some("data: {\"id\":1,\"error\":{\"code\":5}}\n\n"));
        assert_eq!(text(&mut body).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_client_that_leaves_ends_the_call() {
        let (sender, answer) = oneshot::channel::<BoxResponse>();
        let response = hold(async { answer.await.expect("an answer") }).await;
        drop(response);
        advance(KEEP_ALIVE).await;
        tokio::task::yield_now().await;
        assert!(sender.is_closed());
    }
}
