//! Who asks at a server's address: the headers of its definition, or a login.

use std::sync::{Arc, Mutex};

use gatehouse_core::{
    http::{Redactor, Secret},
    lock,
};
use gatehouse_net::{Client, Method, RequestBuilder, Response, StatusCode, Url};
use http::HeaderMap;

use super::SseError;
use crate::login::Logins;

/// Sends requests to one server. Clones are the same.
#[derive(Clone)]
pub(crate) struct ServerRequester {
    client: Client,
    url: Url,
    headers: HeaderMap,
    /// With the server's name; none where its headers say who asks.
    logins: Option<(Arc<Logins>, Arc<str>)>,
    /// Every token that was sent, so that none comes back in what the server says.
    sent: Arc<Mutex<Vec<Secret>>>,
}

impl ServerRequester {
    /// `headers` go with each request.
    pub(crate) fn new(
        client: Client,
        url: Url,
        headers: HeaderMap,
        logins: Option<(Arc<Logins>, Arc<str>)>,
    ) -> Self {
        Self { client, url, headers, logins, sent: Arc::default() }
    }

    /// The address that the definition has.
    pub(super) fn url(&self) -> &Url {
        &self.url
    }

    /// Sends a request, and once more where its token was refused: the server did nothing then.
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
        let Some((logins, server)) = &self.logins else { return send(None).await };
        let declared = self.url.as_str();
        let token = logins.bearer(server, declared, target).await.map_err(SseError::login)?;
        let response = send(token.as_ref()).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let renewed =
            logins.renew_refused_token(server, declared, token.as_ref()).await.map_err(SseError::login)?;
        let response = send(Some(&renewed)).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            return Err(SseError::login(Logins::refused_again_fault(server)));
        }
        Ok(response)
    }

    /// What the server said, without tokens.
    pub(super) fn redact_tokens(&self, said: String) -> String {
        let sent = lock(&self.sent);
        if sent.is_empty() { said } else { Redactor::new(&*sent).redact_text(said) }
    }

    fn remember(&self, token: &Secret) {
        let mut sent = lock(&self.sent);
        if !sent.contains(token) {
            sent.push(token.clone());
        }
    }
}
