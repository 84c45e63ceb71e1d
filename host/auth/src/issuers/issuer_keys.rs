//! The keys of one issuer, fetched when a token needs them.
//!
//! Keys are used for 10 minutes without a question. Older keys are fetched again, and still used for 24 hours if that
//! fails. A token with an unknown key makes the host fetch, but at most once in 30 s, so made-up tokens cannot make the
//! host flood an issuer.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Fault, lock, ports::auth::AuthRefusal, single_flight::SingleFlight};
use jsonwebtoken::{Algorithm, DecodingKey};
use tokio::time::{Instant, timeout};

use super::{http::IssuerHttp, invalid, key_set::KeySet, metadata};
use crate::IssuerSettings;

const FRESH_TIME: Duration = Duration::from_secs(600);

const MAX_AGE: Duration = Duration::from_secs(24 * 3_600);

/// Maximum time that a token waits for newer keys, if older ones may verify it.
const MAX_WAIT: Duration = Duration::from_secs(2);

/// Pause between two fetches.
const FETCH_INTERVAL: Duration = Duration::from_secs(30);

/// Pause between two fetches as long as no fetch has succeeded.
const FIRST_FETCH_INTERVAL: Duration = Duration::from_secs(5);

pub(super) struct IssuerKeys {
    source: Arc<KeySource>,
    flights: SingleFlight<(), ()>,
}

struct KeySource {
    settings: Arc<IssuerSettings>,
    http: Arc<IssuerHttp>,
    state: Mutex<KeyState>,
}

#[derive(Default)]
struct KeyState {
    keys: Option<(Arc<KeySet>, Instant)>,
    tried: Option<Instant>,
}

impl IssuerKeys {
    pub(super) fn new(settings: Arc<IssuerSettings>, http: Arc<IssuerHttp>) -> Self {
        let source = Arc::new(KeySource { settings, http, state: Mutex::default() });
        Self { source, flights: SingleFlight::default() }
    }

    /// Returns the keys that may have signed a token, at least one.
    pub(super) async fn find(
        &self,
        algorithm: Algorithm,
        kid: Option<&str>,
    ) -> Result<Vec<DecodingKey>, AuthRefusal> {
        let known = self.source.keys(FRESH_TIME).map(|keys| keys.find(algorithm, kid)).unwrap_or_default();
        if !known.is_empty() {
            return Ok(known);
        }
        let source = Arc::clone(&self.source);
        // A task of its own continues if the client that sent the token disconnects.
        let fetch = || async move {
            let _ended = tokio::spawn(async move { source.fetch_if_due().await }).await;
        };
        let stale = self.source.keys(MAX_AGE).map(|keys| keys.find(algorithm, kid)).unwrap_or_default();
        let fetched = self.flights.run((), fetch);
        if stale.is_empty() {
            fetched.await;
        } else if timeout(MAX_WAIT, fetched).await.is_err() {
            // The issuer hangs. The fetch continues in its task.
            return Ok(stale);
        }
        let Some(keys) = self.source.keys(MAX_AGE) else {
            let name = &self.source.settings.name;
            let why = format!("the keys of issuer '{name}' cannot be fetched now; try again later");
            return Err(AuthRefusal::Unavailable(why));
        };
        let found = keys.find(algorithm, kid);
        if found.is_empty() { Err(invalid("the token is signed with an unknown key")) } else { Ok(found) }
    }
}

impl KeySource {
    fn keys(&self, max_age: Duration) -> Option<Arc<KeySet>> {
        let state = lock(&self.state);
        let (keys, fetched) = state.keys.as_ref()?;
        (fetched.elapsed() < max_age).then(|| Arc::clone(keys))
    }

    async fn fetch_if_due(&self) {
        let started = Instant::now();
        {
            let mut state = lock(&self.state);
            let interval = if state.keys.is_some() { FETCH_INTERVAL } else { FIRST_FETCH_INTERVAL };
            if state.tried.is_some_and(|tried| started - tried < interval) {
                return;
            }
            state.tried = Some(started);
        }
        match self.fetch().await {
            Ok(keys) => lock(&self.state).keys = Some((Arc::new(keys), started)),
            Err(fault) => {
                let name = &self.settings.name;
                tracing::warn!("cannot fetch the keys of issuer '{name}': {}", fault.in_one_line());
            }
        }
    }

    async fn fetch(&self) -> Result<KeySet, Fault> {
        let url = metadata::jwks_url(&self.http, &self.settings.issuer).await?;
        let keys = KeySet::read(&self.http.get(&url).await?);
        // An empty set would lock out every user until the next fetch.
        if keys.is_empty() { Err(Fault::unavailable("its key set has no usable key")) } else { Ok(keys) }
    }
}
