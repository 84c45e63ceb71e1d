//! Credentials of HTTP clients: the token of the host, and whatever the authenticator knows. Without any, the server listens
//! only on loopback.

use std::{fmt, sync::Arc};

use gatehouse_core::ports::Authenticator;
use http::{HeaderMap, header::AUTHORIZATION};
use subtle::ConstantTimeEq;

/// A bearer token. `Debug` does not print its value.
#[derive(Clone)]
pub struct BearerToken(String);

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum BearerTokenError {
    #[error("GATEHOUSE_TOKEN must have at least 16 characters; make one with `openssl rand -hex 32`")]
    TooShort,
    #[error("GATEHOUSE_TOKEN must be printable ASCII without spaces")]
    InvalidCharacters,
}

impl BearerToken {
    pub fn new(value: String) -> Result<Self, BearerTokenError> {
        match value.len() {
            0..16 => Err(BearerTokenError::TooShort),
            _ if !value.chars().all(|c| c.is_ascii_graphic()) => Err(BearerTokenError::InvalidCharacters),
            _ => Ok(Self(value)),
        }
    }

    /// Whether this is the token. Equally long tokens compare in constant time.
    pub(crate) fn is(&self, candidate: &str) -> bool {
        candidate.as_bytes().ct_eq(self.0.as_bytes()).into()
    }
}

/// Returns the bearer token of a request. `None` if there is none, or more than one.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let mut values = headers.get_all(AUTHORIZATION).iter();
    let header = values.next().filter(|_| values.next().is_none())?.to_str().ok()?;
    let (scheme, token) = header.split_once(' ')?;
    let token = token.trim();
    (scheme.eq_ignore_ascii_case("bearer") && !token.is_empty()).then_some(token)
}

/// How clients prove who they are.
#[derive(Clone, Default)]
pub struct Credentials {
    /// The token of the host. Its caller is the principal `token`.
    pub token: Option<BearerToken>,
    /// Keys and tokens of issuers.
    pub authenticator: Option<Arc<dyn Authenticator>>,
}

impl Credentials {
    /// Whether every client needs a credential.
    pub(crate) fn are_required(&self) -> bool {
        self.token.is_some() || self.authenticator.is_some()
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_bearer_comes_in() {
        let token = BearerToken::new("0123456789abcdef".into()).expect("long enough");
        let with =
            |value: &'static str| HeaderMap::from_iter([(AUTHORIZATION, value.parse().expect("header"))]);
        let admits = |headers: &HeaderMap| bearer(headers).is_some_and(|given| token.is(given));
        assert!(admits(&with("Bearer 0123456789abcdef")));
        assert!(admits(&with("bearer 0123456789abcdef")));
        for wrong in [
            "Bearer 0123456789abcdeF",
            "Bearer ",
            "0123456789abcdef",
            "Basic 0123456789abcdef",
            "Bearer 0123456789abcdef0",
        ] {
            assert!(!admits(&with(wrong)), "{wrong}");
        }
        assert!(!admits(&HeaderMap::new()));
        assert!(BearerToken::new("short".into()).is_err());
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
