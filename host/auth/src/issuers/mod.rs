//! Issuers of access tokens.

mod http;
mod issuer_keys;
mod key_set;
mod metadata;
mod signature;

use gatehouse_core::ports::auth::AuthRefusal;

fn invalid(why: &str) -> AuthRefusal {
    AuthRefusal::Invalid(why.to_owned())
}
