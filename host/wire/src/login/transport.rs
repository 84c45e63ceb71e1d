//! Requests to a server with the login to it: the token goes along, and does not come back. A request that the server refuses
//! for its token, before it does anything, is sent once more with a renewed one.

use std::{borrow::Cow, collections::HashMap, error::Error, io, sync::Arc};

use futures_util::{StreamExt as _, stream::BoxStream};
use gatehouse_core::{
    Fault,
    http::{Redactor, Secret},
};
use http::{HeaderName, HeaderValue};
use rmcp::{
    model::ClientJsonRpcMessage,
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::{
        SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::Sse;

use super::{Challenge, Logins, parsed};
use crate::downstream::server_text::repaired;

type Headers = HashMap<HeaderName, HeaderValue>;
type Events = BoxStream<'static, Result<Sse, SseError>>;

/// A client for requests to one server, by the login to it where there is one.
#[derive(Clone)]
pub(crate) struct LoggedIn<C> {
    client: C,
    /// None where the server's own headers say who asks.
    logins: Option<Arc<Logins>>,
    server: Arc<str>,
}

/// The fault of a login that an error comes from.
pub(crate) fn fault_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Fault> {
    std::iter::successors(Some(error), |&error| cause(error)).find_map(|error| {
        let inner = || error.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref();
        error.downcast_ref().or_else(inner)
    })
}

/// What stands behind an error, also where the library does not call it the source.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(ServiceError::TransportSend(error)) = error.downcast_ref() {
        return Some(error);
    }
    error.source()
}

/// A fault as an error of the transport, of which [`fault_of`] makes a fault again.
fn as_error<E: Error + Send + Sync + 'static>(fault: Fault) -> StreamableHttpError<E> {
    io::Error::other(fault).into()
}

/// Whether a server refused a request for its token; it did nothing then.
fn is_refusal<E: Error + Send + Sync + 'static>(error: &StreamableHttpError<E>) -> bool {
    match error {
        StreamableHttpError::AuthRequired(_) => true,
        StreamableHttpError::HttpStatus(error) => error.status == 401,
        // A 401 that names no scheme.
        StreamableHttpError::UnexpectedServerResponse(text) => text.starts_with("HTTP 401"),
        _ => false,
    }
}

impl<C: StreamableHttpClient + Sync> LoggedIn<C> {
    pub(crate) fn new(client: C, logins: Option<Arc<Logins>>, server: Arc<str>) -> Self {
        Self { client, logins, server }
    }

    /// Sends a request, and once more where its token was refused. What comes back is told with the token that it had.
    async fn send<T, F>(
        &self,
        uri: &str,
        request: impl Fn(Option<String>) -> F,
    ) -> Result<(T, Option<Redactor>), StreamableHttpError<C::Error>>
    where
        F: Future<Output = Result<T, StreamableHttpError<C::Error>>>,
    {
        let Some(logins) = &self.logins else { return request(None).await.map(|came| (came, None)) };
        let target = parsed(uri).map_err(as_error)?;
        let token = logins.bearer(&self.server, uri, &target).await.map_err(as_error)?;
        let reveal = |token: &Secret| token.reveal().to_owned();
        match request(token.as_ref().map(reveal)).await {
            Err(error) if is_refusal(&error) => {}
            other => return self.clean(other, token.as_ref()),
        }
        let renewed = logins.refused(&self.server, uri, token.as_ref()).await.map_err(as_error)?;
        match request(Some(reveal(&renewed))).await {
            Err(error) if is_refusal(&error) => Err(as_error(Logins::refused_again(&self.server))),
            other => self.clean(other, Some(&renewed)),
        }
    }

    /// Takes the token out of an error; for anything else it gives what takes it out.
    fn clean<T>(
        &self,
        came: Result<T, StreamableHttpError<C::Error>>,
        token: Option<&Secret>,
    ) -> Result<(T, Option<Redactor>), StreamableHttpError<C::Error>> {
        let redactor = token.map(|token| Redactor::new([token]));
        match (came, redactor) {
            (Ok(came), redactor) => Ok((came, redactor)),
            (Err(StreamableHttpError::InsufficientScope(error)), _) => {
                let challenge = Challenge::of([error.www_authenticate_header.as_str()]);
                let fault = Logins::lacks_scope(&self.server, &challenge);
                Err(fault.map_or(StreamableHttpError::InsufficientScope(error), as_error))
            }
            (Err(StreamableHttpError::UnexpectedServerResponse(text)), Some(redactor)) => {
                let text = Cow::Owned(redactor.text(text.into_owned()));
                Err(StreamableHttpError::UnexpectedServerResponse(text))
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// Events without the token, as the library can read them.
fn clean_events(events: Events, redactor: Option<Redactor>) -> Events {
    let clean_data = move |data: String| {
        let data = match &redactor {
            Some(redactor) => redactor.text(data),
            None => data,
        };
        repaired(data.as_bytes()).and_then(|changed| String::from_utf8(changed).ok()).unwrap_or(data)
    };
    let clean = move |event: Result<Sse, SseError>| {
        event.map(|event| Sse { data: event.data.map(&clean_data), ..event })
    };
    events.map(clean).boxed()
}

fn clean_response<E: Error + Send + Sync + 'static>(
    response: StreamableHttpPostResponse,
    redactor: Option<Redactor>,
) -> Result<StreamableHttpPostResponse, StreamableHttpError<E>> {
    Ok(match (response, redactor) {
        (StreamableHttpPostResponse::Json(message, session), Some(redactor)) => {
            let text = serde_json::to_string(&message)?;
            let clean = redactor.text(text.clone());
            let message = if clean == text { message } else { serde_json::from_str(&clean)? };
            StreamableHttpPostResponse::Json(message, session)
        }
        (StreamableHttpPostResponse::Sse(events, session), redactor) => {
            StreamableHttpPostResponse::Sse(clean_events(events, redactor), session)
        }
        (other, _) => other,
    })
}

impl<C: StreamableHttpClient + Sync> StreamableHttpClient for LoggedIn<C> {
    type Error = C::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<C::Error>> {
        let request = |token| {
            let (message, session, headers) = (message.clone(), session.clone(), headers.clone());
            self.client.post_message(Arc::clone(&uri), message, session, token, headers)
        };
        let (response, redactor) = self.send(&uri, request).await?;
        clean_response(response, redactor)
    }

    async fn post_message_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<C::Error>> {
        let request = |token| {
            let (uri, message, session) = (Arc::clone(&uri), message.clone(), session.clone());
            let headers = headers.clone();
            self.client.post_message_with_max_sse_event_size(uri, message, session, token, headers, limit)
        };
        let (response, redactor) = self.send(&uri, request).await?;
        clean_response(response, redactor)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<C::Error>> {
        let request = |token| {
            self.client.delete_session(Arc::clone(&uri), Arc::clone(&session), token, headers.clone())
        };
        self.send(&uri, request).await.map(|((), _)| ())
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<Events, StreamableHttpError<C::Error>> {
        let request = |token| {
            let (session, last, headers) = (session.clone(), last.clone(), headers.clone());
            self.client.get_stream(Arc::clone(&uri), session, last, token, headers)
        };
        self.send(&uri, request).await.map(|(events, redactor)| clean_events(events, redactor))
    }

    async fn get_stream_with_max_sse_event_size(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        headers: Headers,
        limit: usize,
    ) -> Result<Events, StreamableHttpError<C::Error>> {
        let request = |token| {
            let (uri, session, last) = (Arc::clone(&uri), session.clone(), last.clone());
            self.client.get_stream_with_max_sse_event_size(uri, session, last, token, headers.clone(), limit)
        };
        self.send(&uri, request).await.map(|(events, redactor)| clean_events(events, redactor))
    }
}
