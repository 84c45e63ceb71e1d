//! The authenticator of a host, and its settings, `[auth]`.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::IpAddr,
    sync::Arc,
};

use async_trait::async_trait;
use gatehouse_core::{
    Caller, Effect,
    http::Secret,
    ports::{
        Authenticator, Clock, KeyStore,
        auth::{AuthRefusal, ProtectedResource, ResourceMetadata},
    },
};
use gatehouse_net::Url;
use jsonwebtoken::{Algorithm, AlgorithmFamily};
use sha2::{Digest as _, Sha256};

use crate::{
    api_key::PREFIX,
    issuers::{CLOCK_SKEW_MS, IssuerList, VerifiedToken},
    key_table::KeyTable,
    token_cache::TokenCache,
};

/// Maximum bytes of a token.
const MAX_TOKEN: usize = 16 << 10;

#[derive(Debug, Clone, Default, PartialEq)]
pub struct AuthSettings {
    /// True if `GATEHOUSE_TOKEN` is accepted as well.
    pub token: bool,
    /// Address of this host for clients, without a path and without a final slash. Issuers require it.
    pub base_url: Option<String>,
    /// At most one has introspection: an opaque token does not name its issuer, and no other may see it.
    pub issuers: Vec<IssuerSettings>,
}

/// An issuer of access tokens, `[auth.issuers.NAME]`.
#[derive(Debug, Clone, PartialEq)]
pub struct IssuerSettings {
    /// Prefix of its principals.
    pub name: String,
    /// The issuer's identifier, compared as text.
    pub issuer: String,
    /// The only audience that is accepted. `None` for the URL of the resource, or of the host.
    pub audience: Option<String>,
    /// Name of a claim, or JSON pointer to one.
    pub user_claim: String,
    pub groups_claim: String,
    pub algorithms: Vec<SigningAlgorithm>,
    /// Effect limit by scope. Empty if scopes do not matter.
    pub scopes: BTreeMap<String, Effect>,
    pub introspection: Option<IntrospectionSettings>,
}

/// Access to the introspection endpoint (RFC 7662) of an issuer with opaque tokens.
#[derive(Debug, Clone, PartialEq)]
pub struct IntrospectionSettings {
    pub url: Url,
    pub client_id: String,
    /// The secret, or the environment variable that should have it but is not set.
    pub client_secret: Result<Secret, String>,
}

/// An asymmetric algorithm of JSON Web Signatures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SigningAlgorithm(pub(crate) Algorithm);

impl SigningAlgorithm {
    /// Algorithms that an issuer may use if it is not configured.
    pub const DEFAULTS: [Self; 4] =
        [Self(Algorithm::RS256), Self(Algorithm::PS256), Self(Algorithm::ES256), Self(Algorithm::EdDSA)];

    /// Names of all supported algorithms.
    pub const NAMES: [&str; 9] =
        ["RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "EdDSA"];

    /// Parses a name. `None` for symmetric and unknown algorithms.
    pub fn parse(name: &str) -> Option<Self> {
        let algorithm: Algorithm = name.parse().ok()?;
        (algorithm.family() != AlgorithmFamily::Hmac).then_some(Self(algorithm))
    }
}

/// Verifies API keys, and access tokens of the configured issuers. Opens and requests nothing before the first token.
pub struct HostAuthenticator {
    keys: Arc<KeyTable>,
    issuers: IssuerList,
    cache: Arc<TokenCache>,
    clock: Arc<dyn Clock>,
    metadata: Option<ResourceMetadata>,
}

impl HostAuthenticator {
    pub fn new(settings: &AuthSettings, keys: Arc<dyn KeyStore>, clock: Arc<dyn Clock>) -> Self {
        let scopes: BTreeSet<&String> =
            settings.issuers.iter().flat_map(|issuer| issuer.scopes.keys()).collect();
        let metadata = ResourceMetadata {
            base_url: settings.base_url.clone().unwrap_or_default(),
            authorization_servers: settings.issuers.iter().map(|issuer| issuer.issuer.clone()).collect(),
            scopes: scopes.into_iter().cloned().collect(),
        };
        Self {
            keys: Arc::new(KeyTable::new(keys, Arc::clone(&clock))),
            issuers: IssuerList::new(settings, Arc::clone(&clock)),
            cache: Arc::default(),
            clock,
            metadata: (!settings.issuers.is_empty()).then_some(metadata),
        }
    }

    async fn access_token(
        &self,
        token: &str,
        resource: ProtectedResource<'_>,
        client: IpAddr,
    ) -> Result<Arc<Caller>, AuthRefusal> {
        let digest = Sha256::digest(token).into();
        // The cache counts time that stops while the machine sleeps, so also look at the clock.
        let now = self.clock.now_ms();
        let is_current = |verified: &Arc<VerifiedToken>| {
            verified.expires_at.is_none_or(|end| end.saturating_add(CLOCK_SKEW_MS) > now)
        };
        let cached = self.cache.fresh(&digest).filter(is_current);
        gatehouse_telemetry::record_cache_use("tokens", cached.is_some());
        let verified = match cached {
            Some(verified) => verified,
            None => {
                // A token that was valid before is not one that a stranger made up.
                let stranger = (!self.cache.knows(&digest)).then_some(client);
                let checked = self.issuers.verify(token, &digest, stranger).await;
                let verified = checked.inspect_err(|refusal| {
                    if !matches!(refusal, AuthRefusal::Unavailable(_)) {
                        self.cache.remove(&digest);
                    }
                })?;
                self.cache.insert(digest, verified, &self.clock)
            }
        };
        self.issuers.check_resource(&verified, resource)?;
        Ok(Arc::clone(&verified.caller))
    }
}

#[async_trait]
impl Authenticator for HostAuthenticator {
    async fn authenticate(
        &self,
        token: &str,
        resource: ProtectedResource<'_>,
        client: IpAddr,
    ) -> Result<Arc<Caller>, AuthRefusal> {
        if token.len() > MAX_TOKEN {
            return Err(AuthRefusal::Invalid("the token is too long".into()));
        }
        if token.starts_with(PREFIX) {
            return self.keys.authenticate(token).await;
        }
        if self.issuers.is_empty() {
            return Err(AuthRefusal::Invalid("unknown token".into()));
        }
        self.access_token(token, resource, client).await
    }

    fn metadata(&self) -> Option<&ResourceMetadata> {
        self.metadata.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_asymmetric_algorithms_are_accepted() {
        assert!(SigningAlgorithm::NAMES.iter().all(|name| SigningAlgorithm::parse(name).is_some()));
        for name in ["HS256", "HS384", "HS512", "none", "None", "rs256", ""] {
            assert_eq!(SigningAlgorithm::parse(name), None, "{name}");
        }
    }
}
