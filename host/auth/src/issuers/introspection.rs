//! Opaque tokens, verified by asking their issuer (RFC 7662).
//!
//! Anyone can send made-up tokens, and each costs the issuer a request. Tokens that were not valid before therefore
//! share few slots and a budget; tokens that must be checked again have slots of their own.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Fault, lock, names::quoted, ports::auth::AuthRefusal, single_flight::SingleFlight};
use serde_json::{Map, Value};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::http::IssuerHttp;
use crate::{IntrospectionSettings, token_cache::TokenDigest};

/// Concurrent requests about tokens that were valid before.
const KNOWN_SLOTS: usize = 8;

/// Concurrent requests about other tokens.
const NEW_SLOTS: usize = 4;

/// Requests about other tokens in [`BUDGET_TIME`].
const NEW_BUDGET: u32 = 100;

const BUDGET_TIME: Duration = Duration::from_secs(10);

const MAX_WAIT: Duration = Duration::from_secs(5);

type IntrospectionResult = Result<Option<Arc<Map<String, Value>>>, AuthRefusal>;

pub(super) struct Introspector {
    flights: SingleFlight<TokenDigest, IntrospectionResult>,
    issuer: String,
    settings: IntrospectionSettings,
    http: Arc<IssuerHttp>,
    known: Semaphore,
    new: Semaphore,
    budget: Mutex<RequestBudget>,
}

#[derive(Default)]
struct RequestBudget {
    began: Option<Instant>,
    used: u32,
}

impl RequestBudget {
    fn take(&mut self) -> bool {
        if self.began.is_none_or(|began| began.elapsed() >= BUDGET_TIME) {
            *self = Self { began: Some(Instant::now()), used: 0 };
        }
        self.used += 1;
        self.used <= NEW_BUDGET
    }
}

impl Introspector {
    pub(super) fn new(issuer: &str, settings: IntrospectionSettings, http: Arc<IssuerHttp>) -> Self {
        Self {
            flights: SingleFlight::default(),
            issuer: issuer.to_owned(),
            settings,
            http,
            known: Semaphore::new(KNOWN_SLOTS),
            new: Semaphore::new(NEW_SLOTS),
            budget: Mutex::default(),
        }
    }

    /// Returns the claims of an active token. `None` if the issuer does not know it.
    pub(super) async fn introspect(
        self: &Arc<Self>,
        token: &str,
        digest: &TokenDigest,
        was_valid: bool,
    ) -> IntrospectionResult {
        let (this, token) = (Arc::clone(self), token.to_owned());
        self.flights.run(*digest, || async move { this.introspect_alone(&token, was_valid).await }).await
    }

    async fn introspect_alone(&self, token: &str, was_valid: bool) -> IntrospectionResult {
        let busy = || AuthRefusal::Unavailable(format!("issuer '{}' is busy; try again later", self.issuer));
        if !was_valid && !lock(&self.budget).take() {
            return Err(busy());
        }
        let slots = if was_valid { &self.known } else { &self.new };
        let _slot = timeout(MAX_WAIT, slots.acquire()).await.map_err(|_| busy())?.map_err(|_| busy())?;
        self.request(token).await.map_err(|fault| {
            let name = &self.issuer;
            tracing::warn!("cannot introspect a token of issuer '{name}': {}", fault.in_one_line());
            AuthRefusal::Unavailable(format!("issuer '{name}' cannot check the token now; try again later"))
        })
    }

    async fn request(&self, token: &str) -> Result<Option<Arc<Map<String, Value>>>, Fault> {
        let IntrospectionSettings { url, client_id, client_secret } = &self.settings;
        let secret = client_secret.as_ref().map_err(|variable| {
            Fault::unavailable(format!("the environment variable {} is not set", quoted(variable, 64)))
        })?;
        let form = [("token", token), ("token_type_hint", "access_token")];
        let answer = self.http.post(url, &form, (client_id, secret.reveal())).await?;
        let is_active = answer.get("active") == Some(&Value::Bool(true));
        Ok(is_active.then(|| Arc::new(answer)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_budget_is_full_again_after_a_while() {
        let mut budget = RequestBudget::default();
        assert!((0..NEW_BUDGET).all(|_| budget.take()));
        assert!(!budget.take());
        tokio::time::advance(BUDGET_TIME).await;
        assert!(budget.take());
    }
}
