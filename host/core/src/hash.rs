//! Digests as people and registries write them.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

/// SHA-256 in hexadecimal, lower case.
pub fn sha256_hex(bytes: impl AsRef<[u8]>) -> String {
    hex(Sha256::digest(bytes))
}

/// Bytes in hexadecimal, lower case.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref();
    let mut hex = String::with_capacity(2 * bytes.len());
    bytes.iter().for_each(|byte| write!(hex, "{byte:02x}").unwrap_or_default());
    hex
}
