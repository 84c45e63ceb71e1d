//! Sends messages to a server over HTTP, as of MCP 2025-03-26. Each message is a POST, answered by one message or by an
//! event stream. [`InboundReader`] parses the answers, because rmcp would parse them without limits.

use std::{collections::HashMap, io};

use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use gatehouse_core::names::quoted;
use gatehouse_net::{BodyError, Client, Error, Response, StatusCode, read_body, read_body_while};
use http::{
    HeaderMap, HeaderName, HeaderValue,
    header::{ACCEPT, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE},
};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest, ErrorData, JsonRpcError, JsonRpcMessage},
    transport::streamable_http_client::{
        AuthRequiredError, HttpStatusError, InsufficientScopeError, SseError, StreamableHttpError,
        StreamableHttpPostResponse,
    },
};
use sse_stream::Sse;

use super::{
    inbound::{InboundReader, MAX_MESSAGE},
    sse::{EventError, events},
};
use crate::media_type;

pub(crate) type RequestHeaders = HashMap<HeaderName, HeaderValue>;
pub(crate) type EventStream = stream::BoxStream<'static, Result<Sse, SseError>>;
type PostError = StreamableHttpError<Error>;

const SESSION: &str = "mcp-session-id";

const MAX_QUOTED_BYTES: usize = 300;

pub(crate) async fn post(
    client: &Client,
    inbound: &InboundReader,
    url: &str,
    message: &ClientJsonRpcMessage,
    session: Option<&str>,
    token: Option<String>,
    headers: RequestHeaders,
) -> Result<StreamableHttpPostResponse, PostError> {
    let body = serde_json::to_vec(message)?;
    let mut request = client
        .post(url)
        .header(ACCEPT, "text/event-stream, application/json")
        .header(CONTENT_TYPE, "application/json")
        .headers(HeaderMap::from_iter(headers))
        .body(body);
    if let Some(token) = token {
        request = request.bearer_auth(token);
    }
    if let Some(session) = session {
        request = request.header(SESSION, session);
    }
    let response = request.send().await.map_err(StreamableHttpError::Client)?;
    let status = response.status();
    if let Some(refused) = refused_login(&response) {
        return Err(refused);
    }
    if matches!(status, StatusCode::ACCEPTED | StatusCode::NO_CONTENT) {
        return Ok(StreamableHttpPostResponse::Accepted);
    }
    if !status.is_success() {
        return failed(response, inbound, message, session).await;
    }
    let is_request = matches!(message, JsonRpcMessage::Request(_));
    let session = text_of(&response, SESSION);
    match media_type(response.headers()).as_str() {
        "text/event-stream" => {
            let events = events(response.bytes_stream(), MAX_MESSAGE).map_err(|error| match error {
                EventError::Broken(error) => io::Error::other(error),
                EventError::TooLong => {
                    io::Error::other(format!("it sent an event of more than {MAX_MESSAGE} bytes"))
                }
            });
            let events = events.map_err(|error| SseError::Body(Box::new(error)));
            let events = messages(events.boxed(), inbound.clone());
            Ok(StreamableHttpPostResponse::Sse(events, session))
        }
        "application/json" => {
            let answer = match read_body(response, MAX_MESSAGE).await {
                Ok(body) => inbound.read(body).await.ok_or("it is not an MCP message".to_owned()),
                Err(BodyError::TooLarge) => Err(format!("it has more than {MAX_MESSAGE} bytes")),
                Err(BodyError::Broken(error, _)) => return Err(StreamableHttpError::Client(error)),
                Err(BodyError::Stopped) => Err("reading it was cut short".to_owned()),
            };
            Ok(match (answer, message) {
                (Ok(answer), _) => StreamableHttpPostResponse::Json(answer, session),
                (Err(why), JsonRpcMessage::Request(request)) => {
                    StreamableHttpPostResponse::Json(inbound.refuse(&request.id, &why), session)
                }
                (Err(_), _) => StreamableHttpPostResponse::Accepted,
            })
        }
        // Only requests need an answer.
        _ if !is_request => Ok(StreamableHttpPostResponse::Accepted),
        other => Err(StreamableHttpError::UnexpectedContentType(Some(quoted(other, 64)))),
    }
}

/// Checks the messages of a stream before rmcp reads them.
pub(crate) fn messages(events: EventStream, inbound: InboundReader) -> EventStream {
    let read = move |event: Result<Sse, SseError>| {
        let inbound = inbound.clone();
        async move {
            let mut event = event?;
            // Other events are not messages. An event without data only has an id to resume from.
            if event.event.as_deref().is_none_or(|name| name == "message")
                && let Some(data) = event.data.take().filter(|data| !data.is_empty())
            {
                let message = inbound.read_with_detached_result(data.into_bytes()).await;
                event.data = message.and_then(|message| serde_json::to_string(&message).ok());
            }
            Ok(event)
        }
    };
    events.then(read).boxed()
}

fn refused_login(response: &Response) -> Option<PostError> {
    let challenge = text_of(response, WWW_AUTHENTICATE.as_str())?;
    match response.status() {
        StatusCode::UNAUTHORIZED => {
            Some(StreamableHttpError::AuthRequired(AuthRequiredError::new(challenge)))
        }
        StatusCode::FORBIDDEN => {
            Some(StreamableHttpError::InsufficientScope(InsufficientScopeError::new(challenge, None)))
        }
        _ => None,
    }
}

/// Reads a response without a success status. Its body may be a JSON-RPC error.
async fn failed(
    response: Response,
    inbound: &InboundReader,
    message: &ClientJsonRpcMessage,
    session: Option<&str>,
) -> Result<StreamableHttpPostResponse, PostError> {
    let status = response.status();
    let is_refusal = matches!(status, StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN);
    let is_json = media_type(response.headers()) == "application/json";
    let is_busy = status == StatusCode::TOO_MANY_REQUESTS || status.is_server_error();
    let busy = HttpStatusError::new(status.as_u16(), text_of(&response, RETRY_AFTER.as_str()));
    if status == StatusCode::TOO_MANY_REQUESTS || (is_busy && !is_json) {
        return Err(busy.into());
    }
    let new_session = text_of(&response, SESSION);
    let may_be_message = is_json && !is_refusal;
    let mut beginning = Vec::new();
    let goes_on = |piece: &[u8]| {
        beginning.extend_from_slice(&piece[..piece.len().min(MAX_QUOTED_BYTES - beginning.len())]);
        may_be_message || beginning.len() < MAX_QUOTED_BYTES
    };
    let body = read_body_while(response, MAX_MESSAGE, goes_on).await;
    let text = quoted(&String::from_utf8_lossy(&beginning), MAX_QUOTED_BYTES);
    let error = match body {
        Ok(body) if may_be_message => match inbound.read(body).await {
            Some(JsonRpcMessage::Error(error)) => Some(error),
            _ => None,
        },
        _ => None,
    };
    if session.is_some() {
        let names_session = names_lost_session(error.as_ref().map_or(&text, |error| &error.error.message));
        let is_ended = match status {
            // An application may use 404 for its own errors.
            StatusCode::NOT_FOUND => names_session || !error.as_ref().is_some_and(|it| answers(it, message)),
            StatusCode::BAD_REQUEST => names_session,
            _ => false,
        };
        if is_ended {
            return Err(StreamableHttpError::SessionExpired);
        }
    }
    // Older servers reject discovery with various statuses and with ids of their own.
    if let JsonRpcMessage::Request(request) = message
        && matches!(request.request, ClientRequest::DiscoverRequest(_))
        && session.is_none()
        && status.is_client_error()
        && !is_refusal
    {
        let refused = || ErrorData::invalid_request(format!("HTTP {status}: {text}"), None);
        let error = error.map_or_else(refused, |error| error.error);
        let answer = JsonRpcMessage::error(error, Some(request.id.clone()));
        return Ok(StreamableHttpPostResponse::Json(answer, None));
    }
    match error {
        Some(error) => Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), new_session)),
        None if is_busy => Err(busy.into()),
        None => Err(StreamableHttpError::UnexpectedServerResponse(format!("HTTP {status}: {text}").into())),
    }
}

/// Returns `true` if an error has the id of this request.
fn answers(error: &JsonRpcError, message: &ClientJsonRpcMessage) -> bool {
    matches!(message, JsonRpcMessage::Request(request) if error.id.as_ref() == Some(&request.id))
}

/// Returns `true` for the words with which servers refuse a session that they do not know. The SDKs for TypeScript and
/// Python have these, some with status 400 instead of 404.
fn names_lost_session(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    ["session not found", "no valid session id", "server not initialized"]
        .iter()
        .any(|words| text.contains(words))
}

fn text_of(response: &Response, header: &str) -> Option<String> {
    response.headers().get(header)?.to_str().ok().map(str::to_owned)
}

#[cfg(test)]
mod tests;
