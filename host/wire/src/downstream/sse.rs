//! HTTP with server-sent events, the transport of MCP 2024-11-05: one stream of all server messages, whose first event
//! names the URL to POST messages to.
//!
//! That URL must have the same origin as the stream, because requests to it carry the configured headers. A stream that
//! ends is not resumed, because the lost messages are unknown.

use std::sync::Arc;

use gatehouse_core::names::quoted;
use gatehouse_net::{Method, StatusCode, Url, read_body_while};
use http::{
    HeaderMap, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE},
};
use serde::Serialize;

use super::{
    connection::{CallFailure, ConnectionEnd},
    http::{
        ServerRequester,
        events::{ENDPOINT, EventReader},
        speaks_of_session,
    },
    peer::{ConnectionSecrets, Peer},
};
use crate::media_type;

const MAX_QUOTED_CHARACTERS: usize = 300;

/// Maximum events before the one that names the endpoint.
const MAX_EVENTS_BEFORE: usize = 100;

pub(super) struct SseChannel {
    requester: ServerRequester,
    endpoint: Url,
}

impl SseChannel {
    /// Opens the stream and waits for the endpoint event.
    pub(super) async fn open(requester: ServerRequester) -> Result<(Self, EventReader), CallFailure> {
        let broken = |reason: String| CallFailure::Transport(reason);
        let headers = HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static("text/event-stream"))]);
        let response = requester.send(Method::GET, &headers, None).await?;
        if response.status() != StatusCode::OK {
            return Err(answered(response.status()));
        }
        let kind = media_type(response.headers());
        if kind != "text/event-stream" {
            let kind = quoted(&kind, 64);
            return Err(broken(format!("it answered with '{kind}' instead of an event stream")));
        }
        let mut events = EventReader::new(response);
        for _ in 0..MAX_EVENTS_BEFORE {
            let event = events.next_event(|_, _| {}).await.map_err(broken)?;
            let event = event.ok_or_else(|| broken("its event stream ended immediately".into()))?;
            if event.name.as_deref() == Some(ENDPOINT) {
                let named = String::from_utf8_lossy(event.data.as_deref().unwrap_or_default());
                let endpoint = endpoint(&requester.url(), &named).map_err(broken)?;
                return Ok((Self { requester, endpoint }, events));
            }
        }
        Err(broken(format!("its event stream began with {MAX_EVENTS_BEFORE} events that are not `endpoint`")))
    }

    pub(super) const fn secrets(&self) -> &ConnectionSecrets {
        self.requester.secrets()
    }

    /// Sends a message. The stream has the answer; this response only acknowledges the message.
    pub(super) async fn post(&self, message: &impl Serialize) -> Result<(), CallFailure> {
        let body = serde_json::to_vec(message)
            .map_err(|error| CallFailure::Unreadable(format!("cannot write the message: {error}")))?;
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, HeaderValue::from_static("application/json"))]);
        let sent = self.requester.send_to(&self.endpoint, Method::POST, &headers, Some(body.into())).await?;
        let status = sent.status();
        if status.is_success() {
            return Ok(());
        }
        let mut words = Vec::new();
        let _ = read_body_while(sent, MAX_QUOTED_CHARACTERS, |piece| {
            words.extend_from_slice(piece);
            true
        })
        .await;
        let words =
            self.secrets().redact_text(quoted(&String::from_utf8_lossy(&words), MAX_QUOTED_CHARACTERS));
        // These say that nothing was run.
        if status == StatusCode::NOT_FOUND || (status == StatusCode::BAD_REQUEST && speaks_of_session(&words))
        {
            return Err(CallFailure::SessionEnded { has_begun: false });
        }
        let words = if words.is_empty() { words } else { format!(": {words}") };
        Err(CallFailure::Status { status: status.as_u16(), message: format!("{status}{words}") })
    }
}

fn answered(status: StatusCode) -> CallFailure {
    CallFailure::Status { status: status.as_u16(), message: status.to_string() }
}

/// Reads messages until the stream ends, or the connection is to be closed.
pub(super) fn spawn_reader(peer: &Arc<Peer>, mut events: EventReader) {
    let peer = Arc::clone(peer);
    tokio::spawn(async move {
        let read = async {
            loop {
                match events.next(&peer).await {
                    Ok(Some(event)) => {
                        let Some(data) = event.data else { continue };
                        for message in peer.read(data).await {
                            peer.receive(message, None);
                        }
                    }
                    Ok(None) => return "the server closed its event stream".to_owned(),
                    Err(reason) => return reason,
                }
            }
        };
        let reason = tokio::select! {
            reason = read => reason,
            () = peer.closing().cancelled() => "the connection is closed".to_owned(),
        };
        peer.record_end(ConnectionEnd::new(quoted(&reason, MAX_QUOTED_CHARACTERS)));
    });
}

fn endpoint(stream: &Url, named: &str) -> Result<Url, String> {
    let quoted_endpoint = quoted(named, MAX_QUOTED_CHARACTERS);
    let url = stream
        .join(named)
        .map_err(|error| format!("it named the invalid endpoint '{quoted_endpoint}': {error}"))?;
    if url.origin() != stream.origin() {
        return Err(format!(
            "it named the endpoint '{quoted_endpoint}', which has another origin than its event stream"
        ));
    }
    Ok(url)
}

#[cfg(test)]
mod tests;
