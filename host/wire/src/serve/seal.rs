//! Sealed texts: state that clients keep for the host. They cannot read or change it, and it opens only for the principal
//! for which it was sealed.

use std::fmt;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use gatehouse_core::Principal;
use gatehouse_net::random_bytes;
use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};

/// Length of a key in bytes.
pub const SEAL_KEY_LEN: usize = 32;

/// Maximum length of a sealed text. Longer ones are not opened.
const MAX_SEALED_LEN: usize = 8 << 10;

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum SealError {
    #[error("the operating system gives no random numbers")]
    Random,
    #[error("there are no keys")]
    NoKeys,
}

/// Keys of a host, or of all hosts behind one address. The first one seals, and every one opens.
pub struct SealKeys(Vec<LessSafeKey>);

impl SealKeys {
    pub fn new(keys: &[[u8; SEAL_KEY_LEN]]) -> Result<Self, SealError> {
        let key =
            |bytes: &[u8; SEAL_KEY_LEN]| UnboundKey::new(&AES_256_GCM, bytes).ok().map(LessSafeKey::new);
        let keys: Vec<LessSafeKey> = keys.iter().filter_map(key).collect();
        if keys.is_empty() { Err(SealError::NoKeys) } else { Ok(Self(keys)) }
    }

    pub fn random_key() -> Result<[u8; SEAL_KEY_LEN], SealError> {
        random_bytes().map_err(|_| SealError::Random)
    }

    /// Seals a text for a principal, as URL-safe ASCII. `None` if the operating system gives no random numbers.
    pub(crate) fn seal(&self, text: &str, owner: &Principal) -> Option<String> {
        let nonce: [u8; NONCE_LEN] = random_bytes().ok()?;
        let mut sealed = text.as_bytes().to_vec();
        let key = self.0.first()?;
        key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), owner_context(owner), &mut sealed)
            .ok()?;
        Some(BASE64.encode([&nonce[..], &sealed].concat()))
    }

    /// Opens a text that was sealed for this principal.
    pub(crate) fn open(&self, sealed: &str, owner: &Principal) -> Option<String> {
        if sealed.len() > MAX_SEALED_LEN {
            return None;
        }
        let bytes = BASE64.decode(sealed).ok()?;
        let (nonce, sealed) = bytes.split_first_chunk::<NONCE_LEN>()?;
        self.0.iter().find_map(|key| {
            let mut text = sealed.to_vec();
            let nonce = Nonce::assume_unique_for_key(*nonce);
            let text = key.open_in_place(nonce, owner_context(owner), &mut text).ok()?;
            String::from_utf8(text.to_vec()).ok()
        })
    }
}

impl fmt::Debug for SealKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SealKeys(…)")
    }
}

/// Returns the text that binds a seal to its owner. The first letter keeps a principal named `local` apart from the
/// local user.
fn owner_context(owner: &Principal) -> Aad<String> {
    Aad::from(match owner {
        Principal::Local => "l".to_owned(),
        Principal::Named(name) => format!("n{name}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Principal {
        Principal::Named(name.into())
    }

    #[test]
    fn a_seal_opens_only_for_its_owner_and_unchanged() {
        let keys = SealKeys::new(&[[7; SEAL_KEY_LEN]]).unwrap();
        let sealed = keys.seal("a session", &named("key:ann")).unwrap();
        assert!(sealed.bytes().all(|b| b.is_ascii_graphic()));
        assert_eq!(keys.open(&sealed, &named("key:ann")).as_deref(), Some("a session"));
        for other in [named("key:bob"), named("local"), named(""), Principal::Local] {
            assert_eq!(keys.open(&sealed, &other), None, "{other:?}");
        }
        let local = keys.seal("x", &Principal::Local).unwrap();
        assert_eq!(keys.open(&local, &named("local")), None);
        let bytes = BASE64.decode(&sealed).unwrap();
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 1;
            assert_eq!(keys.open(&BASE64.encode(&changed), &named("key:ann")), None, "{at}");
            assert_eq!(keys.open(&BASE64.encode(&bytes[..at]), &named("key:ann")), None, "{at}");
        }
        assert_eq!(keys.open(&"A".repeat(MAX_SEALED_LEN + 1), &named("key:ann")), None);
        assert_ne!(keys.seal("a session", &named("key:ann")).unwrap(), sealed, "each has its own nonce");
    }

    #[test]
    fn older_keys_open_and_the_first_seals() {
        let (old, new) = ([1; SEAL_KEY_LEN], [2; SEAL_KEY_LEN]);
        let sealed = SealKeys::new(&[old]).unwrap().seal("x", &Principal::Local).unwrap();
        let both = SealKeys::new(&[new, old]).unwrap();
        assert_eq!(both.open(&sealed, &Principal::Local).as_deref(), Some("x"));
        let sealed = both.seal("y", &Principal::Local).unwrap();
        assert_eq!(SealKeys::new(&[old]).unwrap().open(&sealed, &Principal::Local), None);
        assert_eq!(SealKeys::new(&[]).unwrap_err(), SealError::NoKeys);
    }
}
