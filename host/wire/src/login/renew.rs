//! Renewal of logins before they expire. One task per login renews for all waiting callers, under a lock shared with
//! other hosts. It runs to its end even if the callers stop waiting, so that new tokens are not lost.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Fault, http::Secret, lock, names::quoted, single_flight::SingleFlight};
use gatehouse_net::{Backoff, CircuitBreaker};

use super::{
    LoginContext, LoginId, LoginState, Logins,
    address::{ConfiguredHosts, LoginTarget},
    http::LoginHttp,
    login_store::StoredLogin,
    parsed,
    token::{TokenEndpoint, TokenError},
};

/// Milliseconds before the expiry at which a token is renewed, so that it is still valid when the server receives it.
/// For a short-lived token, a tenth of its lifetime.
const RENEWAL_MARGIN_MS: u64 = 60_000;

/// Backoff after failures of the authorization server. Until it expires, the old token is used.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(5), longest: Duration::from_secs(60) };

#[derive(Default)]
pub(super) struct TokenRenewals {
    flights: SingleFlight<LoginId, Result<Secret, Fault>>,
    breakers: Mutex<HashMap<LoginId, Arc<CircuitBreaker<Fault>>>>,
}

impl StoredLogin {
    /// True if it should be renewed. A token from the future is due too: the clock was set back.
    pub(super) fn is_due(&self, now: u64) -> bool {
        let Some(end) = self.expires_at else { return false };
        let margin = RENEWAL_MARGIN_MS.min(end.saturating_sub(self.issued_at) / 10);
        now.saturating_add(margin) >= end || now.saturating_add(RENEWAL_MARGIN_MS) < self.issued_at
    }

    pub(super) fn has_expired(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }

    pub(super) fn state(&self, now: u64) -> LoginState {
        let renewable = self.refresh_token.is_some()
            || self.client_credentials
            // It must still be usable when the token expires.
            || self.identity.as_ref().is_some_and(|identity| identity.is_usable(now.max(self.expires_at.unwrap_or(now))));
        match renewable {
            false if self.has_expired(now) => LoginState::Ended,
            renewable => LoginState::Valid { until: self.expires_at, renewable },
        }
    }

    /// Returns an endpoint that takes its tokens.
    pub(super) fn endpoint<'a>(&'a self, http: &'a LoginHttp, target: &'a LoginTarget) -> TokenEndpoint<'a> {
        TokenEndpoint { http, target, client: &self.client, resource: Some(&self.resource) }
    }

    pub(super) fn configured_hosts(&self) -> Result<ConfiguredHosts, Fault> {
        let issuer = self.named_issuer.as_deref().map(parsed).transpose()?;
        Ok(ConfiguredHosts::new([&parsed(&self.server)?].into_iter().chain(&issuer)))
    }
}

impl Logins {
    /// Returns a token that replaces `used`. Joins a running renewal.
    pub(super) async fn renew(&self, id: &LoginId, used: &Secret) -> Result<Secret, Fault> {
        let breaker = Arc::clone(
            lock(&self.renewals.breakers)
                .entry(id.clone())
                .or_insert_with(|| Arc::new(CircuitBreaker::new(BACKOFF))),
        );
        let work = || {
            let (shared, id, used) = (Arc::clone(&self.shared), id.clone(), used.clone());
            // A separate task, so that the token is stored even if the caller is dropped.
            let task = self.tasks.spawn(async move { shared.renew(&id, &used, &breaker).await });
            async move {
                task.await.unwrap_or_else(|_| Err(Fault::internal("the task that renews a login panicked")))
            }
        };
        self.renewals.flights.run(id.clone(), work).await
    }
}

impl LoginContext {
    /// Ends the login of a principal, so that the principal is asked to sign in. Leaves a shared one as it is.
    async fn end(&self, id: &LoginId, mut login: StoredLogin) -> Result<(), Fault> {
        if id.owner().is_none() {
            return Ok(());
        }
        login.refresh_token = None;
        login.identity = None;
        login.expires_at = Some(self.clock.now_ms());
        self.store.write(id, &login).await
    }

    /// Ends the login of a principal whose renewed token the server refuses, too.
    pub(super) async fn end_refused(&self, id: &LoginId, token: &Secret) -> Result<(), Fault> {
        let _locked = self.store.lock(id).await?;
        match self.store.read(id).await? {
            Some(login) if login.access_token == *token => self.end(id, login).await,
            _ => Ok(()),
        }
    }

    async fn renew(
        &self,
        id: &LoginId,
        used: &Secret,
        breaker: &CircuitBreaker<Fault>,
    ) -> Result<Secret, Fault> {
        let _locked = self.store.lock(id).await?;
        let Some(mut login) = self.store.read(id).await? else {
            return Err(id.missing_fault());
        };
        // Another host may have renewed it.
        if login.access_token != *used && !login.is_due(self.clock.now_ms()) {
            return Ok(login.access_token);
        }
        let refresh = login.refresh_token.clone();
        let now = self.clock.now_ms();
        let has_identity = login.identity.as_ref().is_some_and(|identity| identity.is_usable(now));
        if refresh.is_none() && !login.client_credentials && !has_identity {
            // A token that is only due is still valid. One that is not due was refused.
            if !login.is_due(self.clock.now_ms()) {
                self.end(id, login).await?;
            }
            return Err(id.ended_fault());
        }
        breaker.check().map_err(|(fault, _)| fault)?;
        let target = login.configured_hosts()?.check(&login.token_endpoint, "the token endpoint")?;
        // Write first, so that a full disk is detected before the refresh token is used up.
        self.store.write(id, &login).await?;
        let issued = match &refresh {
            Some(refresh) => login.endpoint(&self.http, &target).refresh(refresh).await,
            None if has_identity => self.renew_by_identity(id, &mut login, &target).await,
            None => login.endpoint(&self.http, &target).issue_to_client(&login.scopes).await,
        };
        match issued {
            Ok(issued) => {
                breaker.record_success();
                login.replace_tokens(issued, self.clock.now_ms());
                self.store.write(id, &login).await?;
                tracing::debug!(server = id.server(), "renewed a login");
                Ok(login.access_token)
            }
            Err(TokenError::Grant(reason)) => {
                tracing::warn!(server = id.server(), reason, "a login is no longer valid");
                if id.owner().is_some() {
                    self.end(id, login).await?;
                } else {
                    login.refresh_token = None;
                    login.client_credentials = false;
                    login.identity = None;
                    self.store.write(id, &login).await?;
                }
                Err(id.ended_fault())
            }
            // Keep the login: a server that lost its clients may restore them.
            Err(TokenError::Client(reason)) => {
                tracing::warn!(server = id.server(), reason, "cannot renew a login");
                breaker.record_failure(id.ended_fault());
                if login.has_expired(self.clock.now_ms()) {
                    self.end(id, login).await?;
                }
                Err(id.ended_fault())
            }
            Err(TokenError::Other(fault)) => {
                let message = format!("cannot renew the login to '{}': {}", id.server(), fault.message);
                let fault = Fault { message, ..fault };
                breaker.record_failure(fault.clone());
                Err(fault)
            }
        }
    }

    /// Revokes the tokens of a login that ends, and the identity that renews it.
    ///
    /// # Errors
    /// If one of them is not revoked.
    pub(super) async fn revoke(&self, login: &StoredLogin) -> Result<(), Fault> {
        let of_identity = match &login.identity {
            Some(identity) => identity.revoke(&self.http).await,
            None => Ok(()),
        };
        let of_login = self.revoke_tokens(login).await;
        match (of_identity, of_login) {
            (Err(one), Err(other)) => Err(Fault::unavailable(format!("{}. {}", one.message, other.message))),
            (one, other) => one.and(other),
        }
    }

    async fn revoke_tokens(&self, login: &StoredLogin) -> Result<(), Fault> {
        let Some(endpoint) = &login.revocation_endpoint else { return Err(no_revocation(&login.issuer)) };
        let target = login.configured_hosts()?.check(endpoint, "the revocation endpoint")?;
        let endpoint = login.endpoint(&self.http, &target);
        match &login.refresh_token {
            Some(token) => endpoint.revoke(token, "refresh_token").await,
            None => endpoint.revoke(&login.access_token, "access_token").await,
        }
    }
}

/// Returns the fault for an authorization server that cannot revoke tokens.
pub(super) fn no_revocation(issuer: &str) -> Fault {
    Fault::unavailable(format!("{} does not support token revocation", quoted(issuer, 200)))
}
