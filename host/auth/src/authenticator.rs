//! The authenticator of a host.

use std::{collections::BTreeSet, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    Caller,
    ports::{
        Authenticator, Clock, KeyStore,
        auth::{AuthRefusal, ProtectedResource, ResourceMetadata},
    },
};
use sha2::{Digest as _, Sha256};

use crate::{
    AuthSettings,
    api_key::PREFIX,
    issuers::{CLOCK_SKEW_MS, IssuerList, VerifiedToken},
    key_table::KeyTable,
    token_cache::TokenCache,
};

/// Maximum bytes of a token.
const MAX_TOKEN: usize = 16 << 10;

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
    ) -> Result<Arc<Caller>, AuthRefusal> {
        let digest = Sha256::digest(token).into();
        // The cache counts time that stops while the machine sleeps, so also look at the clock.
        let now = self.clock.now_ms();
        let is_current = |verified: &Arc<VerifiedToken>| {
            verified.expires_at.is_none_or(|end| end.saturating_add(CLOCK_SKEW_MS) > now)
        };
        let verified = match self.cache.fresh(&digest).filter(is_current) {
            Some(verified) => verified,
            None => {
                let checked = self.issuers.verify(token, &digest, self.cache.knows(&digest)).await;
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
        self.access_token(token, resource).await
    }

    fn metadata(&self) -> Option<&ResourceMetadata> {
        self.metadata.as_ref()
    }
}
