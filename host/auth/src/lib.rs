//! Bearer tokens: the caller that an API key or an OAuth access token belongs to.
//!
//! [`HostAuthenticator`] implements the port `Authenticator` of `gatehouse-core`. API keys come from a `KeyStore`, and
//! access tokens are verified with the keys of their issuer, or by asking it. The crate knows neither HTTP servers,
//! presets, databases nor access rules.

mod api_key;
mod authenticator;
mod issuers;
mod key_table;
mod token_cache;

use gatehouse_core::Caller;

pub use api_key::{ApiKey, NewApiKey, is_key_name};
pub use authenticator::{
    AuthSettings, HostAuthenticator, IntrospectionSettings, IssuerSettings, SigningAlgorithm,
};
pub use gatehouse_net::Url;

/// Returns true if two callers have the same identity and limits.
fn is_same_caller(one: &Caller, other: &Caller) -> bool {
    one.principal == other.principal
        && one.groups == other.groups
        && one.presets == other.presets
        && one.effect == other.effect
        && one.credential == other.credential
        && one.expires_at == other.expires_at
}
