//! Opaque tokens, which the issuer is asked about.

use std::{sync::Arc, time::Duration};

use gatehouse_auth::{IntrospectionSettings, Url};
use gatehouse_core::{http::Secret, ports::auth::AuthRefusal};
use serde_json::{Value, json};

use crate::support::{BASE, Issuer, NOON, Signer, advance, merge};

async fn start(secret: Result<Secret, String>) -> Issuer {
    let issuer = Issuer::start_with(Signer::ec(), |settings| {
        let url = Url::parse(&format!("{}/introspect", settings.issuer)).expect("a URL");
        let client_id = "gate house".to_owned();
        settings.introspection = Some(IntrospectionSettings { url, client_id, client_secret: secret });
    })
    .await;
    answer(&issuer, json!({}));
    issuer
}

fn answer(issuer: &Issuer, changes: Value) {
    let mut answer = json!({
        "active": true,
        "sub": "ada",
        "aud": format!("{BASE}/mcp"),
        "iss": issuer.url,
        "exp": NOON / 1_000 + 3_600,
        "token_type": "Bearer",
    });
    merge(&mut answer, &changes);
    issuer.change(|state| state.introspection = answer);
}

#[tokio::test]
async fn an_active_token_names_its_caller_and_is_checked_once_a_minute() {
    let issuer = start(Ok(Secret::new("s:3cret"))).await;
    let first = issuer.verify("opaque-1").await.expect("a caller");
    assert_eq!(first.principal.as_str(), "idp:ada");
    let (_, authorization, body) = issuer.state.lock().expect("a state").seen[0].clone();
    // `gate+house:s%3A3cret`
    assert_eq!(authorization, "Basic Z2F0ZStob3VzZTpzJTNBM2NyZXQ=");
    assert_eq!(body, "token=opaque-1&token_type_hint=access_token");
    assert!(Arc::ptr_eq(&first, &issuer.verify("opaque-1").await.expect("a caller")));
    assert_eq!(issuer.requests("/introspect"), 1);
    answer(&issuer, json!({"active": false}));
    advance(Duration::from_secs(60)).await;
    assert_eq!(issuer.refusal("opaque-1").await, "unknown token", "it was revoked");
    assert_eq!(issuer.requests("/introspect"), 2);
}

#[tokio::test]
async fn other_answers_are_refused() {
    let issuer = start(Ok(Secret::new("x"))).await;
    for (number, changes) in [
        json!({"active": "true"}),
        json!({"active": null}),
        json!({"iss": "https://evil.example"}),
        json!({"aud": "https://other.example"}),
        json!({"aud": null}),
        json!({"exp": NOON / 1_000 - 60}),
        json!({"nbf": NOON / 1_000 + 100}),
        json!({"cnf": {"jkt": "x"}}),
        json!({"token_type": "DPoP"}),
        json!({"sub": null}),
    ]
    .into_iter()
    .enumerate()
    {
        answer(&issuer, changes.clone());
        let refused = issuer.verify(&format!("opaque-{number}")).await;
        assert!(matches!(refused, Err(AuthRefusal::Invalid(_))), "{changes}: {refused:?}");
    }
    issuer.change(|state| state.status = 401);
    assert!(matches!(issuer.verify("opaque").await, Err(AuthRefusal::Unavailable(_))));
}

#[tokio::test]
async fn made_up_tokens_cannot_flood_the_issuer() {
    let issuer = start(Ok(Secret::new("x"))).await;
    assert!(issuer.verify("good").await.is_ok());
    answer(&issuer, json!({"active": false}));
    let mut busy = 0;
    for number in 0..150 {
        busy += usize::from(
            issuer
                .verify(&format!("made-up-{number}"))
                .await
                .is_err_and(|refusal| matches!(refusal, AuthRefusal::Unavailable(_))),
        );
    }
    assert_eq!((issuer.requests("/introspect"), busy), (100, 51));
    // Another client has a budget of its own.
    let other = [192, 0, 2, 7].into();
    assert_eq!(
        issuer.verify_from("made-up", other).await.err(),
        Some(AuthRefusal::Invalid("unknown token".into()))
    );
    // A token that was valid before is still checked.
    answer(&issuer, json!({}));
    advance(Duration::from_secs(60)).await;
    for number in 0..150 {
        let _budget = issuer.verify(&format!("more-{number}")).await;
    }
    assert!(issuer.verify("good").await.is_ok());
    for odd in ["a b", "ä", "", &"x".repeat(5_000)] {
        assert_eq!(issuer.refusal(odd).await, "unknown token", "{odd}");
    }
}

#[tokio::test]
async fn without_its_secret_no_opaque_token_works() {
    let issuer = start(Err("IDP_SECRET".into())).await;
    assert!(matches!(issuer.verify("opaque").await, Err(AuthRefusal::Unavailable(_))));
    assert_eq!(issuer.requests("/introspect"), 0);
    assert!(issuer.verify(&issuer.token(json!({}), json!({}))).await.is_ok(), "signed ones do");
}
