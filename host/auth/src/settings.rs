//! Settings of `[auth]`.

use std::collections::BTreeMap;

use gatehouse_core::{Effect, http::Secret};
use gatehouse_net::Url;
use jsonwebtoken::{Algorithm, AlgorithmFamily};

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
