//! HTTP requests to a server with its login. The token is redacted from responses. If the server refuses the token, the
//! request is sent once more with a renewed one, because the server has not run it.

use std::{borrow::Cow, error::Error, io, sync::Arc, time::Duration};

use gatehouse_core::{
    Fault,
    http::{Redactor, Secret},
};
use gatehouse_net::{Client, Error as HttpError, StatusCode, root_cause};
use rmcp::{
    model::{ClientJsonRpcMessage, ClientRequest},
    service::ClientInitializeError,
    transport::streamable_http_client::{
        HttpStatusError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
    },
};

use tokio::{sync::watch, time::timeout};

use super::{BearerChallenge, LoginId, Logins, parsed};
use crate::downstream::{
    inbound::{InboundReader, MAX_MESSAGE},
    post::{EventStream, RequestHeaders, messages, post},
};

type TransportError = StreamableHttpError<HttpError>;

/// HTTP client for one server, with its login if there is one.
#[derive(Clone)]
pub(crate) struct AuthenticatedClient {
    client: Client,
    /// `None` if the configured headers authenticate.
    logins: Option<Arc<Logins>>,
    login: LoginId,
    inbound: InboundReader,
    /// True once the stream for messages outside of requests is open, or refused.
    has_stream: Arc<watch::Sender<bool>>,
}

/// Maximum wait for that stream. Some servers answer its request only with the first message.
const MAX_STREAM_WAIT: Duration = Duration::from_secs(2);

/// Returns the login fault that caused an error.
pub(crate) fn fault_of<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a Fault> {
    std::iter::successors(Some(error), |&error| cause(error)).find_map(|error| {
        let inner = || error.downcast_ref::<io::Error>()?.get_ref()?.downcast_ref();
        error.downcast_ref().or_else(inner)
    })
}

/// Returns `true` if the server does not know the session anymore.
pub(crate) fn is_session_ended(error: &(dyn Error + 'static)) -> bool {
    std::iter::successors(Some(error), |&error| cause(error))
        .any(|error| matches!(error.downcast_ref(), Some(TransportError::SessionExpired)))
}

/// Describes the innermost cause of an error, as a clause without a full stop.
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

/// Returns the cause of an error, including those that rmcp does not expose as the source.
fn cause<'a>(error: &'a (dyn Error + 'static)) -> Option<&'a (dyn Error + 'static)> {
    if let Some(ClientInitializeError::TransportError { error, .. }) = error.downcast_ref() {
        return Some(error);
    }
    if let Some(TransportError::HttpStatus(error)) = error.downcast_ref() {
        return Some(error);
    }
    error.source()
}

/// Wraps a fault as a transport error, see [`fault_of`].
fn as_error(fault: Fault) -> TransportError {
    io::Error::other(fault).into()
}

/// True if the server refused the token, and so did not run the request.
fn is_refusal(error: &TransportError) -> bool {
    match error {
        StreamableHttpError::AuthRequired(_) => true,
        StreamableHttpError::HttpStatus(error) => error.status == 401,
        // A 401 without a challenge.
        StreamableHttpError::UnexpectedServerResponse(text) => text.starts_with("HTTP 401"),
        _ => false,
    }
}

impl AuthenticatedClient {
    pub(crate) fn new(
        client: Client,
        logins: Option<Arc<Logins>>,
        login: LoginId,
        inbound: InboundReader,
    ) -> Self {
        Self { client, logins, login, inbound, has_stream: Arc::default() }
    }

    /// Waits for the stream of a session before a request during which the server may ask something. Some servers ask on
    /// that stream, and drop the question if it is not open.
    async fn wait_for_stream(&self, message: &ClientJsonRpcMessage, session: Option<&Arc<str>>) {
        let ClientJsonRpcMessage::Request(request) = message else { return };
        let may_ask = matches!(
            request.request,
            ClientRequest::CallToolRequest(_)
                | ClientRequest::GetPromptRequest(_)
                | ClientRequest::ReadResourceRequest(_)
        );
        if may_ask && session.is_some() && !*self.has_stream.borrow() {
            let mut has_stream = self.has_stream.subscribe();
            let _ = timeout(MAX_STREAM_WAIT, has_stream.wait_for(|has_stream| *has_stream)).await;
            self.has_stream.send_replace(true);
        }
    }

    /// Sends a request, and repeats it if the token was refused.
    async fn send<T, F>(&self, uri: &str, request: impl Fn(Option<String>) -> F) -> Result<T, TransportError>
    where
        F: Future<Output = Result<T, TransportError>>,
    {
        let Some(logins) = &self.logins else { return request(None).await };
        let target = parsed(uri).map_err(as_error)?;
        let token = logins.bearer(&self.login, uri, &target).await.map_err(as_error)?;
        let reveal = |token: &Secret| token.reveal().to_owned();
        match request(token.as_ref().map(reveal)).await {
            Err(error) if is_refusal(&error) => {}
            Err(error) => return Err(self.explained(error, token.as_ref()).await),
            answered => return answered,
        }
        let renewed = logins.renew_refused_token(&self.login, uri, token.as_ref()).await.map_err(as_error)?;
        match request(Some(reveal(&renewed))).await {
            Err(error) if is_refusal(&error) => {
                Err(as_error(logins.refused_again(&self.login, &renewed).await))
            }
            Err(error) => Err(self.explained(error, Some(&renewed)).await),
            answered => answered,
        }
    }

    /// Adds the command for a login with more scopes to an error, and removes the token.
    async fn explained(&self, error: TransportError, token: Option<&Secret>) -> TransportError {
        match (error, token) {
            (StreamableHttpError::InsufficientScope(error), _) => {
                let challenge = BearerChallenge::from_headers([error.www_authenticate_header.as_str()]);
                let fault = match &self.logins {
                    Some(logins) => logins.lacks_scope(&self.login, &challenge).await,
                    None => None,
                };
                fault.map_or(StreamableHttpError::InsufficientScope(error), as_error)
            }
            (StreamableHttpError::UnexpectedServerResponse(text), Some(token)) => {
                let text = Redactor::new([token]).redact_text(text.into_owned());
                StreamableHttpError::UnexpectedServerResponse(Cow::Owned(text))
            }
            (error, _) => error,
        }
    }

    /// Returns a reader that redacts this token.
    fn inbound(&self, token: Option<&String>) -> InboundReader {
        match token {
            Some(token) => self.inbound.with_redacted(&Secret::new(token.as_str())),
            None => self.inbound.clone(),
        }
    }
}

impl StreamableHttpClient for AuthenticatedClient {
    type Error = HttpError;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _: Option<String>,
        headers: RequestHeaders,
    ) -> Result<StreamableHttpPostResponse, TransportError> {
        self.wait_for_stream(&message, session.as_ref()).await;
        let request = |token: Option<String>| {
            let inbound = self.inbound(token.as_ref());
            let (message, headers, uri) = (&message, headers.clone(), &uri);
            let session = session.as_deref();
            async move { post(&self.client, &inbound, uri, message, session, token, headers).await }
        };
        self.send(&uri, request).await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _: Option<String>,
        headers: RequestHeaders,
    ) -> Result<(), TransportError> {
        let request = |token| {
            self.client.delete_session(Arc::clone(&uri), Arc::clone(&session), token, headers.clone())
        };
        match self.send(&uri, request).await {
            // The server has ended it before.
            Err(StreamableHttpError::Client(error)) if error.status() == Some(StatusCode::NOT_FOUND) => {
                Ok(())
            }
            deleted => deleted,
        }
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _: Option<String>,
        headers: RequestHeaders,
    ) -> Result<EventStream, TransportError> {
        let request = |token: Option<String>| {
            let inbound = self.inbound(token.as_ref());
            let (uri, session, last) = (Arc::clone(&uri), session.clone(), last.clone());
            let headers = headers.clone();
            let opened = self.client.get_stream_with_max_sse_event_size(
                uri,
                session,
                last,
                token,
                headers,
                MAX_MESSAGE,
            );
            async move { Ok(messages(opened.await?, inbound)) }
        };
        let opened = self.send(&uri, request).await;
        self.has_stream.send_replace(true);
        match opened {
            // The session has ended, or there is no such stream. rmcp would try again without end.
            Err(StreamableHttpError::Client(error)) if error.status() == Some(StatusCode::NOT_FOUND) => {
                Err(StreamableHttpError::ServerDoesNotSupportSse)
            }
            opened => opened,
        }
    }
}
