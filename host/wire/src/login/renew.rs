//! Renewing a login: ahead of its end, by one task for all who wait, under a lock that other hosts respect. Once the
//! authorization server is asked, nobody's patience decides whether what it sends is kept.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Fault, http::Secret, lock, single_flight::SingleFlight};
use gatehouse_net::{Backoff, CircuitBreaker};

use super::{
    LoginContext, LoginState, Logins,
    address::NamedHosts,
    login_ended_fault,
    login_store::StoredLogin,
    needs_login, parsed,
    token::{TokenEndpoint, TokenError},
};

/// How long before its end a token is renewed, in milliseconds: a call that begins now is to reach the server with it. A
/// token of a few minutes has a tenth of its life instead.
const RENEWAL_MARGIN_MS: u64 = 60_000;

/// After an authorization server could not be asked. Until the token ends, calls go on with it.
const BACKOFF: Backoff = Backoff { first: Duration::from_secs(5), longest: Duration::from_secs(60) };

#[derive(Default)]
pub(super) struct TokenRenewals {
    flights: SingleFlight<String, Result<Secret, Fault>>,
    breakers: Mutex<HashMap<String, Arc<CircuitBreaker<Fault>>>>,
}

impl StoredLogin {
    /// Whether it is to be renewed. A clock that was set back says nothing about a token that is issued later.
    pub(super) fn is_due(&self, now: u64) -> bool {
        let Some(end) = self.expires_at else { return false };
        let margin = RENEWAL_MARGIN_MS.min(end.saturating_sub(self.issued_at) / 10);
        now.saturating_add(margin) >= end || now.saturating_add(RENEWAL_MARGIN_MS) < self.issued_at
    }

    /// Whether no server takes it any more.
    pub(super) fn is_over(&self, now: u64) -> bool {
        self.expires_at.is_some_and(|end| now >= end)
    }

    pub(super) fn state(&self, now: u64) -> LoginState {
        match &self.refresh_token {
            None if self.is_over(now) => LoginState::Ended,
            refresh => LoginState::Valid { until: self.expires_at, renewable: refresh.is_some() },
        }
    }

    /// The hosts that presets.toml named when it was made.
    pub(super) fn named(&self) -> Result<NamedHosts, Fault> {
        let issuer = self.named_issuer.as_deref().map(parsed).transpose()?;
        Ok(NamedHosts::new([&parsed(&self.server)?].into_iter().chain(&issuer)))
    }
}

impl Logins {
    /// A token in the place of `used`. Waits for the renewal that is under way, if one is.
    pub(super) async fn renew(&self, server: &str, used: &Secret) -> Result<Secret, Fault> {
        let breaker = Arc::clone(
            lock(&self.renewals.breakers)
                .entry(server.to_owned())
                .or_insert_with(|| Arc::new(CircuitBreaker::new(BACKOFF))),
        );
        let work = || {
            let (shared, name, used) = (Arc::clone(&self.shared), server.to_owned(), used.clone());
            // A task of its own: a caller that gives up must not take the new refresh token with it.
            let task = self.tasks.spawn(async move { shared.renew(&name, &used, &breaker).await });
            async move { task.await.unwrap_or_else(|_| Err(Fault::internal("Renewing a login broke down."))) }
        };
        self.renewals.flights.run(server.to_owned(), work).await
    }
}

impl LoginContext {
    async fn renew(
        &self,
        server: &str,
        used: &Secret,
        breaker: &CircuitBreaker<Fault>,
    ) -> Result<Secret, Fault> {
        let _locked = self.store.lock(server).await?;
        let Some(mut login) = self.store.read(server).await? else {
            return Err(needs_login(server, "wants a login"));
        };
        // Another host may have been faster.
        if login.access_token != *used && !login.is_due(self.clock.now_ms()) {
            return Ok(login.access_token);
        }
        let Some(refresh) = login.refresh_token.clone() else { return Err(login_ended_fault(server)) };
        breaker.check().map_err(|(fault, _)| fault)?;
        let target = login.named()?.check(&login.token_endpoint, "The token endpoint")?;
        // A disk that is full is found before the refresh token is used up, not after.
        self.store.write(server, &login).await?;
        let endpoint = TokenEndpoint {
            http: &self.http,
            target: &target,
            client: &login.client,
            resource: &login.resource,
        };
        match endpoint.refresh(&refresh).await {
            Ok(issued) => {
                breaker.record_success();
                login.replace_tokens(issued, self.clock.now_ms());
                self.store.write(server, &login).await?;
                tracing::debug!(server, "a login is renewed");
                Ok(login.access_token)
            }
            Err(TokenError::Grant(told)) => {
                tracing::warn!(server, why = told, "a login is not valid any more");
                login.refresh_token = None;
                self.store.write(server, &login).await?;
                Err(login_ended_fault(server))
            }
            // A server that lost its clients may find them again; the login is worth a second try.
            Err(TokenError::Client(told)) => {
                tracing::warn!(server, why = told, "a login cannot be renewed");
                breaker.record_failure(login_ended_fault(server));
                Err(login_ended_fault(server))
            }
            Err(TokenError::Other(fault)) => {
                let message = format!("The login to '{server}' cannot be renewed now. {}", fault.message);
                let fault = Fault { message, ..fault };
                breaker.record_failure(fault.clone());
                Err(fault)
            }
        }
    }
}
