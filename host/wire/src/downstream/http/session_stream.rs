//! The stream of a session, on which a server sends what belongs to no request. Servers may have none.

use std::{ops::RangeInclusive, sync::Arc, time::Duration};

use gatehouse_net::{Backoff, Method, StatusCode};
use tokio::time::{Instant, sleep};

use super::{EVENT_STREAM, events::EventReader};
use crate::{
    downstream::{
        connection::CallFailure,
        peer::{Channel, Peer},
    },
    media_type,
};

/// Pauses before the stream is opened again.
const OPEN_AGAIN: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(300) };

/// Pauses that a server can ask for.
pub(super) const RETRY_RANGE: RangeInclusive<Duration> = Duration::from_secs(1)..=Duration::from_secs(300);

/// Lifetime after which the end of the stream is not a failure: some proxies close streams after a minute.
const STABLE_STREAM: Duration = Duration::from_secs(30);

/// Reads the stream, and opens it again when it ends, until the server refuses it.
pub(super) async fn follow(peer: &Arc<Peer>) {
    let Channel::Http(http) = peer.channel() else { return };
    let (mut last_event, mut failures) = (None, 0);
    loop {
        let mut pause = None;
        let headers = http.stream_headers(peer, last_event.as_deref());
        let response = http.requester.send(Method::GET, &headers, None).await;
        http.has_stream.send_replace(true);
        let opened = Instant::now();
        match response {
            Ok(response)
                if response.status() == StatusCode::OK && media_type(response.headers()) == EVENT_STREAM =>
            {
                let mut events = EventReader::new(response);
                while let Ok(Some(event)) = events.next(peer).await {
                    last_event = event.id.or(last_event);
                    pause = event.retry.or(pause);
                    let Some(data) = event.data else { continue };
                    for message in peer.read(data).await {
                        peer.receive(message, None);
                    }
                }
            }
            // The session has ended, or has no such stream.
            Ok(response)
                if response.status().is_client_error()
                    && response.status() != StatusCode::TOO_MANY_REQUESTS =>
            {
                return;
            }
            Err(CallFailure::Login(_)) => return,
            // Nothing at all, a page, or a failure that may pass.
            _ => {}
        }
        failures = if opened.elapsed() >= STABLE_STREAM { 1 } else { failures + 1 };
        sleep(pause.unwrap_or_else(|| OPEN_AGAIN.pause(failures))).await;
    }
}
