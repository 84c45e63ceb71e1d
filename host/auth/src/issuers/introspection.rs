//! Opaque tokens, verified by asking their issuer (RFC 7662).
//!
//! Anyone can send made-up tokens, and each costs the issuer a request. Tokens that were not valid before therefore
//! share few slots, and each address has a budget of them; tokens that must be checked again have slots of their own.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{
    Fault, Principal, fair_semaphore::FairSemaphore, lock, names::quoted, ports::auth::AuthRefusal,
    single_flight::SingleFlight,
};
use serde_json::{Map, Value};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::http::IssuerHttp;
use crate::{IntrospectionSettings, token_cache::TokenDigest};

/// Concurrent requests about tokens that were valid before.
const KNOWN_SLOTS: usize = 8;

/// Concurrent requests about other tokens, shared by addresses.
const NEW_SLOTS: usize = 4;

/// Requests about other tokens from one address in [`BUDGET_TIME`].
const NEW_BUDGET: u32 = 100;

const BUDGET_TIME: Duration = Duration::from_secs(10);

/// Addresses whose budgets are kept. More start again from full budgets.
const MAX_ADDRESSES: usize = 4_096;

const MAX_WAIT: Duration = Duration::from_secs(5);

type IntrospectionResult = Result<Option<Arc<Map<String, Value>>>, AuthRefusal>;

pub(super) struct Introspector {
    flights: SingleFlight<TokenDigest, IntrospectionResult>,
    issuer: String,
    settings: IntrospectionSettings,
    http: Arc<IssuerHttp>,
    known: Semaphore,
    new: FairSemaphore,
    budgets: Mutex<RequestBudgets>,
}

/// Budgets of addresses.
#[derive(Default)]
struct RequestBudgets(HashMap<IpAddr, RequestBudget>);

struct RequestBudget {
    began: Instant,
    used: u32,
}

impl RequestBudgets {
    fn take(&mut self, client: IpAddr) -> bool {
        if self.0.len() >= MAX_ADDRESSES && !self.0.contains_key(&client) {
            self.0.retain(|_, budget| budget.began.elapsed() < BUDGET_TIME);
            if self.0.len() >= MAX_ADDRESSES {
                self.0.clear();
            }
        }
        let full = || RequestBudget { began: Instant::now(), used: 0 };
        let budget = self.0.entry(client).or_insert_with(full);
        if budget.began.elapsed() >= BUDGET_TIME {
            *budget = full();
        }
        budget.used += 1;
        budget.used <= NEW_BUDGET
    }
}

/// Returns the address that has a budget: of IPv6 the first 64 bits, because a client chooses the others.
fn budget_address(client: IpAddr) -> IpAddr {
    match client.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) >> 64 << 64).into(),
        address @ IpAddr::V4(_) => address,
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
            new: FairSemaphore::new(NEW_SLOTS),
            budgets: Mutex::default(),
        }
    }

    /// Returns the claims of an active token. `None` if the issuer does not know it.
    pub(super) async fn introspect(
        self: &Arc<Self>,
        token: &str,
        digest: &TokenDigest,
        stranger: Option<IpAddr>,
    ) -> IntrospectionResult {
        let (this, token) = (Arc::clone(self), token.to_owned());
        self.flights.run(*digest, || async move { this.introspect_alone(&token, stranger).await }).await
    }

    async fn introspect_alone(&self, token: &str, stranger: Option<IpAddr>) -> IntrospectionResult {
        let busy = || AuthRefusal::Unavailable(format!("issuer '{}' is busy; try again later", self.issuer));
        let (_new, _known);
        match stranger.map(budget_address) {
            Some(address) => {
                if !lock(&self.budgets).take(address) {
                    return Err(busy());
                }
                let sharer = Principal::Named(address.to_string().into());
                let user = Arc::from("introspection");
                let slot = self.new.acquire(&sharer, &user);
                _new = timeout(MAX_WAIT, slot).await.map_err(|_| busy())?;
            }
            None => {
                let slot = timeout(MAX_WAIT, self.known.acquire()).await.map_err(|_| busy())?;
                _known = slot.map_err(|_| busy())?;
            }
        }
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
    async fn each_address_has_a_budget_that_is_full_again_after_a_while() {
        let mut budgets = RequestBudgets::default();
        let [greedy, neighbour, other] = ["2001:db8::1", "2001:db8::ffff:2", "2001:db8:0:1::1"]
            .map(|text| budget_address(text.parse().expect("an address")));
        assert_eq!(greedy, neighbour, "one network is one client");
        assert!((0..NEW_BUDGET).all(|_| budgets.take(greedy)));
        assert!(!budgets.take(neighbour) && budgets.take(other));
        tokio::time::advance(BUDGET_TIME).await;
        assert!(budgets.take(greedy));
    }
}
