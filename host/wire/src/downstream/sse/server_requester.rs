//! Authenticated requests to a server, with the configured headers or a stored login.

use std::sync::{Arc, Mutex};

use gatehouse_core::{
    http::{Redactor, Secret},
    lock,
};
use gatehouse_net::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use http::HeaderMap;

use super::SseError;
use crate::login::{LoginId, Logins};

#[derive(Clone)]
pub(crate) struct ServerRequester {
    client: Client,
    pub(super) url: Url,
    headers: HeaderMap,
    /// Logins, and the one to use. `None` if the configured headers authenticate.
    logins: Option<(Arc<Logins>, LoginId)>,
    /// All tokens that were sent, to redact them from messages of the server.
    sent: Arc<Mutex<Vec<Secret>>>,
}

impl ServerRequester {
    pub(crate) fn new(
        client: Client,
        url: Url,
        headers: HeaderMap,
        logins: Option<(Arc<Logins>, LoginId)>,
    ) -> Self {
        Self { client, url, headers, logins, sent: Arc::default() }
    }

    /// Sends a request, and again with a renewed token after a 401, because the server has not run it.
    pub(super) async fn send(
        &self,
        method: Method,
        target: &Url,
        request: impl Fn(RequestBuilder) -> RequestBuilder,
    ) -> Result<Response, SseError> {
        let send = async |token: Option<&Secret>| {
            let headers = self.headers.clone();
            let mut begun = self.client.request(method.clone(), target.clone()).headers(headers);
            if let Some(token) = token {
                self.remember(token);
                begun = begun.bearer_auth(token.reveal());
            }
            request(begun).send().await.map_err(SseError::broken)
        };
        let Some((logins, login)) = &self.logins else { return send(None).await };
        let declared = self.url.as_str();
        let token = logins.bearer(login, declared, target).await.map_err(SseError::login)?;
        let response = send(token.as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let renewed =
            logins.renew_refused_token(login, declared, token.as_ref()).await.map_err(SseError::login)?;
        let response = send(Some(&renewed)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(SseError::login(logins.refused_again(login, &renewed).await));
        }
        Ok(response)
    }

    pub(super) fn redact_tokens(&self, text: String) -> String {
        let sent = lock(&self.sent);
        if sent.is_empty() { text } else { Redactor::new(&*sent).redact_text(text) }
    }

    fn remember(&self, token: &Secret) {
        let mut sent = lock(&self.sent);
        if !sent.contains(token) {
            sent.push(token.clone());
        }
    }
}
