//! Random bytes for keys, and ids that nothing else has.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};

use ring::rand::{SecureRandom as _, SystemRandom};

use crate::sql::{Result, StoreError};

/// Returns bytes that cannot be guessed.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    match SystemRandom::new().fill(&mut bytes) {
        Ok(()) => Ok(bytes),
        Err(_) => Err(StoreError::invalid("the system has no random bytes")),
    }
}

/// Returns 128 bits in hexadecimal. Not for secrets, and so never fails.
pub(crate) fn random_id() -> String {
    // The keys of each `RandomState` are random.
    let random = || RandomState::new().build_hasher().finish();
    format!("{:016x}{:016x}", random(), random())
}
