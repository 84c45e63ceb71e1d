//! Keys of an issuer: rotation, floods of unknown keys, failures, wrong metadata.

use std::time::Duration;

use gatehouse_core::ports::auth::AuthRefusal;
use serde_json::json;

use crate::support::{Issuer, Signer, advance};

#[tokio::test]
async fn a_rotated_key_is_fetched_and_unknown_keys_cannot_flood_the_issuer() {
    let issuer = Issuer::start().await;
    assert!(issuer.verify(&issuer.token(json!({}), json!({}))).await.is_ok());
    let new = Signer::ed();
    issuer.change(|state| state.jwks = json!({"keys": [issuer.signer.jwk("one"), new.jwk("two")]}));
    let rotated = new.token(&json!({"typ": "at+jwt", "kid": "two"}), &issuer.claims(json!({})));
    for number in 0..50 {
        let unknown = issuer.token(json!({"kid": format!("x{number}")}), json!({}));
        assert_eq!(issuer.refusal(&unknown).await, "the token is signed with an unknown key");
    }
    assert_eq!(issuer.refusal(&rotated).await, "the token is signed with an unknown key");
    assert_eq!(issuer.requests("/jwks"), 1);
    advance(Duration::from_secs(30)).await;
    assert!(issuer.verify(&rotated).await.is_ok());
    assert_eq!(issuer.requests("/jwks"), 2);
}

#[tokio::test]
async fn concurrent_tokens_share_one_fetch() {
    let issuer = Issuer::start().await;
    let tokens: Vec<String> = (0..20).map(|number| issuer.token(json!({}), json!({"jti": number}))).collect();
    let (one, other) = tokens.split_at(10);
    let all = async |tokens: &[String]| {
        for token in tokens {
            assert!(issuer.verify(token).await.is_ok());
        }
    };
    tokio::join!(all(one), all(other));
    assert_eq!(issuer.requests("/jwks"), 1);
}

#[tokio::test]
async fn known_keys_work_for_a_day_without_the_issuer() {
    let issuer = Issuer::start().await;
    let token = || issuer.token(json!({}), json!({}));
    assert!(issuer.verify(&token()).await.is_ok());
    issuer.change(|state| state.status = 503);
    for hours in [1, 22] {
        advance(Duration::from_secs(hours * 3_600)).await;
        assert!(issuer.verify(&token()).await.is_ok(), "{hours}");
    }
    advance(Duration::from_secs(3_600)).await;
    assert!(matches!(issuer.verify(&token()).await, Err(AuthRefusal::Unavailable(_))));
    issuer.change(|state| state.status = 200);
    advance(Duration::from_secs(30)).await;
    assert!(issuer.verify(&token()).await.is_ok());
}

#[tokio::test]
async fn a_removed_key_fails_after_ten_minutes() {
    let issuer = Issuer::start().await;
    assert!(issuer.verify(&issuer.token(json!({}), json!({}))).await.is_ok());
    issuer.change(|state| state.jwks = json!({"keys": [Signer::ed().jwk("two")]}));
    advance(Duration::from_secs(600)).await;
    assert_eq!(
        issuer.refusal(&issuer.token(json!({}), json!({}))).await,
        "the token is signed with an unknown key"
    );
}

#[tokio::test]
async fn wrong_metadata_and_empty_key_sets_are_refused() {
    let issuer = Issuer::start().await;
    let good = (issuer.url.clone(), json!({"keys": [issuer.signer.jwk("one")]}));
    for (named, jwks) in [
        ("https://evil.example".to_owned(), good.1.clone()),
        (format!("{}/", issuer.url), good.1.clone()),
        (String::new(), good.1.clone()),
        (issuer.url.clone(), json!({"keys": []})),
        (issuer.url.clone(), json!({"keys": [{"kty": "oct", "kid": "one", "k": "AAAA"}]})),
        (issuer.url.clone(), json!({"keys": "x".repeat(300_000)})),
        (issuer.url.clone(), json!([])),
    ] {
        issuer.change(|state| {
            state.metadata["issuer"] = named.into();
            state.jwks = jwks;
        });
        let refused = issuer.verify(&issuer.token(json!({}), json!({}))).await;
        let reason = "the keys of issuer 'idp' cannot be fetched now; try again later";
        assert_eq!(refused.map(drop), Err(AuthRefusal::Unavailable(reason.into())));
        advance(Duration::from_secs(5)).await;
    }
    issuer.change(|state| {
        state.metadata["issuer"] = good.0.into();
        state.jwks = good.1;
    });
    assert!(issuer.verify(&issuer.token(json!({}), json!({}))).await.is_ok());
}
