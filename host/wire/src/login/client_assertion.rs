//! Authentication of a client by a signed JWT instead of a secret (`private_key_jwt`, RFC 7523 and OpenID Connect).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use gatehouse_core::{Fault, http::Secret};
use ring::{
    rand::{SecureRandom as _, SystemRandom},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use serde_json::json;

/// Value of `client_assertion_type`.
pub(super) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Time for which an assertion is valid. It is used at once.
const LIFETIME: Duration = Duration::from_secs(60);

enum SigningKey {
    Es256(EcdsaKeyPair),
    Es384(EcdsaKeyPair),
    EdDsa(Ed25519KeyPair),
    Rs256(RsaKeyPair),
}

impl SigningKey {
    /// Reads a private key in PKCS#8.
    fn read(pem: &Secret, random: &SystemRandom) -> Result<Self, Fault> {
        let invalid = || {
            Fault::invalid("invalid private_key: expected a PEM text that begins with -----BEGIN PRIVATE KEY-----")
                .hint(
                    "The key must be in PKCS#8, of the type EC (P-256 or P-384), Ed25519 or RSA. `openssl pkcs8 -topk8 \
                    -nocrypt` converts older formats.",
                )
        };
        let text = pem.reveal().trim();
        let text = text.strip_prefix("-----BEGIN PRIVATE KEY-----").ok_or_else(invalid)?;
        let text = text.strip_suffix("-----END PRIVATE KEY-----").ok_or_else(invalid)?;
        let text: String = text.split_whitespace().collect();
        let der = STANDARD.decode(text).map_err(|_| invalid())?;
        let p256 =
            || EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &der, random).map(Self::Es256);
        let p384 =
            || EcdsaKeyPair::from_pkcs8(&ECDSA_P384_SHA384_FIXED_SIGNING, &der, random).map(Self::Es384);
        let ed25519 = || Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der).map(Self::EdDsa);
        let rsa = || RsaKeyPair::from_pkcs8(&der).map(Self::Rs256);
        let read = p256().or_else(|_| p384()).or_else(|_| ed25519()).or_else(|_| rsa());
        read.map_err(|_| invalid())
    }

    const fn algorithm(&self) -> &'static str {
        match self {
            Self::Es256(_) => "ES256",
            Self::Es384(_) => "ES384",
            Self::EdDsa(_) => "EdDSA",
            Self::Rs256(_) => "RS256",
        }
    }

    fn sign(&self, message: &[u8], random: &SystemRandom) -> Result<Vec<u8>, Fault> {
        let failed = |_| Fault::internal("cannot sign the login with private_key");
        match self {
            Self::Es256(key) | Self::Es384(key) => {
                key.sign(random, message).map(|signature| signature.as_ref().to_vec()).map_err(failed)
            }
            Self::EdDsa(key) => Ok(key.sign(message).as_ref().to_vec()),
            Self::Rs256(key) => {
                let mut signature = vec![0; key.public().modulus_len()];
                key.sign(&RSA_PKCS1_SHA256, random, message, &mut signature).map_err(failed)?;
                Ok(signature)
            }
        }
    }
}

/// Returns an assertion of the client `id` for the authorization server `issuer`.
///
/// # Errors
/// If `pem` is not a private key in PKCS#8.
pub(super) fn client_assertion(id: &str, issuer: &str, pem: &Secret) -> Result<Secret, Fault> {
    let random = SystemRandom::new();
    let key = SigningKey::read(pem, &random)?;
    let mut number = [0; 16];
    random.fill(&mut number).map_err(|_| Fault::internal("the system has no random numbers"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let header = json!({"alg": key.algorithm(), "typ": "JWT"});
    let claims = json!({
        "iss": id, "sub": id, "aud": issuer, "jti": URL_SAFE_NO_PAD.encode(number), "iat": now,
        "exp": now + LIFETIME.as_secs(),
    });
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = key.sign(message.as_bytes(), &random)?;
    Ok(Secret::new(format!("{message}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

#[cfg(test)]
mod tests {
    use ring::signature::{
        ECDSA_P256_SHA256_FIXED, ED25519, KeyPair as _, UnparsedPublicKey, VerificationAlgorithm,
    };
    use serde_json::Value;

    use super::*;

    fn pem(der: &[u8]) -> Secret {
        Secret::new(format!(
            "-----BEGIN PRIVATE KEY-----\n{}\n-----END PRIVATE KEY-----\n",
            STANDARD.encode(der)
        ))
    }

    fn verified(assertion: &Secret, algorithm: &'static dyn VerificationAlgorithm, key: &[u8]) -> [Value; 2] {
        let (message, signature) = assertion.reveal().rsplit_once('.').expect("three parts");
        let signature = URL_SAFE_NO_PAD.decode(signature).expect("a signature");
        UnparsedPublicKey::new(algorithm, key).verify(message.as_bytes(), &signature).expect("signed");
        let (header, claims) = message.split_once('.').expect("two parts");
        [header, claims]
            .map(|part| serde_json::from_slice(&URL_SAFE_NO_PAD.decode(part).expect("Base64")).expect("JSON"))
    }

    #[test]
    fn assertions_are_signed_for_one_issuer_and_used_once() {
        let random = SystemRandom::new();
        let der = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random).expect("a key");
        let public =
            EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, der.as_ref(), &random).expect("a key");
        let assertion =
            || client_assertion("me", "https://a.example", &pem(der.as_ref())).expect("an assertion");
        let [header, claims] = verified(&assertion(), &ECDSA_P256_SHA256_FIXED, public.public_key().as_ref());
        assert_eq!(header["alg"], "ES256");
        assert_eq!(
            (&claims["iss"], &claims["sub"], &claims["aud"]),
            (&json!("me"), &json!("me"), &json!("https://a.example"))
        );
        assert_eq!(claims["exp"].as_u64().expect("a time") - claims["iat"].as_u64().expect("a time"), 60);
        let [_, again] = verified(&assertion(), &ECDSA_P256_SHA256_FIXED, public.public_key().as_ref());
        assert_ne!(claims["jti"], again["jti"]);

        let der = Ed25519KeyPair::generate_pkcs8(&random).expect("a key");
        let public = Ed25519KeyPair::from_pkcs8(der.as_ref()).expect("a key");
        let assertion =
            client_assertion("me", "https://a.example", &pem(der.as_ref())).expect("an assertion");
        assert_eq!(verified(&assertion, &ED25519, public.public_key().as_ref())[0]["alg"], "EdDSA");
    }

    #[test]
    fn a_text_that_is_no_key_is_refused_with_the_format_to_use() {
        for text in ["", "secret", "-----BEGIN EC PRIVATE KEY-----\nAA==\n-----END EC PRIVATE KEY-----"] {
            let fault = client_assertion("me", "https://a.example", &Secret::new(text)).expect_err("refused");
            assert!(fault.message.contains("BEGIN PRIVATE KEY"), "{fault:?}");
            assert!(fault.hint.expect("a hint").contains("PKCS#8"));
        }
        assert!(client_assertion("me", "https://a.example", &pem(b"not a key")).is_err());
    }
}
