//! The keys of one issuer, fetched when a token needs them from where its metadata says (RFC 8414, and OpenID Connect
//! Discovery).
//!
//! Keys are used for 10 minutes without a question. Older keys are fetched again, and still used for 24 hours if that
//! fails. A token with an unknown key makes the host fetch, but at most once in 30 s, so made-up tokens cannot make the
//! host flood an issuer.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{Fault, lock, names::quoted, ports::auth::AuthRefusal, single_flight::SingleFlight};
use gatehouse_net::Url;
use jsonwebtoken::{Algorithm, DecodingKey};
use serde_json::Value;
use tokio::time::{Instant, timeout};

use super::{http::IssuerHttp, invalid, key_set::KeySet};
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
    settings: Arc<IssuerSettings>,
    http: Arc<IssuerHttp>,
    state: Mutex<KeyState>,
    flights: SingleFlight<(), ()>,
}

#[derive(Default)]
struct KeyState {
    keys: Option<(Arc<KeySet>, Instant)>,
    tried: Option<Instant>,
}

impl IssuerKeys {
    pub(super) fn new(settings: Arc<IssuerSettings>, http: Arc<IssuerHttp>) -> Self {
        Self { settings, http, state: Mutex::default(), flights: SingleFlight::default() }
    }

    /// Returns the keys that may have signed a token, at least one.
    pub(super) async fn find(
        self: &Arc<Self>,
        algorithm: Algorithm,
        kid: Option<&str>,
    ) -> Result<Vec<DecodingKey>, AuthRefusal> {
        let fresh_keys = self.keys(FRESH_TIME).map(|keys| keys.find(algorithm, kid)).unwrap_or_default();
        if !fresh_keys.is_empty() {
            return Ok(fresh_keys);
        }
        let this = Arc::clone(self);
        // A task of its own continues if the client that sent the token disconnects.
        let fetch = || async move {
            let _ended = tokio::spawn(async move { this.fetch_if_due().await }).await;
        };
        let stale = self.keys(MAX_AGE).map(|keys| keys.find(algorithm, kid)).unwrap_or_default();
        let fetched = self.flights.run((), fetch);
        if stale.is_empty() {
            fetched.await;
        } else if timeout(MAX_WAIT, fetched).await.is_err() {
            // The issuer hangs. The fetch continues in its task.
            return Ok(stale);
        }
        let Some(keys) = self.keys(MAX_AGE) else {
            let name = &self.settings.name;
            let reason = format!("the keys of issuer '{name}' cannot be fetched now; try again later");
            return Err(AuthRefusal::Unavailable(reason));
        };
        let matching_keys = keys.find(algorithm, kid);
        if matching_keys.is_empty() {
            Err(invalid("the token is signed with an unknown key"))
        } else {
            Ok(matching_keys)
        }
    }

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
        let url = jwks_url(&self.http, &self.settings.issuer).await?;
        let keys = KeySet::read(&self.http.get(&url).await?);
        // An empty set would lock out every user until the next fetch.
        if keys.is_empty() { Err(Fault::unavailable("its key set has no usable key")) } else { Ok(keys) }
    }
}

/// Finds the address of the issuer's keys. The metadata must name the configured issuer.
async fn jwks_url(http: &IssuerHttp, issuer: &str) -> Result<Url, Fault> {
    let address = Url::parse(issuer).map_err(|_| Fault::invalid("the issuer is not a URL"))?;
    let mut failure = None;
    for url in candidates(&address) {
        let checked = match http.get(&url).await {
            Ok(document) => {
                let text = |name: &str| document.get(name).and_then(Value::as_str).unwrap_or_default();
                check(&address, issuer, text("issuer"), text("jwks_uri"))
            }
            Err(fault) => Err(fault),
        };
        match checked {
            Ok(url) => return Ok(url),
            // The first failure explains most: the other addresses are for other kinds of issuers.
            Err(fault) => failure = failure.or(Some(fault)),
        }
    }
    Err(failure.unwrap_or_else(|| Fault::internal("the issuer has no metadata address")))
}

/// Returns the addresses of the metadata, in the order of MCP.
fn candidates(issuer: &Url) -> Vec<Url> {
    let path = issuer.path().trim_end_matches('/');
    let mut paths = vec![
        format!("/.well-known/oauth-authorization-server{path}"),
        format!("/.well-known/openid-configuration{path}"),
    ];
    if !path.is_empty() {
        paths.push(format!("{path}/.well-known/openid-configuration"));
    }
    let url = |path: String| {
        let mut url = issuer.clone();
        url.set_path(&path);
        url.set_query(None);
        url
    };
    paths.into_iter().map(url).collect()
}

fn check(address: &Url, issuer: &str, named: &str, keys: &str) -> Result<Url, Fault> {
    if named != issuer {
        let (named, issuer) = (quoted(named, 200), quoted(issuer, 200));
        return Err(Fault::denied(format!("the metadata of '{issuer}' is of the issuer '{named}'")));
    }
    let refused = || Fault::denied(format!("its jwks_uri '{}' is not an https address", quoted(keys, 200)));
    let url = Url::parse(keys).map_err(|_| refused())?;
    // A local issuer over plain HTTP has local keys.
    let local = address.scheme() == "http" && url.scheme() == "http" && url.host() == address.host();
    if url.scheme() == "https" || local { Ok(url) } else { Err(refused()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(issuer: &str) -> Vec<String> {
        candidates(&Url::parse(issuer).expect("a URL")).into_iter().map(String::from).collect()
    }

    #[test]
    fn the_addresses_are_those_of_mcp() {
        let root = [
            "https://a.example/.well-known/oauth-authorization-server",
            "https://a.example/.well-known/openid-configuration",
        ];
        assert_eq!(shown("https://a.example"), root);
        assert_eq!(shown("https://a.example/"), root);
        assert_eq!(
            shown("https://a.example/t/1"),
            [
                "https://a.example/.well-known/oauth-authorization-server/t/1",
                "https://a.example/.well-known/openid-configuration/t/1",
                "https://a.example/t/1/.well-known/openid-configuration",
            ]
        );
    }

    #[test]
    fn metadata_names_its_issuer_and_keys_over_https() {
        let checked = |issuer: &str, named: &str, keys: &str| {
            check(&Url::parse(issuer).expect("a URL"), issuer, named, keys).map(String::from)
        };
        let https = "https://a.example";
        assert_eq!(checked(https, https, "https://k.example/k").as_deref(), Ok("https://k.example/k"));
        assert!(checked(https, "https://b.example", "https://a.example/k").is_err());
        assert!(checked(https, "https://a.example/", "https://a.example/k").is_err(), "compared as text");
        for keys in ["http://a.example/k", "file:///etc/passwd", "", "http://127.0.0.1/k"] {
            assert!(checked(https, https, keys).is_err(), "{keys}");
        }
        let local = "http://127.0.0.1:9";
        assert!(checked(local, local, "http://127.0.0.1:9/k").is_ok());
        assert!(checked(local, local, "http://b.example/k").is_err());
    }
}
