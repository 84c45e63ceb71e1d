//! Requests to a server with the login to it: the token goes along, and does not come back. A request that the server refuses
//! for its token, before it does anything, is sent once more with a renewed one.

use std::{borrow::Cow, error::Error, io, sync::Arc};

use futures_util::StreamExt as _;
use gatehouse_core::{
    Fault,
    http::{Redactor, Secret},
};
use gatehouse_net::{Client, Error as HttpError, StatusCode, root_cause};
use rmcp::{
    model::ClientJsonRpcMessage,
    service::{ClientInitializeError, ServiceError},
    transport::streamable_http_client::{
        HttpStatusError, SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};
use sse_stream::Sse;

use super::{Challenge, Logins, parsed};
use crate::downstream::{
    inbound::{Inbound, MAX_MESSAGE},
    post::{EventStream, Headers, messages, post},
};

/// A client for requests to one server, by the login to it where there is one.
#[derive(Clone)]
pub(crate) struct LoggedIn {
    client: Client,
    /// None where the server's own headers say who asks.
    logins: Option<Arc<Logins>>,
    server: Arc<str>,
    inbound: Inbound,
}

/// The fault of a login that an error comes from.
pub(crate) fn fault_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Fault> {
    std::iter::successors(Some(error), |&error| cause(error)).find_map(|error| {
        let inner = || error.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref();
        error.downcast_ref().or_else(inner)
    })
}

/// Returns the innermost cause of an error in a sentence without a stop.
pub(crate) fn cause_in_words(error: &(dyn Error + 'static)) -> String {
    let innermost = std::iter::successors(Some(error), |&error| cause(error)).last().unwrap_or(error);
    let Some(answered) = innermost.downcast_ref::<HttpStatusError>() else { return root_cause(innermost) };
    let status =
        StatusCode::from_u16(answered.status).map_or(answered.status.to_string(), |code| code.to_string());
    match &answered.retry_after {
        Some(when) => format!("it answered {status}, and asks to wait (Retry-After: {when})"),
        None => format!("it answered {status}"),
    }
}

/// What stands behind an error, also where the library does not call it the source.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(ServiceError::TransportSend(error)) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(StreamableHttpError::<HttpError>::HttpStatus(error)) = error.downcast_ref() {
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

impl LoggedIn {
    pub(crate) fn new(
        client: Client,
        logins: Option<Arc<Logins>>,
        server: Arc<str>,
        inbound: Inbound,
    ) -> Self {
        Self { client, logins, server, inbound }
    }

    /// Sends a request, and once more where its token was refused. What comes back is told with the token that it had.
    async fn send<T, F>(
        &self,
        uri: &str,
        request: impl Fn(Option<String>) -> F,
    ) -> Result<(T, Option<Redactor>), StreamableHttpError<HttpError>>
    where
        F: Future<Output = Result<T, StreamableHttpError<HttpError>>>,
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
        came: Result<T, StreamableHttpError<HttpError>>,
        token: Option<&Secret>,
    ) -> Result<(T, Option<Redactor>), StreamableHttpError<HttpError>> {
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

/// Events without the token.
fn without_token(events: EventStream, redactor: Option<Redactor>) -> EventStream {
    let Some(redactor) = redactor else { return events };
    let clean = move |event: Result<Sse, SseError>| {
        event.map(|event| Sse { data: event.data.map(|data| redactor.text(data)), ..event })
    };
    events.map(clean).boxed()
}

impl StreamableHttpClient for LoggedIn {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<StreamableHttpPostResponse, StreamableHttpError<HttpError>> {
        let request = |token: Option<String>| {
            let inbound = match &token {
                Some(token) => self.inbound.without(&Secret::new(token.as_str())),
                None => self.inbound.clone(),
            };
            let (message, headers, uri) = (&message, headers.clone(), &uri);
            let session = session.as_deref();
            async move { post(&self.client, &inbound, uri, message, session, token, headers).await }
        };
        self.send(&uri, request).await.map(|(response, _)| response)
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: Headers,
    ) -> Result<(), StreamableHttpError<HttpError>> {
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
    ) -> Result<EventStream, StreamableHttpError<HttpError>> {
        let request = |token| {
            let (uri, session, last) = (Arc::clone(&uri), session.clone(), last.clone());
            let headers = headers.clone();
            self.client.get_stream_with_max_sse_event_size(uri, session, last, token, headers, MAX_MESSAGE)
        };
        let (events, redactor) = self.send(&uri, request).await?;
        Ok(messages(without_token(events, redactor), self.inbound.clone()))
    }
}
