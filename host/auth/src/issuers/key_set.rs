//! Public keys of an issuer, a JSON Web Key Set, and signature checks with ring, as the crypto provider of `jsonwebtoken`.
//! Its own providers would add aws-lc, which needs a C toolchain, or a second set of cryptographic crates.

use jsonwebtoken::{
    Algorithm, DecodingKey, DecodingKeyKind, EncodingKey,
    crypto::{CryptoProvider, JwtSigner, JwtVerifier, KeyUtils},
    errors::{Error, ErrorKind},
    signature::{self, Verifier},
};
use ring::signature as ring_signature;
use serde::Deserialize;
use serde_json::{Map, Value};

const MAX_KEYS: usize = 100;

/// Maximum number of keys that are tried for a token that names none.
const MAX_TRIED: usize = 4;

/// A key of the set, as written.
#[derive(Deserialize)]
struct JsonWebKey {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    purpose: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

struct SigningKey {
    kid: Option<String>,
    algorithms: Vec<Algorithm>,
    key: DecodingKey,
}

#[derive(Default)]
pub(super) struct KeySet(Vec<SigningKey>);

impl KeySet {
    /// Reads a key set. Skips keys that cannot check signatures with a supported algorithm.
    pub(super) fn read(document: &Map<String, Value>) -> Self {
        let keys = document.get("keys").and_then(Value::as_array).into_iter().flatten().take(MAX_KEYS);
        Self(keys.filter_map(signing_key).collect())
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the keys that may have signed a token.
    pub(super) fn find(&self, algorithm: Algorithm, kid: Option<&str>) -> Vec<DecodingKey> {
        let keys = self.0.iter().filter(|key| key.algorithms.contains(&algorithm));
        let keys = keys.filter(|key| kid.is_none() || key.kid.as_deref() == kid);
        keys.take(MAX_TRIED).map(|key| key.key.clone()).collect()
    }
}

fn signing_key(value: &Value) -> Option<SigningKey> {
    let raw = JsonWebKey::deserialize(value).ok()?;
    if raw.purpose.as_deref().is_some_and(|purpose| purpose != "sig")
        || raw.key_ops.as_ref().is_some_and(|uses| uses.iter().all(|operation| operation != "verify"))
    {
        return None;
    }
    let (mut algorithms, key) = match (raw.kty.as_str(), raw.crv.as_deref()) {
        ("RSA", _) => {
            use Algorithm as A;
            let rsa_algorithms = vec![A::RS256, A::RS384, A::RS512, A::PS256, A::PS384, A::PS512];
            (rsa_algorithms, DecodingKey::from_rsa_components(&raw.n?, &raw.e?))
        }
        ("EC", Some("P-256")) => (vec![Algorithm::ES256], DecodingKey::from_ec_components(&raw.x?, &raw.y?)),
        ("EC", Some("P-384")) => (vec![Algorithm::ES384], DecodingKey::from_ec_components(&raw.x?, &raw.y?)),
        ("OKP", Some("Ed25519")) => (vec![Algorithm::EdDSA], DecodingKey::from_ed_components(&raw.x?)),
        _ => return None,
    };
    if let Some(only) = raw.alg {
        // RFC 9864 names the curve.
        let only: Algorithm = if only == "Ed25519" { Algorithm::EdDSA } else { only.parse().ok()? };
        algorithms.retain(|algorithm| *algorithm == only);
    }
    let key = key.ok().filter(|_| !algorithms.is_empty())?;
    Some(SigningKey { kid: raw.kid, algorithms, key })
}

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

fn signer(_: &Algorithm, _: &EncodingKey) -> jsonwebtoken::errors::Result<Box<dyn JwtSigner>> {
    Err(Error::from(ErrorKind::UnsupportedAlgorithm))
}

fn verifier(algorithm: &Algorithm, key: &DecodingKey) -> jsonwebtoken::errors::Result<Box<dyn JwtVerifier>> {
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
    fn verify(&self, message: &[u8], signature: &Vec<u8>) -> Result<(), signature::Error> {
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn set(keys: Value) -> KeySet {
        KeySet::read(json!({"keys": keys}).as_object().expect("an object"))
    }

    #[test]
    fn only_keys_that_check_signatures_are_read() {
        let rsa = |more: Value| {
            let mut key = json!({"kty": "RSA", "kid": "1", "n": "AQAB", "e": "AQAB"});
            key.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            key
        };
        for usable in
            [json!({}), json!({"use": "sig"}), json!({"key_ops": ["verify"]}), json!({"alg": "RS256"})]
        {
            assert_eq!(set(json!([rsa(usable)])).find(Algorithm::RS256, Some("1")).len(), 1);
        }
        for unusable in [
            rsa(json!({"use": "enc"})),
            rsa(json!({"key_ops": ["encrypt"]})),
            rsa(json!({"alg": "RSA-OAEP"})),
            rsa(json!({"alg": "HS256"})),
            rsa(json!({"n": 5})),
            json!({"kty": "oct", "kid": "1", "k": "AQAB"}),
            json!({"kty": "EC", "crv": "secp256k1", "kid": "1", "x": "AQAB", "y": "AQAB"}),
            json!({"kty": "OKP", "crv": "X25519", "kid": "1", "x": "AQAB"}),
            json!("key"),
        ] {
            assert!(set(json!([unusable])).is_empty(), "{unusable}");
        }
        assert!(set(json!({})).is_empty());
    }

    #[test]
    fn a_key_is_used_with_its_own_algorithms_only() {
        let keys = set(json!([
            {"kty": "RSA", "kid": "1", "alg": "PS256", "n": "AQAB", "e": "AQAB"},
            {"kty": "EC", "crv": "P-256", "kid": "2", "x": "AQAB", "y": "AQAB"},
            {"kty": "OKP", "crv": "Ed25519", "alg": "Ed25519", "x": "AQAB"},
        ]));
        assert!(keys.find(Algorithm::RS256, Some("1")).is_empty());
        assert_eq!(keys.find(Algorithm::PS256, None).len(), 1);
        assert_eq!(keys.find(Algorithm::ES256, Some("2")).len(), 1);
        assert!(keys.find(Algorithm::ES256, Some("1")).is_empty());
        assert!(keys.find(Algorithm::HS256, None).is_empty());
        assert_eq!(keys.find(Algorithm::EdDSA, None).len(), 1);
        assert!(keys.find(Algorithm::EdDSA, Some("3")).is_empty(), "a named key must be the one");
    }
}
