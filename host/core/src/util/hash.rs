//! SHA-256, HMAC-SHA256 and hexadecimal text.

use std::fmt::Write as _;

use hmac::{Hmac, KeyInit, Mac as _};
use sha2::{Digest as _, Sha256};

use crate::json;

/// Returns the SHA-256 in lowercase hexadecimal.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex(Sha256::digest(bytes))
}

pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut hex = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| write!(hex, "{byte:02x}").unwrap_or_default());
    hex
}

/// Returns the SHA-256 of a value's JSON text in hexadecimal, without building the text.
pub fn sha256_json(value: &impl serde::Serialize) -> String {
    hex(json_digest(value))
}

/// Returns the SHA-256 of a value's JSON text, without building the text.
pub fn json_digest(value: &impl serde::Serialize) -> [u8; 32] {
    let mut hasher = Sha256::new();
    // Neither part can fail.
    let _ = json::for_each_piece(value, |piece| hasher.update(piece));
    hasher.finalize().into()
}

pub fn hmac_sha256(key: &[u8], message: &[u8]) -> [u8; 32] {
    let mut mac =
        <Hmac<Sha256> as KeyInit>::new_from_slice(key).unwrap_or_else(|_| unreachable!("any length fits"));
    mac.update(message);
    mac.finalize().into_bytes().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hmac_gives_the_values_of_rfc_4231() {
        let mac = hmac_sha256(b"Jefe", b"what do ya want for nothing?");
        assert_eq!(hex(mac), "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
        let long = hmac_sha256(&[0xaa; 131], b"Test Using Larger Than Block-Size Key - Hash Key First");
        assert_eq!(hex(long), "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
    }
}
