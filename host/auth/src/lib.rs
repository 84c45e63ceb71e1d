//! Bearer tokens: the caller that an API key or an OAuth access token belongs to.

mod api_key;
mod issuers;
mod key_table;
mod settings;

use gatehouse_core::Caller;

pub use api_key::{ApiKey, NewApiKey, is_key_name};
pub use gatehouse_net::Url;
pub use settings::{AuthSettings, IntrospectionSettings, IssuerSettings, SigningAlgorithm};

/// Returns true if two callers have the same identity and limits.
fn is_same_caller(one: &Caller, other: &Caller) -> bool {
    one.principal == other.principal
        && one.groups == other.groups
        && one.presets == other.presets
        && one.effect == other.effect
        && one.credential == other.credential
        && one.expires_at == other.expires_at
}
