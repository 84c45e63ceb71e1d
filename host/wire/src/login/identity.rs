//! Logins that an identity provider decides on (extension `io.modelcontextprotocol/enterprise-managed-authorization`).
//! The user signs in to the provider. The provider exchanges its ID token for an assertion to the authorization server
//! of an MCP server (RFC 8693, with the token type `id-jag`), and that authorization server issues a token for it
//! (RFC 7523, section 2.1).

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatehouse_core::{Fault, http::Secret, names::quoted};
use serde::{Deserialize, Serialize};

use super::{
    LoginContext, LoginId, NamedIssuer,
    address::{ConfiguredHosts, LoginTarget},
    client::OAuthClient,
    http::LoginHttp,
    login_store::{StoredLogin, optional_secret, reveal, secret},
    metadata::{AuthorizationServer, Discovery},
    parsed,
    renew::no_revocation,
    token::{MAX_TOKEN, TokenEndpoint, TokenError, TokenResponse, is_token},
};

const EXCHANGE_GRANT: &str = "urn:ietf:params:oauth:grant-type:token-exchange";
const ASSERTION_GRANT: &str = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:token-type:id-jag";
const ID_TOKEN_TYPE: &str = "urn:ietf:params:oauth:token-type:id_token";

/// Identity provider to which a user signs in, with the client that is registered there.
pub(super) struct IdentityProvider {
    pub(super) authority: AuthorizationServer,
    pub(super) client: OAuthClient,
}

/// Identity of a user at a provider, as stored with a login.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct StoredIdentity {
    issuer: String,
    token_endpoint: String,
    revocation_endpoint: Option<String>,
    client: OAuthClient,
    #[serde(serialize_with = "reveal", deserialize_with = "secret")]
    id_token: Secret,
    #[serde(serialize_with = "reveal", deserialize_with = "optional_secret", default)]
    refresh_token: Option<Secret>,
    /// Scopes that the login requests. The authorization server may grant others.
    scopes: Vec<String>,
}

#[derive(Deserialize)]
struct ExchangeDocument {
    access_token: String,
    issued_token_type: String,
}

#[derive(Deserialize)]
struct IdTokenClaims {
    /// Expiry in seconds since 1970-01-01T00:00:00Z.
    exp: u64,
}

impl IdentityProvider {
    /// Finds the provider that presets.toml names for a server. `asks_user` is false if the user has an ID token.
    ///
    /// # Errors
    /// If its metadata breaks a rule, or presets.toml names no client.
    pub(super) async fn find(
        http: &LoginHttp,
        server: &str,
        named: &NamedIssuer,
        asks_user: bool,
    ) -> Result<Self, Fault> {
        let Some(client) = &named.client else {
            let place = format!("[servers.{server}.oauth.identity_provider]");
            return Err(Fault::invalid(format!("{place} has no client_id")));
        };
        let url = parsed(&named.url)?;
        let hosts = ConfiguredHosts::new([&url]);
        let discovery = Discovery {
            http,
            hosts: &hosts,
            server: &url,
            issuer: Some(&named.url),
            needs_user: asks_user,
            is_challenged: false,
        };
        let authority = discovery.identity_provider(&named.url).await?;
        let client = OAuthClient::named(client, &authority);
        Ok(Self { authority, client })
    }

    /// Returns the identity of a user who has an ID token from elsewhere.
    pub(super) fn identity(&self, id_token: &Secret, scopes: &[String]) -> Result<StoredIdentity, Fault> {
        if !is_token(id_token.reveal()) {
            return Err(Fault::invalid(format!(
                "invalid ID token: expected 1 to {MAX_TOKEN} characters without spaces and control characters"
            )));
        }
        Ok(StoredIdentity {
            issuer: self.authority.issuer.clone(),
            token_endpoint: self.authority.token.url.to_string(),
            revocation_endpoint: self.authority.revocation.as_ref().map(|endpoint| endpoint.url.to_string()),
            client: self.client.clone(),
            id_token: id_token.clone(),
            refresh_token: None,
            scopes: scopes.to_vec(),
        })
    }

    /// Returns the identity of a user who agreed to this code.
    pub(super) async fn exchange(
        &self,
        http: &LoginHttp,
        code: &Secret,
        verifier: &Secret,
        redirect: &str,
        scopes: &[String],
    ) -> Result<StoredIdentity, TokenError> {
        let target = &self.authority.token;
        let endpoint = TokenEndpoint { http, target, client: &self.client, resource: None };
        let issued = endpoint.exchange(code, verifier, redirect).await?;
        let id_token = issued.id_token.ok_or_else(|| {
            let issuer = quoted(&self.authority.issuer, 200);
            Fault::unavailable(format!("the identity provider {issuer} issued no ID token"))
        })?;
        Ok(StoredIdentity { refresh_token: issued.refresh, ..self.identity(&id_token, scopes)? })
    }
}

impl StoredIdentity {
    /// Whether it can prove the user at `now`, in milliseconds. The claims are not verified: the provider does that.
    pub(super) fn is_usable(&self, now: u64) -> bool {
        let claims = self.id_token.reveal().split('.').nth(1);
        let claims = claims.and_then(|part| URL_SAFE_NO_PAD.decode(part.trim_end_matches('=')).ok());
        let claims = claims.and_then(|json| serde_json::from_slice::<IdTokenClaims>(&json).ok());
        self.refresh_token.is_some() || claims.is_none_or(|claims| now < claims.exp.saturating_mul(1000))
    }

    /// Returns a token of the authorization server `issuer`, whose token endpoint is `endpoint`.
    pub(super) async fn token(
        &self,
        issuer: &str,
        endpoint: &TokenEndpoint<'_>,
    ) -> Result<TokenResponse, TokenError> {
        let target = self.check(&self.token_endpoint)?;
        let provider = TokenEndpoint { target: &target, client: &self.client, ..*endpoint };
        let mut pairs = vec![
            ("grant_type", EXCHANGE_GRANT.to_owned()),
            ("requested_token_type", ASSERTION_TYPE.to_owned()),
            ("audience", issuer.to_owned()),
            ("subject_token", self.id_token.reveal().to_owned()),
            ("subject_token_type", ID_TOKEN_TYPE.to_owned()),
        ];
        if !self.scopes.is_empty() {
            pairs.push(("scope", self.scopes.join(" ")));
        }
        let answer = provider.request(pairs, [self.id_token.clone()]).await?;
        let host = provider.host();
        let document: ExchangeDocument =
            answer.json(&format!("the answer of the token endpoint of {host}"))?;
        if !is_token(&document.access_token) {
            let reason = format!("{host} issued an assertion that is empty, too long or has spaces");
            return Err(TokenError::Other(Fault::unavailable(reason)));
        }
        if document.issued_token_type != ASSERTION_TYPE {
            let kind = quoted(&document.issued_token_type, 80);
            let reason = format!("{host} issued a token of type '{kind}'; expected {ASSERTION_TYPE}");
            return Err(TokenError::Other(Fault::unavailable(reason)));
        }
        let assertion = Secret::new(document.access_token);
        let pairs =
            vec![("grant_type", ASSERTION_GRANT.to_owned()), ("assertion", assertion.reveal().to_owned())];
        // The provider has just vouched for the user, so this refusal may end, for example when the clocks are right.
        endpoint.request_tokens(pairs, [assertion]).await.map_err(|error| match error {
            TokenError::Grant(reason) => TokenError::Other(Fault::denied(reason)),
            error => error,
        })
    }

    async fn refresh(&mut self, http: &LoginHttp) -> Result<(), TokenError> {
        let Some(refresh) = &self.refresh_token else { return Ok(()) };
        let target = self.check(&self.token_endpoint)?;
        let endpoint = TokenEndpoint { http, target: &target, client: &self.client, resource: None };
        let issued = endpoint.refresh(refresh).await?;
        // A provider may leave out either, and then the old one remains (OpenID Connect Core, section 12.2).
        self.id_token = issued.id_token.unwrap_or_else(|| self.id_token.clone());
        self.refresh_token = issued.refresh.or_else(|| self.refresh_token.take());
        Ok(())
    }

    /// Revokes the refresh token at the provider, if there is one.
    ///
    /// # Errors
    /// If the provider refuses that, or has no revocation endpoint.
    pub(super) async fn revoke(&self, http: &LoginHttp) -> Result<(), Fault> {
        let Some(token) = &self.refresh_token else { return Ok(()) };
        let Some(endpoint) = &self.revocation_endpoint else { return Err(no_revocation(&self.issuer)) };
        let target = self.check(endpoint)?;
        let endpoint = TokenEndpoint { http, target: &target, client: &self.client, resource: None };
        endpoint.revoke(token, "refresh_token").await
    }

    fn check(&self, endpoint: &str) -> Result<LoginTarget, Fault> {
        // presets.toml names the provider, so it may be in a private network.
        ConfiguredHosts::new([&parsed(&self.issuer)?])
            .check(endpoint, "the endpoint of the identity provider")
    }
}

impl LoginContext {
    /// Renews a login with the identity of its user.
    pub(super) async fn renew_by_identity(
        &self,
        id: &LoginId,
        login: &mut StoredLogin,
        target: &LoginTarget,
    ) -> Result<TokenResponse, TokenError> {
        let Some(mut identity) = login.identity.clone() else { return Err(id.ended_fault().into()) };
        if identity.refresh_token.is_some() {
            identity.refresh(&self.http).await?;
            // At once: the provider may have replaced the refresh token.
            login.identity = Some(identity.clone());
            self.store.write(id, login).await?;
        }
        identity.token(&login.issuer, &login.endpoint(&self.http, target)).await
    }
}
