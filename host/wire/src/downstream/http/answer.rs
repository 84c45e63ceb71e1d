//! The answer to a request: one message or an event stream, or a status that says why there is none.

use std::{sync::Arc, time::Duration};

use gatehouse_core::names::quoted;
use gatehouse_net::{BodyError, Method, Response, StatusCode, read_body, read_body_while};
use http::header::RETRY_AFTER;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::{EVENT_STREAM, HttpChannel, JSON, events::EventReader, session_stream::RETRY_RANGE};
use crate::{
    downstream::{
        connection::CallFailure,
        peer::{MAX_MESSAGE, Peer, ReceivedResult, ServerMessage, refusal},
    },
    media_type,
};

/// Maximum bytes of an answer that a failure quotes.
const MAX_QUOTED_BYTES: usize = 300;

/// Bytes of an error up to which it is parsed to see its form. A larger one is read as a message, within the limits of
/// messages.
const MAX_ERROR_BYTES: usize = 64 << 10;

/// Attempts in a row to resume a stream that ended before its answer.
const MAX_RESUMPTIONS: u32 = 5;

/// Pause before a stream is resumed, if the server does not say.
const RESUME_PAUSE: Duration = Duration::from_secs(1);

/// Maximum time to read the end of a stream after its answer, so that the connection can be used again.
const MAX_DRAIN_TIME: Duration = Duration::from_secs(5);

impl HttpChannel {
    /// Reads the answer to the request with this ID.
    pub(super) async fn answer(
        &self,
        peer: &Arc<Peer>,
        id: u64,
        response: Response,
        has_session: bool,
    ) -> Result<ReceivedResult, CallFailure> {
        let status = response.status();
        if !status.is_success() {
            return Err(refused(peer, id, response, has_session).await);
        }
        if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
            return Err(CallFailure::Transport(format!("it answered {status}, without a result")));
        }
        let answered = match media_type(response.headers()).as_str() {
            EVENT_STREAM => self.answer_on_stream(peer, id, response).await,
            JSON => answer_in_body(peer, id, response).await,
            other => {
                let kind = quoted(other, 64);
                Err(CallFailure::Transport(format!(
                    "it answered with the content type '{kind}' instead of JSON"
                )))
            }
        };
        // Some servers refuse a lost session with status 200. They may have run the request.
        if let Err(CallFailure::Refused { message, .. }) = &answered
            && has_session
            && speaks_of_session(message)
        {
            peer.record_lost_session();
        }
        answered
    }

    async fn answer_on_stream(
        &self,
        peer: &Arc<Peer>,
        id: u64,
        response: Response,
    ) -> Result<ReceivedResult, CallFailure> {
        let mut events = EventReader::new(response);
        let (mut last_event, mut pause, mut resumptions) = (None, RESUME_PAUSE, 0);
        loop {
            let reason = match events.next(peer).await {
                Ok(Some(event)) => {
                    last_event = event.id.or(last_event);
                    pause = event.retry.unwrap_or(pause);
                    resumptions = 0;
                    let Some(data) = event.data else { continue };
                    if let Some(answer) = deliver(peer, id, peer.read(data).await) {
                        drain(peer, id, events);
                        return answer;
                    }
                    continue;
                }
                Ok(None) => "it ended its event stream without an answer".to_owned(),
                Err(reason) => reason,
            };
            // Since 2026-07-28, streams cannot be resumed.
            let Some(last) = last_event.as_deref().filter(|_| !peer.is_since_2026()) else {
                return Err(CallFailure::Transport(reason));
            };
            events = loop {
                resumptions += 1;
                if resumptions > MAX_RESUMPTIONS {
                    return Err(CallFailure::Transport(reason));
                }
                sleep(pause).await;
                let headers = self.stream_headers(peer, Some(last));
                let resumed = self.requester.send(Method::GET, &headers, None).await;
                pause = (pause * 2).min(*RETRY_RANGE.end());
                match resumed {
                    Ok(response) if media_type(response.headers()) == EVENT_STREAM => {
                        break EventReader::new(response);
                    }
                    Ok(response) if response.status().is_client_error() => {
                        return Err(CallFailure::Transport(reason));
                    }
                    Ok(_) | Err(CallFailure::NotSent(_) | CallFailure::Transport(_)) => {}
                    Err(failure) => return Err(failure),
                }
            };
        }
    }
}

/// Reads a stream to its end in the background.
fn drain(peer: &Arc<Peer>, id: u64, mut events: EventReader) {
    let this = Arc::clone(peer);
    let drain = async move {
        while let Ok(Some(event)) = events.next(&this).await {
            for message in this.read(event.data.unwrap_or_default()).await {
                this.receive(message, Some(id));
            }
        }
    };
    peer.run_until_closed(async move {
        let _ = timeout(MAX_DRAIN_TIME, drain).await;
    });
}

/// Reads an answer of one message.
async fn answer_in_body(
    peer: &Arc<Peer>,
    id: u64,
    response: Response,
) -> Result<ReceivedResult, CallFailure> {
    let body = read_body(response, MAX_MESSAGE).await.map_err(|error| match error {
        BodyError::TooLarge => CallFailure::Unreadable(format!("it has more than {MAX_MESSAGE} bytes")),
        BodyError::Broken(error, _) => CallFailure::Transport(gatehouse_net::http_cause(error)),
        BodyError::Stopped => CallFailure::Transport("reading it was cut short".into()),
    })?;
    let messages = peer.read(body).await;
    let invalid = messages.iter().find_map(|message| match message {
        ServerMessage::Invalid(reason) => Some(reason.clone()),
        _ => None,
    });
    deliver(peer, id, messages).unwrap_or_else(|| {
        Err(CallFailure::Unreadable(invalid.unwrap_or_else(|| "it has no answer to the request".into())))
    })
}

/// Handles messages that arrived as the response to a request. Returns the answer, if they have it.
///
/// An error of any ID is for this request. A result with another ID is for nobody.
fn deliver(
    peer: &Arc<Peer>,
    id: u64,
    messages: Vec<ServerMessage>,
) -> Option<Result<ReceivedResult, CallFailure>> {
    let mut answered = None;
    for message in messages {
        match message {
            ServerMessage::Answer { id: other, answer } if answered.is_none() => {
                answered = Some(match answer {
                    Ok(_) if other != Some(id) => {
                        Err(CallFailure::Unreadable("it has the ID of another request".into()))
                    }
                    answer => answer,
                });
            }
            message => peer.receive(message, Some(id)),
        }
    }
    answered
}

/// Reads a response without a success status. Its body may be a JSON-RPC error.
async fn refused(peer: &Arc<Peer>, id: u64, response: Response, has_session: bool) -> CallFailure {
    let status = response.status();
    let retry_after = response.headers().get(RETRY_AFTER).and_then(|value| value.to_str().ok());
    let retry_after = retry_after.map(|when| quoted(when, 128));
    let is_json = media_type(response.headers()) == JSON;
    let mut beginning = Vec::new();
    let goes_on = |piece: &[u8]| {
        beginning.extend_from_slice(&piece[..piece.len().min(MAX_QUOTED_BYTES - beginning.len())]);
        is_json || beginning.len() < MAX_QUOTED_BYTES
    };
    let body = read_body_while(response, MAX_MESSAGE, goes_on).await.unwrap_or_default();
    // Web frameworks answer `{"error": "text"}`.
    let small = (body.len() <= MAX_ERROR_BYTES).then(|| serde_json::from_slice::<Value>(&body));
    let is_message = is_json
        && small.as_ref().is_none_or(|body| body.as_ref().is_ok_and(|body| body["error"].is_object()));
    let mut error = None;
    for message in if is_message { peer.read(body).await } else { Vec::new() } {
        match message {
            ServerMessage::Answer { id, answer: Err(failure @ CallFailure::Refused { .. }) } => {
                error = Some((id, failure));
            }
            _ => peer.count_unrequested(1, 0),
        }
    }
    let words = match &error {
        Some((_, CallFailure::Refused { message, .. })) => message.clone(),
        _ => peer
            .secrets
            .redact_text(quoted(&words_of(small.and_then(Result::ok), &beginning), MAX_QUOTED_BYTES)),
    };
    if has_session {
        let names_session = speaks_of_session(&words);
        let is_own = error.as_ref().is_some_and(|(of, _)| *of == Some(id));
        match status {
            // These say that nothing was run. An application may use 404 for its own errors.
            StatusCode::NOT_FOUND if names_session || !is_own => {
                return CallFailure::SessionEnded { has_begun: false };
            }
            StatusCode::BAD_REQUEST if names_session => {
                return CallFailure::SessionEnded { has_begun: false };
            }
            StatusCode::GONE => peer.record_lost_session(),
            StatusCode::TOO_MANY_REQUESTS => {}
            _ if names_session => peer.record_lost_session(),
            _ => {}
        }
    }
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS || status == StatusCode::SERVICE_UNAVAILABLE;
    let asks_to_wait = retry_after.filter(|_| is_busy);
    let wait =
        asks_to_wait.map(|when| format!(", and asks to wait (Retry-After: {when})")).unwrap_or_default();
    match error {
        Some((_, CallFailure::Refused { code, message })) => {
            CallFailure::Refused { code, message: format!("{message}{wait}") }
        }
        _ => {
            let words = if words.is_empty() { words } else { format!(": {words}") };
            CallFailure::Status { status: status.as_u16(), message: format!("{status}{wait}{words}") }
        }
    }
}

/// Returns what an error page or a JSON error of a web framework says.
fn words_of(body: Option<Value>, beginning: &[u8]) -> String {
    let plain = || String::from_utf8_lossy(beginning).trim().to_owned();
    let Some(Value::Object(members)) = body else { return plain() };
    ["error", "message", "detail", "error_description"].iter().find_map(|key| members.get(*key)).map_or_else(
        plain,
        |words| match refusal(words.clone()) {
            CallFailure::Refused { message, .. } if words.is_string() || words.is_object() => message,
            _ => words.to_string(),
        },
    )
}

/// Returns `true` for the words with which servers refuse a session that they do not know.
pub(in crate::downstream) fn speaks_of_session(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["session", "not initialized"].iter().any(|words| text.contains(words))
}
