//! Authentication of a client by a signed JWT instead of a secret (`private_key_jwt`, RFC 7523 and OpenID Connect).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD},
};
use gatehouse_core::{Fault, http::Secret};
use ring::{
    error::Unspecified,
    rand::{SecureRandom as _, SystemRandom},
    signature::{
        ECDSA_P256_SHA256_FIXED_SIGNING, ECDSA_P384_SHA384_FIXED_SIGNING, EcdsaKeyPair, Ed25519KeyPair,
        RSA_PKCS1_SHA256, RsaKeyPair,
    },
};
use serde_json::json;

/// Value of `client_assertion_type`.
pub(super) const ASSERTION_TYPE: &str = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";

/// Time for which an assertion is valid. It is used immediately.
const LIFETIME: Duration = Duration::from_secs(60);

/// Function that signs a text with a private key.
type Signer = Box<dyn Fn(&[u8]) -> Result<Vec<u8>, Unspecified>>;

/// Reads a private key in PKCS#8. Returns the name of its algorithm, and the function that signs with it.
fn signer(pem: &Secret) -> Result<(&'static str, Signer), Fault> {
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
    let random = SystemRandom::new();
    let curves = [("ES256", &ECDSA_P256_SHA256_FIXED_SIGNING), ("ES384", &ECDSA_P384_SHA384_FIXED_SIGNING)];
    for (name, algorithm) in curves {
        if let Ok(key) = EcdsaKeyPair::from_pkcs8(algorithm, &der, &random) {
            return Ok((name, Box::new(move |text| Ok(key.sign(&random, text)?.as_ref().to_vec()))));
        }
    }
    if let Ok(key) = Ed25519KeyPair::from_pkcs8_maybe_unchecked(&der) {
        return Ok(("EdDSA", Box::new(move |text| Ok(key.sign(text).as_ref().to_vec()))));
    }
    let key = RsaKeyPair::from_pkcs8(&der).map_err(|_| invalid())?;
    let sign = move |text: &[u8]| {
        let mut signature = vec![0; key.public().modulus_len()];
        key.sign(&RSA_PKCS1_SHA256, &random, text, &mut signature)?;
        Ok(signature)
    };
    Ok(("RS256", Box::new(sign)))
}

/// Returns an assertion of the client `id` for the authorization server `issuer`.
///
/// # Errors
/// If `pem` is not a private key in PKCS#8.
pub(super) fn client_assertion(id: &str, issuer: &str, pem: &Secret) -> Result<Secret, Fault> {
    let (algorithm, sign) = signer(pem)?;
    let mut number = [0; 16];
    let random = SystemRandom::new().fill(&mut number);
    random.map_err(|_| Fault::internal("the system has no random numbers"))?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let header = json!({"alg": algorithm, "typ": "JWT"});
    let claims = json!({
        "iss": id, "sub": id, "aud": issuer, "jti": URL_SAFE_NO_PAD.encode(number), "iat": now,
        "exp": now + LIFETIME.as_secs(),
    });
    let part = |value: serde_json::Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let message = format!("{}.{}", part(header), part(claims));
    let signature = sign(message.as_bytes());
    let signature = signature.map_err(|_| Fault::internal("cannot sign the login with private_key"))?;
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
