//! The chain of digests over entries, and the seal over what identifies a person.
//!
//! A digest covers the one before it and the canonical form of its entry: each value with its type and length, so that
//! no two entries have the same form. The seal is AES-256-GCM with a random nonce, bound to the number of the entry.

use gatehouse_core::hash::hmac_sha256;
use ring::{
    aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey},
    error::Unspecified,
};
use sha2::{Digest as _, Sha256};

use crate::{
    random::random_bytes,
    sql::{Result, StoreError},
};

pub(super) type RowDigest = [u8; 32];

/// An entry as stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AuditRow {
    pub(super) seq: i64,
    pub(super) at: i64,
    pub(super) kind: String,
    pub(super) principal: Vec<u8>,
    pub(super) sealed: Vec<u8>,
    pub(super) preset: Option<String>,
    pub(super) tool: Option<String>,
    pub(super) rule: Option<String>,
    pub(super) approval: Option<String>,
    pub(super) outcome: String,
    pub(super) took_us: i64,
    pub(super) tokens_in: i64,
    pub(super) tokens_out: i64,
    pub(super) arguments: Option<Vec<u8>>,
    pub(super) details: Option<String>,
}

impl AuditRow {
    /// Returns the digest of this entry after an entry with the digest `previous`.
    pub(super) fn digest(&self, previous: &RowDigest) -> RowDigest {
        let mut form = CanonicalForm(Sha256::new_with_prefix(previous));
        form.number(self.seq);
        form.number(self.at);
        form.bytes(b't', Some(self.kind.as_bytes()));
        form.bytes(b'b', Some(&self.principal));
        form.bytes(b'b', Some(&self.sealed));
        for text in [&self.preset, &self.tool, &self.rule, &self.approval] {
            form.bytes(b't', text.as_ref().map(String::as_bytes));
        }
        form.bytes(b't', Some(self.outcome.as_bytes()));
        for number in [self.took_us, self.tokens_in, self.tokens_out] {
            form.number(number);
        }
        form.bytes(b'b', self.arguments.as_deref());
        form.bytes(b't', self.details.as_ref().map(String::as_bytes));
        form.0.finalize().into()
    }
}

struct CanonicalForm(Sha256);

impl CanonicalForm {
    fn number(&mut self, number: i64) {
        self.0.update(b"i");
        self.0.update(number.to_be_bytes());
    }

    fn bytes(&mut self, kind: u8, bytes: Option<&[u8]>) {
        let Some(bytes) = bytes else { return self.0.update(b"n") };
        self.0.update([kind]);
        self.0.update((bytes.len() as u64).to_be_bytes());
        self.0.update(bytes);
    }
}

/// Returns the pseudonym of a principal under its key.
pub(super) fn pseudonym(key: &[u8], name: &str) -> [u8; 32] {
    hmac_sha256(key, format!("pseudonym:{name}").as_bytes())
}

/// Encrypts bytes of the entry `seq`. Returns a random nonce, and the ciphertext with its tag.
pub(super) fn seal(key: &[u8], seq: i64, bytes: &[u8]) -> Result<Vec<u8>> {
    let unusable = |_| StoreError::invalid("cannot encrypt an entry of the audit");
    let nonce = random_bytes::<NONCE_LEN>()?;
    let mut ciphertext = bytes.to_vec();
    let place = Nonce::assume_unique_for_key(nonce);
    let key = aead_key(key).map_err(unusable)?;
    key.seal_in_place_append_tag(place, Aad::from(seq.to_be_bytes()), &mut ciphertext).map_err(unusable)?;
    Ok([&nonce[..], &ciphertext].concat())
}

/// Decrypts what [`seal`] returned for the entry `seq`. `None` if the key is another, or a byte was changed.
pub(super) fn unseal(key: &[u8], seq: i64, sealed: &[u8]) -> Option<Vec<u8>> {
    let (nonce, ciphertext) = sealed.split_first_chunk::<NONCE_LEN>()?;
    let (nonce, mut bytes) = (Nonce::assume_unique_for_key(*nonce), ciphertext.to_vec());
    let aad = Aad::from(seq.to_be_bytes());
    aead_key(key).ok()?.open_in_place(nonce, aad, &mut bytes).ok().map(|bytes| bytes.to_vec())
}

/// Derives the key of the seal, because pseudonyms depend on the key of the principal, too.
fn aead_key(key: &[u8]) -> Result<LessSafeKey, Unspecified> {
    Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, &hmac_sha256(key, b"seal"))?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row() -> AuditRow {
        AuditRow {
            seq: 1,
            at: 2,
            kind: "call".into(),
            principal: vec![1; 32],
            sealed: vec![2; 5],
            preset: Some("p".into()),
            tool: Some("x".into()),
            rule: None,
            approval: None,
            outcome: "ok".into(),
            took_us: 3,
            tokens_in: 4,
            tokens_out: 5,
            arguments: None,
            details: None,
        }
    }

    #[test]
    fn every_value_counts_and_values_cannot_move_into_others() {
        let digest = |change: &dyn Fn(&mut AuditRow)| {
            let mut row = row();
            change(&mut row);
            row.digest(&[0; 32])
        };
        let own = digest(&|_| {});
        let changes: [&dyn Fn(&mut AuditRow); 9] = [
            &|row| row.seq = 9,
            &|row| row.at = 9,
            &|row| (row.preset, row.tool) = (Some("px".into()), Some(String::new())),
            &|row| (row.tool, row.rule) = (None, Some("x".into())),
            &|row| row.rule = Some(String::new()),
            &|row| row.outcome = "denied".into(),
            &|row| (row.tokens_in, row.tokens_out) = (5, 4),
            &|row| row.arguments = Some(Vec::new()),
            &|row| row.details = Some(String::new()),
        ];
        for (n, change) in changes.into_iter().enumerate() {
            assert_ne!(digest(change), own, "{n}");
        }
        assert_ne!(row().digest(&[1; 32]), own);
    }

    #[test]
    fn a_seal_opens_with_its_key_and_number_only() {
        let text = b"key 3f9a, tester 1.0, 192.0.2.7, and more than one block".to_vec();
        let sealed = seal(b"k", 7, &text).expect("sealed");
        assert_ne!(seal(b"k", 7, &text).expect("sealed"), sealed, "the nonce is random");
        assert_eq!(unseal(b"k", 7, &sealed), Some(text));
        for (key, seq) in [(&b"k"[..], 8), (b"j", 7)] {
            assert_eq!(unseal(key, seq, &sealed), None);
        }
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(unseal(b"k", 7, &changed), None, "byte {at}");
            assert_eq!(unseal(b"k", 7, &sealed[..at]), None, "{at} bytes");
        }
    }
}
