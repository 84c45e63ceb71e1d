//! Authenticated requests to a server, with the configured headers or a stored login. If the server refuses the token, a
//! request is sent once more with a renewed one, because the server has not run it.
//!
//! Redirects within the server's origin are followed with all headers. Others would pass them on, and are refused.

use std::sync::{Arc, Mutex};

use bytes::Bytes;
use gatehouse_core::{Fault, http::Secret, lock, names::quoted};
use gatehouse_net::{Body, Client, Method, Response, StatusCode, Url, http_cause};
use http::{
    HeaderMap,
    header::{LOCATION, WWW_AUTHENTICATE},
};

use crate::{
    downstream::{connection::CallFailure, peer::ConnectionSecrets},
    login::{BearerChallenge, LoginId, Logins},
};

/// Maximum redirects of a request.
const MAX_REDIRECTS: usize = 5;

pub(crate) struct ServerRequester {
    client: Client,
    /// URL of the definition, which the login is for.
    declared: Url,
    /// URL to use, which differs after redirects.
    url: Mutex<Url>,
    headers: HeaderMap,
    /// Logins, and the one to use. `None` if the configured headers authenticate.
    logins: Option<(Arc<Logins>, LoginId)>,
    secrets: ConnectionSecrets,
}

impl ServerRequester {
    pub(crate) fn new(
        client: Client,
        url: Url,
        headers: HeaderMap,
        logins: Option<(Arc<Logins>, LoginId)>,
        secrets: ConnectionSecrets,
    ) -> Self {
        Self { client, declared: url.clone(), url: Mutex::new(url), headers, logins, secrets }
    }

    pub(crate) const fn secrets(&self) -> &ConnectionSecrets {
        &self.secrets
    }

    pub(crate) fn url(&self) -> Url {
        lock(&self.url).clone()
    }

    /// Sends a request to the server's URL.
    pub(crate) async fn send(
        &self,
        method: Method,
        headers: &HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, CallFailure> {
        let mut target = self.url();
        for _ in 0..MAX_REDIRECTS {
            let response = self.send_to(&target, method.clone(), headers, body.clone()).await?;
            let Some(next) = redirect(&target, &response)? else {
                // Do not ask twice for each request.
                *lock(&self.url) = target;
                return Ok(response);
            };
            target = next;
        }
        Err(CallFailure::Transport(format!(
            "it redirected more than {MAX_REDIRECTS} times, at last to {target}"
        )))
    }

    /// Sends a request to a URL of the server, and again with a renewed token after a 401.
    pub(crate) async fn send_to(
        &self,
        target: &Url,
        method: Method,
        headers: &HeaderMap,
        body: Option<Bytes>,
    ) -> Result<Response, CallFailure> {
        let send = async |token: Option<&Secret>| {
            let request = self.client.request(method.clone(), target.clone());
            let mut request = request.headers(self.headers.clone()).headers(headers.clone());
            if let Some(token) = token {
                self.secrets.add(token);
                request = request.bearer_auth(token.reveal());
            }
            if let Some(body) = &body {
                request = request.body(Body::from(body.clone()));
            }
            request.send().await.map_err(|error| match error.is_connect() {
                true => CallFailure::NotSent(http_cause(error)),
                false => CallFailure::Transport(http_cause(error)),
            })
        };
        let Some((logins, login)) = &self.logins else { return send(None).await };
        let declared = self.declared.as_str();
        let token = logins.bearer(login, declared, target).await.map_err(CallFailure::Login)?;
        let mut response = send(token.as_ref()).await?;
        if response.status() == StatusCode::UNAUTHORIZED {
            let renewed = logins.renew_refused_token(login, declared, token.as_ref()).await;
            let renewed = renewed.map_err(CallFailure::Login)?;
            response = send(Some(&renewed)).await?;
            if response.status() == StatusCode::UNAUTHORIZED {
                return Err(CallFailure::Login(logins.refused_again(login, &renewed).await));
            }
        }
        if response.status() == StatusCode::FORBIDDEN
            && let Some(fault) = self.missing_scope(&response).await
        {
            return Err(CallFailure::Login(fault));
        }
        Ok(response)
    }

    /// Returns the fault of a login without the scopes that the server asks for.
    async fn missing_scope(&self, response: &Response) -> Option<Fault> {
        let (logins, login) = self.logins.as_ref()?;
        let challenges = response.headers().get_all(WWW_AUTHENTICATE).into_iter();
        let challenge = BearerChallenge::from_headers(challenges.filter_map(|value| value.to_str().ok()));
        logins.lacks_scope(login, &challenge).await
    }
}

/// Returns where a response redirects to, with the method and the body.
fn redirect(from: &Url, response: &Response) -> Result<Option<Url>, CallFailure> {
    let status = response.status();
    let Some(location) = response.headers().get(LOCATION).filter(|_| status.is_redirection()) else {
        return Ok(None);
    };
    let location = String::from_utf8_lossy(location.as_bytes()).into_owned();
    let is_same_request = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
    match from.join(&location) {
        Ok(next) if is_same_request && next.origin() == from.origin() && next != *from => Ok(Some(next)),
        next => {
            let address = quoted(next.as_ref().map_or(&*location, Url::as_str), 300);
            let reason =
                format!("it answered {status} with the address {address}; set `url` to that if you trust it");
            Err(CallFailure::Transport(reason))
        }
    }
}
