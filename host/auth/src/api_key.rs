//! The text of an API key: `ghk_ID_SECRET`. The identifier is public, and the secret has 256 random bits. Both are
//! hexadecimal, so a double click selects the whole key.

use gatehouse_core::{Fault, hash::hex, ports::keys::KeySecret};
use gatehouse_net::random_bytes;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

pub(crate) const PREFIX: &str = "ghk_";

const ID_LENGTH: usize = 12;

const SECRET_LENGTH: usize = 64;

const MAX_NAME: usize = 64;

/// Returns true if `name` can name a key: `[a-z0-9-]{1,64}`.
pub fn is_key_name(name: &str) -> bool {
    let letter = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=MAX_NAME).contains(&name.len()) && name.bytes().all(letter)
}

/// A parsed key. Never printed.
pub struct ApiKey<'a> {
    pub id: &'a str,
    secret: &'a str,
}

impl<'a> ApiKey<'a> {
    /// Parses a key. `None` if it has another form.
    pub fn parse(token: &'a str) -> Option<Self> {
        let (id, secret) = token.strip_prefix(PREFIX)?.split_once('_')?;
        let digits = |text: &str, length: usize| {
            text.len() == length && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        };
        (digits(id, ID_LENGTH) && digits(secret, SECRET_LENGTH)).then_some(Self { id, secret })
    }

    /// Compares the secret with a stored hash, in constant time.
    pub fn matches(&self, hash: &[u8; 32]) -> bool {
        Sha256::digest(self.secret).ct_eq(hash).into()
    }
}

/// A new key: the text for its user, and the secret's record for the store.
pub struct NewApiKey {
    pub token: String,
    pub secret: KeySecret,
}

impl NewApiKey {
    /// Creates a key. Fails with `internal` if the system has no random numbers.
    pub fn generate(now_ms: u64) -> Result<Self, Fault> {
        let id = hex(random_bytes::<{ ID_LENGTH / 2 }>()?);
        let secret = hex(random_bytes::<{ SECRET_LENGTH / 2 }>()?);
        let hash = Sha256::digest(&secret).into();
        let token = format!("{PREFIX}{id}_{secret}");
        let secret = KeySecret { id, hash, created_at: now_ms, expires_at: None, last_used_at: None };
        Ok(Self { token, secret })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_key_is_parsed_and_matches_only_its_own_hash() {
        let (one, other) = (NewApiKey::generate(7).expect("a key"), NewApiKey::generate(7).expect("a key"));
        let parsed = ApiKey::parse(&one.token).expect("a key");
        assert_eq!((parsed.id, one.secret.created_at), (one.secret.id.as_str(), 7));
        assert!(parsed.matches(&one.secret.hash));
        assert!(!parsed.matches(&other.secret.hash));
        assert_ne!(one.token, other.token);
    }

    #[test]
    fn other_forms_are_not_keys() {
        let token = NewApiKey::generate(0).expect("a key").token;
        for bad in [
            "",
            "ghk_",
            "ghk_a_b",
            &token[4..],
            &token[..token.len() - 1],
            &format!("{token}0"),
            &token.to_uppercase(),
            &token.replace("ghk_", "ghk_ghk_"),
            &format!("ghk_{}", token.rsplit('_').next().unwrap_or_default()),
        ] {
            assert!(ApiKey::parse(bad).is_none(), "{bad}");
        }
    }

    #[test]
    fn names_are_short_words() {
        for good in ["ci", "a", "build-1", &"x".repeat(64)] {
            assert!(is_key_name(good), "{good}");
        }
        for bad in ["", "CI", "a b", "a_b", "a:b", "key:*", "ä", &"x".repeat(65)] {
            assert!(!is_key_name(bad), "{bad}");
        }
    }
}
