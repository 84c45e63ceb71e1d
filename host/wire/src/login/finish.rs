//! End of the login flow: the proof of a login is exchanged for tokens, which are stored.

use gatehouse_core::{Fault, http::Secret, names::quoted};

use super::{
    LoginContext, LoginId, LoginState, Logins,
    address::resource,
    client::OAuthClient,
    flow::{LoginProof, StartedLogin},
    identity::StoredIdentity,
    login_store::StoredLogin,
    parsed,
    token::{MAX_TOKEN, TokenEndpoint, TokenError, TokenResponse},
};

impl Logins {
    /// Exchanges the proof for tokens, and stores the login.
    pub(super) async fn finish_login(
        &self,
        started: StartedLogin,
        proof: LoginProof<'_>,
    ) -> Result<LoginState, Fault> {
        let shared = &self.shared;
        let (identity, issued) = shared.exchange(&started, proof).await.map_err(|refused| match refused {
            TokenError::Grant(reason) | TokenError::Client(reason) => {
                Fault::denied(format!("the login was refused: {reason}"))
            }
            TokenError::Other(fault) => fault,
        })?;
        let StartedLogin { id, server, named_issuer, authority, confirmed_origins, client, .. } = started;
        let unissued = StoredLogin::from_token(&id, resource(&server), Secret::new(""), 0);
        let mut login = StoredLogin {
            resource: authority.resource.unwrap_or_else(|| unissued.server.clone()),
            issuer: authority.issuer,
            named_issuer,
            confirmed_origins,
            token_endpoint: authority.token.url.into(),
            revocation_endpoint: authority.revocation.map(|endpoint| endpoint.url.into()),
            client,
            scopes: started.scopes,
            client_credentials: matches!(proof, LoginProof::ClientCredentials),
            identity,
            ..unissued
        };
        login.replace_tokens(issued, shared.clock.now_ms());
        let state = login.state(shared.clock.now_ms());
        if state == LoginState::Ended {
            let (server, issuer) = (id.server(), quoted(&login.issuer, 200));
            return Err(Fault::unavailable(format!(
                "the login to '{server}' has already expired: {issuer} issued a token that expires immediately, and \
                no refresh token"
            )));
        }
        let _locked = shared.store.lock(&id).await?;
        shared.store.write(&id, &login).await?;
        Ok(state)
    }

    /// Stores a token that the user got from the server elsewhere, such as a personal access token.
    ///
    /// # Errors
    /// If it is not a bearer token (RFC 6750), or the login cannot be written.
    pub async fn store_token(&self, id: &LoginId, url: &str, token: &Secret) -> Result<LoginState, Fault> {
        let value = token.reveal();
        let is_token = |c: char| c.is_ascii_alphanumeric() || "-._~+/=".contains(c);
        if value.is_empty() || value.len() > MAX_TOKEN || !value.chars().all(is_token) {
            return Err(Fault::invalid(format!(
                "invalid token: expected 1 to {MAX_TOKEN} letters, digits or -._~+/="
            )));
        }
        let (shared, now) = (&self.shared, self.shared.clock.now_ms());
        let login = StoredLogin::from_token(id, resource(&parsed(url)?), token.clone(), now);
        let _locked = shared.store.lock(id).await?;
        shared.store.write(id, &login).await?;
        Ok(login.state(now))
    }
}

impl LoginContext {
    /// Returns the tokens, and the identity of the user if a provider vouched for it.
    async fn exchange(
        &self,
        started: &StartedLogin,
        proof: LoginProof<'_>,
    ) -> Result<(Option<StoredIdentity>, TokenResponse), TokenError> {
        let StartedLogin { authority, client, verifier, redirect, scopes, .. } = started;
        let (http, target, resource) = (&self.http, &authority.token, authority.resource.as_deref());
        let endpoint = TokenEndpoint { http, target, client, resource };
        let identity = match (&started.provider, proof) {
            (None, LoginProof::Code(code)) => {
                return Ok((None, endpoint.exchange(code, verifier, redirect).await?));
            }
            (None, _) => return Ok((None, endpoint.issue_to_client(scopes).await?)),
            (Some(provider), LoginProof::Code(code)) => {
                provider.exchange(http, code, verifier, redirect, scopes).await?
            }
            (Some(provider), LoginProof::IdToken(token)) => provider.identity(token, scopes)?,
            (Some(_), LoginProof::ClientCredentials) => {
                return Err(Fault::internal("a login by an identity provider needs its user").into());
            }
        };
        match identity.token(&authority.issuer, &endpoint).await {
            Ok(issued) => Ok((Some(identity), issued)),
            Err(error) => {
                // Nothing would use or revoke it later.
                if let Err(fault) = identity.revoke(http).await {
                    tracing::debug!(fault = %fault.message, "cannot revoke the identity of a failed login");
                }
                Err(error)
            }
        }
    }
}

impl StoredLogin {
    /// Returns the login that is a token from elsewhere, which cannot be renewed.
    fn from_token(id: &LoginId, server: String, token: Secret, now: u64) -> Self {
        Self {
            owner: id.owner().map(|owner| owner.as_str().to_owned()),
            resource: server.clone(),
            issuer: server.clone(),
            server,
            named_issuer: None,
            confirmed_origins: None,
            token_endpoint: String::new(),
            revocation_endpoint: None,
            client: OAuthClient::default(),
            scopes: Vec::new(),
            access_token: token,
            refresh_token: None,
            client_credentials: false,
            identity: None,
            issued_at: now,
            expires_at: None,
        }
    }

    /// Replaces the tokens. The old refresh token remains if the server issued no new one.
    pub(super) fn replace_tokens(&mut self, issued: TokenResponse, now: u64) {
        self.access_token = issued.access;
        // With an identity provider, each renewal asks the provider.
        let refresh = issued.refresh.filter(|_| self.identity.is_none());
        self.refresh_token = refresh.or_else(|| self.refresh_token.take());
        self.issued_at = now;
        self.expires_at = issued.life.map(|life| now.saturating_add(life * 1000));
        self.scopes = issued.scopes.unwrap_or_else(|| std::mem::take(&mut self.scopes));
    }
}
