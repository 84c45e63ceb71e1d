//! Signature checks with ring, as the crypto provider of `jsonwebtoken`. Its own providers would add aws-lc, which needs
//! a C toolchain, or a second set of cryptographic crates.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind, Result},
    signature::{self, Verifier},
};
use ring::signature as ring_signature;

static PROVIDER: CryptoProvider = CryptoProvider {
    signer_factory: signer,
    verifier_factory: verifier,
    key_utils: KeyUtils::new_unimplemented(),
};

/// Selects ring for this process. No other code of the host uses `jsonwebtoken`.
pub(super) fn install_provider() {
    // Fails only if it was selected before.
    let _ = PROVIDER.install_default();
}

fn signer(_: &Algorithm, _: &EncodingKey) -> Result<Box<dyn JwtSigner>> {
    Err(Error::from(ErrorKind::UnsupportedAlgorithm))
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> Result<Box<dyn JwtVerifier>> {
    let check = SignatureCheck::new(*algorithm).ok_or(ErrorKind::UnsupportedAlgorithm)?;
    if key.family() != algorithm.family() {
        return Err(ErrorKind::InvalidKeyFormat.into());
    }
    Ok(Box::new(RingVerifier { algorithm: *algorithm, check, key: key.clone() }))
}

enum SignatureCheck {
    Rsa(&'static ring_signature::RsaParameters),
    /// Elliptic curves, with keys as bytes.
    Curve(&'static dyn ring_signature::VerificationAlgorithm),
}

impl SignatureCheck {
    /// Returns the check of an algorithm. `None` for symmetric ones. RSA keys must have 2048 to 8192 bits.
    fn new(algorithm: Algorithm) -> Option<Self> {
        Some(match algorithm {
            Algorithm::RS256 => Self::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA256),
            Algorithm::RS384 => Self::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA384),
            Algorithm::RS512 => Self::Rsa(&ring_signature::RSA_PKCS1_2048_8192_SHA512),
            Algorithm::PS256 => Self::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA256),
            Algorithm::PS384 => Self::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA384),
            Algorithm::PS512 => Self::Rsa(&ring_signature::RSA_PSS_2048_8192_SHA512),
            Algorithm::ES256 => Self::Curve(&ring_signature::ECDSA_P256_SHA256_FIXED),
            Algorithm::ES384 => Self::Curve(&ring_signature::ECDSA_P384_SHA384_FIXED),
            Algorithm::EdDSA => Self::Curve(&ring_signature::ED25519),
            _ => return None,
        })
    }
}

struct RingVerifier {
    algorithm: Algorithm,
    check: SignatureCheck,
    key: DecodingKey,
}

impl Verifier<Vec<u8>> for RingVerifier {
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> std::result::Result<(), signature::Error> {
        let valid = match (&self.check, self.key.kind()) {
            (SignatureCheck::Rsa(parameters), DecodingKeyKind::RsaModulusExponent { n, e }) => {
                let key = ring_signature::RsaPublicKeyComponents { n, e };
                key.verify(parameters, message, signature)
            }
            (SignatureCheck::Curve(algorithm), DecodingKeyKind::SecretOrDer(key)) => {
                ring_signature::UnparsedPublicKey::new(*algorithm, key).verify(message, signature)
            }
            _ => Err(ring::error::Unspecified),
        };
        valid.map_err(|_| signature::Error::new())
    }
}

impl JwtVerifier for RingVerifier {
    fn algorithm(&self) -> Algorithm {
        self.algorithm
    }
}
