//! SHA-256 and hexadecimal text.

use std::fmt::Write as _;

use sha2::{Digest as _, Sha256};

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
    struct HashWriter(Sha256);
    impl std::io::Write for HashWriter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.update(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut hasher = HashWriter(Sha256::new());
    // Neither part can fail.
    let _ = serde_json::to_writer(&mut hasher, value);
    hex(hasher.0.finalize())
}
