//! Tokens that must be refused: forged, replayed, bound, or issued for something else.

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use serde_json::{Value, json};

use crate::support::{BASE, Issuer, NOON, Signer, merge};

const NOW: u64 = NOON / 1_000;

const FORGED: &str = "the token has an invalid signature";

fn part(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

#[tokio::test]
async fn a_forged_signature_is_refused() {
    let issuer = Issuer::start().await;
    let good = issuer.token(json!({}), json!({}));
    assert!(issuer.verify(&good).await.is_ok());
    let parts: Vec<&str> = good.split('.').collect();
    let other = issuer.claims(json!({"sub": "eve"}));
    let fields = json!({"typ": "at+jwt", "kid": "one"});
    for forged in [
        format!("{}.{}.{}", parts[0], part(&other), parts[2]),
        format!("{}.{}.", parts[0], parts[1]),
        format!("{}.{}.{}", parts[0], parts[1], URL_SAFE_NO_PAD.encode([0; 64])),
        Signer::ec().token(&fields, &issuer.claims(json!({}))),
    ] {
        assert_eq!(issuer.refusal(&forged).await, FORGED, "{forged}");
    }
}

#[tokio::test]
async fn a_key_in_the_header_is_not_trusted() {
    let issuer = Issuer::start().await;
    let own = Signer::ec();
    let fields =
        json!({"typ": "at+jwt", "kid": "one", "jwk": own.jwk("one"), "jku": format!("{}/own", issuer.url)});
    assert_eq!(issuer.refusal(&own.token(&fields, &issuer.claims(json!({})))).await, FORGED);
    assert_eq!(issuer.requests("/own"), 0);
    let unknown = own.token(&json!({"typ": "at+jwt", "kid": "two"}), &issuer.claims(json!({})));
    assert_eq!(issuer.refusal(&unknown).await, "the token is signed with an unknown key");
}

#[tokio::test]
async fn weak_and_confused_algorithms_are_refused() {
    let issuer = Issuer::start_with(Signer::rsa(1, "RS256"), |_| {}).await;
    assert!(issuer.verify(&issuer.token(json!({}), json!({}))).await.is_ok());
    let unsigned = |algorithm: &str| {
        let header = json!({"alg": algorithm, "typ": "at+jwt", "kid": "one"});
        format!("{}.{}.", part(&header), part(&issuer.claims(json!({}))))
    };
    for algorithm in ["none", "None", "NONE", "nOnE", "", "RS1", "ES256K"] {
        let reason = issuer.refusal(&unsigned(algorithm)).await;
        assert_eq!(reason, "the token has a malformed header, or an unsupported algorithm", "{algorithm}");
    }
    // The public key as an HMAC secret.
    for algorithm in ["HS256", "HS384", "HS512", "RS512", "PS384"] {
        let reason = issuer.refusal(&format!("{}AAAA", unsigned(algorithm))).await;
        assert_eq!(reason, "the token is signed with an algorithm that is not allowed", "{algorithm}");
    }
    // A key is only used with algorithms of its type, and a signature with its own padding.
    let reason = issuer.refusal(&format!("{}AAAA", unsigned("ES256"))).await;
    assert_eq!(reason, "the token is signed with an unknown key");
    let relabeled = issuer.token(json!({"alg": "PS256"}), json!({}));
    assert_eq!(issuer.refusal(&relabeled).await, FORGED);
}

#[tokio::test]
async fn tokens_for_other_purposes_are_refused() {
    let issuer = Issuer::start().await;
    for kind in ["oauth-id-jag+jwt", "dpop+jwt", "logout+jwt", "secevent+jwt", "application/jwt", "", "jwt2"]
    {
        let reason = issuer.refusal(&issuer.token(json!({"typ": kind}), json!({}))).await;
        assert_eq!(reason, "the token is not an access token", "{kind}");
    }
    for kind in ["at+jwt", "AT+JWT", "application/at+jwt"] {
        assert!(issuer.verify(&issuer.token(json!({"typ": kind}), json!({}))).await.is_ok(), "{kind}");
    }
    let plain = |changes: Value| issuer.token(json!({"typ": "JWT"}), changes);
    assert!(issuer.verify(&plain(json!({}))).await.is_ok());
    assert!(issuer.verify(&plain(json!({"client_id": null, "scp": "x"}))).await.is_ok());
    for id_token in [
        json!({"nonce": "n"}),
        json!({"at_hash": "h"}),
        json!({"c_hash": "h"}),
        json!({"client_id": null}),
        json!({"client_id": null, "azp": "agent"}),
        json!({"client_id": BASE, "aud": [BASE, "x"]}),
        json!({"azp": BASE, "aud": BASE}),
    ] {
        let reason = issuer.refusal(&plain(id_token.clone())).await;
        assert_eq!(reason, "the token is not an access token", "{id_token}");
        let untyped = issuer.token(json!({"typ": null}), id_token.clone());
        assert_eq!(issuer.refusal(&untyped).await, "the token is not an access token", "{id_token}");
    }
}

#[tokio::test]
async fn bound_tokens_and_unknown_extensions_are_refused() {
    let issuer = Issuer::start().await;
    for confirmation in [json!({"jkt": "x"}), json!({"x5t#S256": "x"}), json!({}), json!("x")] {
        let reason = issuer.refusal(&issuer.token(json!({}), json!({"cnf": confirmation}))).await;
        assert_eq!(reason, "the token is bound to a key, so it cannot be used as a bearer token");
    }
    for critical in [json!(["b64"]), json!(["exp"]), json!([])] {
        let reason = issuer.refusal(&issuer.token(json!({"crit": critical, "b64": true}), json!({}))).await;
        assert_eq!(reason, "the token requires an extension that is not supported");
    }
}

#[tokio::test]
async fn tokens_out_of_time_are_refused() {
    let issuer = Issuer::start().await;
    for (claims, reason) in [
        (json!({"exp": NOW - 60}), "the token has expired"),
        (json!({"exp": 0}), "the token has expired"),
        (json!({"exp": null}), "the token has no expiry"),
        (json!({"exp": "tomorrow"}), "the token has a malformed claim 'exp'"),
        (json!({"exp": -1}), "the token has a malformed claim 'exp'"),
        (json!({"exp": 1e300}), "the token has a malformed claim 'exp'"),
        (json!({"nbf": NOW + 61}), "the token is not valid yet"),
        (json!({"nbf": "x"}), "the token has a malformed claim 'nbf'"),
    ] {
        assert_eq!(issuer.refusal(&issuer.token(json!({}), claims.clone())).await, reason, "{claims}");
    }
    for claims in [json!({"exp": NOW - 59}), json!({"nbf": NOW + 60}), json!({"exp": NOW as f64 + 0.5})] {
        assert!(issuer.verify(&issuer.token(json!({}), claims.clone())).await.is_ok(), "{claims}");
    }
}

#[tokio::test]
async fn tokens_of_other_issuers_are_refused_without_a_request() {
    let (issuer, other) = (Issuer::start().await, Issuer::start().await);
    let unknown = "the token is from an unknown issuer";
    for named in [json!(other.url), json!(format!("{}/", issuer.url)), json!(""), Value::Null] {
        assert_eq!(issuer.refusal(&issuer.token(json!({}), json!({"iss": named}))).await, unknown);
    }
    let reason = issuer.refusal(&issuer.token(json!({}), json!({"iss": [issuer.url]}))).await;
    assert_eq!(reason, "the token has malformed claims");
    assert_eq!(issuer.requests("/jwks") + other.requests("/jwks"), 0);
    // A known issuer's name with the signature of another one.
    let claims = issuer.claims(json!({}));
    let stolen = other.signer.token(&json!({"typ": "at+jwt", "kid": "one"}), &claims);
    assert_eq!(issuer.refusal(&stolen).await, FORGED);
}

#[tokio::test]
async fn hostile_names_are_refused() {
    let issuer = Issuer::start().await;
    for user in [
        json!(""),
        json!(" ada"),
        json!("a\nb"),
        json!("a\u{202e}b"),
        json!("a\u{0}"),
        json!(5),
        json!("x".repeat(256)),
    ] {
        let reason = issuer.refusal(&issuer.token(json!({}), json!({"sub": user}))).await;
        assert_eq!(reason, "the token has no usable claim 'sub'");
    }
    let many: Vec<String> = (0..257).map(|number| number.to_string()).collect();
    for groups in [json!([5]), json!([""]), json!({"a": 1}), json!(["a\tb"]), json!(many)] {
        let reason = issuer.refusal(&issuer.token(json!({}), json!({"groups": groups}))).await;
        assert!(reason.starts_with("the token has a malformed claim 'groups'"), "{reason}");
    }
    // The prefix cannot be forged by the user's name.
    let caller =
        issuer.verify(&issuer.token(json!({}), json!({"sub": "key:admin"}))).await.expect("a caller");
    assert_eq!(caller.principal.as_str(), "idp:key:admin");
}

#[tokio::test]
async fn malformed_tokens_are_refused_without_a_request_and_never_quoted() {
    let issuer = Issuer::start().await;
    let good = issuer.token(json!({}), json!({}));
    let header = good.split('.').next().expect("a header");
    let mut twice = issuer.claims(json!({})).to_string();
    twice.insert_str(1, "\"iss\":\"https://evil.example\",");
    for bad in [
        "secret".to_owned(),
        "..".to_owned(),
        "a.b.c".to_owned(),
        format!("{header}.!.!"),
        format!("{header}.{}.x", URL_SAFE_NO_PAD.encode("[]")),
        format!("{header}.{}.x", URL_SAFE_NO_PAD.encode(twice)),
        format!("{good}.x"),
        format!("{header}.{}.{}", "A".repeat(20_000), "A"),
        "\u{1f600}.\u{1f600}.\u{1f600}".to_owned(),
        good.replace('.', ""),
    ] {
        let reason = issuer.refusal(&bad).await;
        assert!(!reason.contains("secret") && !reason.contains("evil") && reason.len() < 100, "{reason}");
    }
    assert_eq!(issuer.requests("/jwks"), 0);
}

#[tokio::test]
async fn refused_tokens_are_not_cached_as_good_ones() {
    let issuer = Issuer::start().await;
    let mut claims = issuer.claims(json!({}));
    merge(&mut claims, &json!({"nbf": NOW + 120}));
    let early = issuer.signer.token(&json!({"typ": "at+jwt", "kid": "one"}), &claims);
    assert_eq!(issuer.refusal(&early).await, "the token is not valid yet");
    issuer.clock.advance(std::time::Duration::from_secs(60));
    assert!(issuer.verify(&early).await.is_ok());
}
