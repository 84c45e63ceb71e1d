//! Bearer token authentication over HTTP. Without a token, the server listens only on loopback.

use std::fmt;

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

    /// True if the request has this token. Equally long tokens compare in constant time.
    pub(crate) fn admits(&self, headers: &HeaderMap) -> bool {
        let mut values = headers.get_all(AUTHORIZATION).iter();
        let given = values.next().filter(|_| values.next().is_none()).and_then(|value| value.to_str().ok());
        let bearer = given.and_then(|value| {
            let (scheme, token) = value.split_once(' ')?;
            scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
        });
        bearer.is_some_and(|token| token.as_bytes().ct_eq(self.0.as_bytes()).into())
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
        assert!(token.admits(&with("Bearer 0123456789abcdef")));
        assert!(token.admits(&with("bearer 0123456789abcdef")));
        for wrong in [
            "Bearer 0123456789abcdeF",
            "Bearer ",
            "0123456789abcdef",
            "Basic 0123456789abcdef",
            "Bearer 0123456789abcdef0",
        ] {
            assert!(!token.admits(&with(wrong)), "{wrong}");
        }
        assert!(!token.admits(&HeaderMap::new()));
        assert!(BearerToken::new("short".into()).is_err());
        assert_eq!(format!("{token:?}"), "Token(…)");
    }
}
