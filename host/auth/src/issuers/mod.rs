//! Issuers of access tokens: an OAuth 2.1 resource server.
//!
//! A JSON Web Token is verified with the keys of the issuer that it names, if that issuer is configured; no other address
//! is ever contacted. A token of another form is sent to the introspection endpoint of the one issuer that has one.

mod claims;
mod http;
mod introspection;
mod issuer_keys;
mod key_set;

use std::{net::IpAddr, sync::Arc};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use gatehouse_core::ports::{
    Clock,
    auth::{AuthRefusal, ProtectedResource},
};
use jsonwebtoken::{Algorithm, Validation};
use serde::Deserialize;
use serde_json::{Map, Value};

pub(crate) use self::claims::{CLOCK_SKEW_MS, VerifiedToken};
use self::{claims::TokenClaims, http::IssuerHttp, introspection::Introspector, issuer_keys::IssuerKeys};
use crate::{AuthSettings, IssuerSettings, token_cache::TokenDigest};

/// Maximum bytes of a token of another form than a JSON Web Token, which is sent to the issuer.
const MAX_OPAQUE: usize = 4_096;

pub(crate) struct IssuerList {
    issuers: Vec<TokenIssuer>,
    base_url: String,
    clock: Arc<dyn Clock>,
}

struct TokenIssuer {
    settings: Arc<IssuerSettings>,
    keys: Arc<IssuerKeys>,
    introspector: Option<Arc<Introspector>>,
}

/// The issuer that an unverified token names.
#[derive(Deserialize)]
struct NamedIssuer {
    iss: Option<String>,
}

fn invalid(reason: &str) -> AuthRefusal {
    AuthRefusal::Invalid(reason.to_owned())
}

impl IssuerList {
    pub(crate) fn new(settings: &AuthSettings, clock: Arc<dyn Clock>) -> Self {
        key_set::install_provider();
        let http = Arc::new(IssuerHttp::default());
        let issuers = settings.issuers.iter().map(|issuer| {
            let settings = Arc::new(issuer.clone());
            let keys = Arc::new(IssuerKeys::new(Arc::clone(&settings), Arc::clone(&http)));
            let introspector = issuer.introspection.clone().map(|introspection| {
                Arc::new(Introspector::new(&issuer.name, introspection, Arc::clone(&http)))
            });
            TokenIssuer { settings, keys, introspector }
        });
        let base_url = settings.base_url.clone().unwrap_or_default();
        Self { issuers: issuers.collect(), base_url, clock }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.issuers.is_empty()
    }

    /// Verifies a token. `stranger` is the address of the client, or `None` if the token was valid before.
    pub(crate) async fn verify(
        &self,
        token: &str,
        digest: &TokenDigest,
        stranger: Option<IpAddr>,
    ) -> Result<VerifiedToken, AuthRefusal> {
        if has_jwt_header(token) {
            self.verify_jwt(token, digest).await
        } else {
            self.introspect(token, digest, stranger).await
        }
    }

    /// Checks that a verified token is for the resource, and then that it has a scope.
    pub(crate) fn check_resource(
        &self,
        token: &VerifiedToken,
        resource: ProtectedResource<'_>,
    ) -> Result<(), AuthRefusal> {
        if !token.is_for(&self.base_url, resource) {
            return Err(invalid("the token is for another audience"));
        }
        if token.missing_scopes.is_empty() {
            return Ok(());
        }
        Err(AuthRefusal::InsufficientScope(token.missing_scopes.clone()))
    }

    async fn verify_jwt(&self, token: &str, digest: &TokenDigest) -> Result<VerifiedToken, AuthRefusal> {
        // `alg` has an unknown value, such as `none`, if this fails.
        let header = jsonwebtoken::decode_header(token)
            .map_err(|_| invalid("the token has a malformed header, or an unsupported algorithm"))?;
        claims::check_header(&header)?;
        let named = jsonwebtoken::dangerous::insecure_decode_claims::<NamedIssuer>(token);
        let named = named.map_err(|_| invalid("the token has malformed claims"))?.iss.unwrap_or_default();
        let issuer = self.issuers.iter().find(|issuer| issuer.settings.issuer == named);
        let issuer = issuer.ok_or_else(|| invalid("the token is from an unknown issuer"))?;
        let allowed =
            |algorithm: Algorithm| issuer.settings.algorithms.iter().any(|entry| entry.0 == algorithm);
        if !allowed(header.alg) {
            return Err(invalid("the token is signed with an algorithm that is not allowed"));
        }
        let keys = issuer.keys.find(header.alg, header.kid.as_deref()).await?;
        let validation = signature_only(header.alg);
        let verified = keys
            .iter()
            .find_map(|key| jsonwebtoken::decode::<Map<String, Value>>(token, key, &validation).ok());
        let verified = verified.ok_or_else(|| invalid("the token has an invalid signature"))?;
        let claims = TokenClaims::from_jwt(verified.claims, &verified.header);
        claims.verify(&issuer.settings, digest, self.clock.now_ms())
    }

    async fn introspect(
        &self,
        token: &str,
        digest: &TokenDigest,
        stranger: Option<IpAddr>,
    ) -> Result<VerifiedToken, AuthRefusal> {
        let unknown = || invalid("unknown token");
        let is_text = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte);
        if token.is_empty() || token.len() > MAX_OPAQUE || !token.bytes().all(is_text) {
            return Err(unknown());
        }
        let introspected =
            self.issuers.iter().find_map(|issuer| Some((issuer, issuer.introspector.as_ref()?)));
        let (issuer, introspector) = introspected.ok_or_else(unknown)?;
        let claims = introspector.introspect(token, digest, stranger).await?.ok_or_else(unknown)?;
        let claims = TokenClaims::from_introspection((*claims).clone());
        claims.verify(&issuer.settings, digest, self.clock.now_ms())
    }
}

/// Returns true if the token has three parts, of which the first is an object in base64url.
fn has_jwt_header(token: &str) -> bool {
    let mut parts = token.split('.');
    let (Some(header), 2) = (parts.next(), parts.count()) else { return false };
    let header = URL_SAFE_NO_PAD.decode(header);
    header.is_ok_and(|header| serde_json::from_slice::<Map<String, Value>>(&header).is_ok())
}

/// Returns settings that check only the signature. Claims are checked by [`TokenClaims`], whose clock can be set.
fn signature_only(algorithm: Algorithm) -> Validation {
    let mut validation = Validation::new(algorithm);
    validation.required_spec_claims.clear();
    validation.validate_exp = false;
    validation.validate_nbf = false;
    validation.validate_aud = false;
    validation
}
