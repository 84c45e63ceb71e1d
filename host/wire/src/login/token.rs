//! Token endpoint: code exchange, refresh and revocation.

use gatehouse_core::{Fault, http::Secret, names::quoted};
use gatehouse_net::Method;
use serde::Deserialize;
use serde_json::Value;

use super::{
    address::LoginTarget,
    client::OAuthClient,
    http::{LoginHttp, Response},
};

/// Maximum bytes of a token. Most servers reject longer headers.
pub(super) const MAX_TOKEN: usize = 16 << 10;

/// Maximum lifetime of a token in seconds; longer ones are capped.
const MAX_TOKEN_LIFE: u64 = 10 * 365 * 24 * 3600;

pub(super) struct TokenResponse {
    pub(super) access: Secret,
    pub(super) refresh: Option<Secret>,
    /// Lifetime in seconds.
    pub(super) life: Option<u64>,
    /// Granted scopes. `None` if they are the requested ones.
    pub(super) scopes: Option<Vec<String>>,
    /// Statement of an identity provider about the user who signed in (OpenID Connect Core, section 2).
    pub(super) id_token: Option<Secret>,
}

/// Reason that no tokens were issued.
pub(super) enum TokenError {
    /// The code or refresh token is permanently invalid.
    Grant(String),
    /// The client is unknown.
    Client(String),
    /// Any other failure, possibly temporary.
    Other(Fault),
}

impl From<Fault> for TokenError {
    fn from(fault: Fault) -> Self {
        Self::Other(fault)
    }
}

#[derive(Deserialize)]
struct TokenDocument {
    access_token: String,
    token_type: String,
    refresh_token: Option<String>,
    /// Number, or number as a string.
    expires_in: Option<Value>,
    scope: Option<String>,
    id_token: Option<String>,
}

/// Token endpoint with one client.
#[derive(Clone, Copy)]
pub(super) struct TokenEndpoint<'a> {
    pub(super) http: &'a LoginHttp,
    pub(super) target: &'a LoginTarget,
    pub(super) client: &'a OAuthClient,
    /// Resource of the tokens (RFC 8707). `None` at an identity provider.
    pub(super) resource: Option<&'a str>,
}

impl TokenEndpoint<'_> {
    /// Exchanges an authorization code, which uses it up.
    pub(super) async fn exchange(
        &self,
        code: &Secret,
        verifier: &Secret,
        redirect: &str,
    ) -> Result<TokenResponse, TokenError> {
        let pairs = vec![
            ("grant_type", "authorization_code".to_owned()),
            ("code", code.reveal().to_owned()),
            ("redirect_uri", redirect.to_owned()),
            ("code_verifier", verifier.reveal().to_owned()),
        ];
        self.request_tokens(pairs, [code.clone(), verifier.clone()]).await
    }

    /// Returns a token for the client itself (RFC 6749, section 4.4).
    pub(super) async fn issue_to_client(&self, scopes: &[String]) -> Result<TokenResponse, TokenError> {
        let mut pairs = vec![("grant_type", "client_credentials".to_owned())];
        if !scopes.is_empty() {
            pairs.push(("scope", scopes.join(" ")));
        }
        self.request_tokens(pairs, []).await
    }

    /// Refreshes the tokens. A server with rotation invalidates the old refresh token.
    pub(super) async fn refresh(&self, refresh: &Secret) -> Result<TokenResponse, TokenError> {
        let pairs =
            vec![("grant_type", "refresh_token".to_owned()), ("refresh_token", refresh.reveal().to_owned())];
        self.request_tokens(pairs, [refresh.clone()]).await
    }

    pub(super) async fn request_tokens(
        &self,
        pairs: Vec<(&'static str, String)>,
        secrets: impl IntoIterator<Item = Secret>,
    ) -> Result<TokenResponse, TokenError> {
        let answer = self.request(pairs, secrets).await?;
        Ok(TokenResponse::read(&answer, self.host())?)
    }

    /// Sends a request for a token. Returns the response if it is a success.
    pub(super) async fn request(
        &self,
        mut pairs: Vec<(&'static str, String)>,
        secrets: impl IntoIterator<Item = Secret>,
    ) -> Result<Response, TokenError> {
        // RFC 8693 has this code for a subject token that has expired or is not accepted.
        let is_exchange = pairs.iter().any(|(name, _)| *name == "subject_token");
        pairs.extend(self.resource.map(|resource| ("resource", resource.to_owned())));
        let (answer, refused) = self.send(pairs, secrets).await?;
        let Some(reason) = refused else { return Ok(answer) };
        let is_decided = !answer.status.is_server_error();
        match answer.error().as_deref() {
            Some("invalid_grant") if is_decided => Err(TokenError::Grant(reason)),
            Some("invalid_request") if is_exchange && is_decided => Err(TokenError::Grant(reason)),
            Some("invalid_client" | "unauthorized_client") => Err(TokenError::Client(reason)),
            Some("access_denied" | "invalid_target") => Err(TokenError::Other(Fault::denied(reason))),
            _ => Err(TokenError::Other(Fault::unavailable(reason))),
        }
    }

    /// Revokes a token (RFC 7009).
    pub(super) async fn revoke(&self, token: &Secret, kind: &str) -> Result<(), Fault> {
        let pairs = vec![("token", token.reveal().to_owned()), ("token_type_hint", kind.to_owned())];
        let (_, refused) = self.send(pairs, [token.clone()]).await?;
        refused.map_or(Ok(()), |reason| Err(Fault::unavailable(reason)))
    }

    /// Sends a request. Returns the response, and the reason if it is a refusal, without the `secrets`.
    async fn send(
        &self,
        pairs: Vec<(&'static str, String)>,
        secrets: impl IntoIterator<Item = Secret>,
    ) -> Result<(Response, Option<String>), Fault> {
        let secrets: Vec<Secret> = secrets.into_iter().chain(self.client.secret.clone()).collect();
        let sent = self.client.authenticate(pairs)?;
        let answer = self.http.send(Method::POST, self.target, sent).await?;
        // GitHub answers errors with status 200.
        let refused = (!answer.status.is_success() || answer.error().is_some())
            .then(|| format!("{} answered {}", self.host(), answer.error_text(&secrets)));
        Ok((answer, refused))
    }

    pub(super) fn host(&self) -> &str {
        self.target.url.host_str().unwrap_or_default()
    }
}

impl TokenResponse {
    fn read(answer: &Response, host: &str) -> Result<Self, Fault> {
        let document: TokenDocument = answer.json(&format!("the answer of the token endpoint of {host}"))?;
        if !document.token_type.eq_ignore_ascii_case("bearer") {
            let kind = quoted(&document.token_type, 40);
            return Err(Fault::unavailable(format!(
                "{host} issued a token of type '{kind}'; expected a bearer token"
            )));
        }
        let refresh = document.refresh_token.filter(|token| !token.is_empty());
        if !is_token(&document.access_token) || !refresh.as_deref().is_none_or(is_token) {
            return Err(Fault::unavailable(format!("{host} issued a token that is not valid in a header")));
        }
        let life = document.expires_in.and_then(|life| match life {
            Value::String(text) => text.trim().parse().ok(),
            number => number.as_f64(),
        });
        let scopes = document.scope.map(|scope| scope.split_whitespace().map(str::to_owned).collect());
        Ok(Self {
            access: Secret::new(document.access_token),
            refresh: refresh.map(Secret::new),
            life: life.map(|seconds: f64| (seconds.max(0.0) as u64).min(MAX_TOKEN_LIFE)),
            scopes,
            id_token: document.id_token.filter(|token| is_token(token)).map(Secret::new),
        })
    }
}

/// Whether a text can be sent as a token.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_TOKEN && text.bytes().all(|byte| byte.is_ascii_graphic())
}
