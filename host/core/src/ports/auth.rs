//! Verification of bearer tokens.

use std::{net::IpAddr, sync::Arc};

use async_trait::async_trait;

use crate::Caller;

/// Why a token was refused. The texts go to clients, so they never quote a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum AuthRefusal {
    /// The token is malformed, unknown, expired, revoked, or for another audience.
    #[error("{0}")]
    Invalid(String),
    /// The token is valid, but lacks these scopes.
    #[error("the token lacks the scopes {}", .0.join(", "))]
    InsufficientScope(Vec<String>),
    /// The token cannot be checked now, because a store or an issuer does not answer.
    #[error("{0}")]
    Unavailable(String),
}

/// The protected resource that a request names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProtectedResource<'a> {
    /// The preset at `/mcp`.
    Default,
    /// The preset at `/mcp/p/NAME`.
    Preset(&'a str),
    /// Any resource of this host, for pages that only need the caller's identity.
    Any,
}

impl ProtectedResource<'_> {
    /// Returns the path of the resource on this host, as it is in URLs.
    pub fn path(self) -> String {
        let Self::Preset(name) = self else { return "/mcp".to_owned() };
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        let escape =
            |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
        let name: String = name.bytes().map(escape).collect();
        format!("/mcp/p/{name}")
    }
}

/// Metadata of RFC 9728 that does not depend on the resource.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ResourceMetadata {
    /// Address of this host for clients, without a path, such as `https://tools.example.com`.
    pub base_url: String,
    /// Issuers whose tokens are accepted.
    pub authorization_servers: Vec<String>,
    pub scopes: Vec<String>,
}

#[async_trait]
pub trait Authenticator: Send + Sync {
    /// Returns the caller whose token this is. The same token gives the same `Arc` for some time, so that others can
    /// keep facts about it. `client` is the address of the client, for limits.
    async fn authenticate(
        &self,
        token: &str,
        resource: ProtectedResource<'_>,
        client: IpAddr,
    ) -> Result<Arc<Caller>, AuthRefusal>;

    /// Returns the metadata for clients that sign in. `None` if no issuer is configured.
    fn metadata(&self) -> Option<&ResourceMetadata>;
}
