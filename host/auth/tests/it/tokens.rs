//! Good access tokens: algorithms, audiences, users, groups, scopes, and how often they are checked.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    Effect,
    ports::{
        Authenticator as _,
        auth::{AuthRefusal, ProtectedResource},
    },
};
use serde_json::{Value, json};

use crate::support::{BASE, Issuer, LOCAL, NOON, Signer, advance};

#[tokio::test]
async fn a_token_names_its_caller() {
    let issuer = Issuer::start().await;
    let token = issuer.token(json!({}), json!({"groups": ["dev", "ops"]}));
    let caller = issuer.verify(&token).await.expect("a caller");
    assert_eq!(caller.principal.as_str(), "idp:ada");
    assert_eq!(caller.groups, ["dev".into(), "ops".into()]);
    assert_eq!(caller.expires_at, Some(NOON + 3_600_000));
    assert!(
        caller.credential.starts_with("token ") && caller.credential.len() == 14,
        "{}",
        caller.credential
    );
    assert_eq!((caller.effect, &caller.presets), (None, &None));
    let metadata = issuer.host.metadata().expect("metadata");
    assert_eq!(
        (metadata.base_url.as_str(), &metadata.authorization_servers),
        (BASE, &vec![issuer.url.clone()])
    );
}

#[tokio::test]
async fn every_default_algorithm_works() {
    for signer in [Signer::rsa(1, "RS256"), Signer::rsa(1, "PS256"), Signer::ec(), Signer::ed()] {
        let issuer = Issuer::start_with(signer, |_| {}).await;
        let algorithm = issuer.signer.algorithm();
        assert!(issuer.verify(&issuer.token(json!({}), json!({}))).await.is_ok(), "{algorithm}");
        let unnamed = issuer.token(json!({"kid": null}), json!({}));
        assert!(issuer.verify(&unnamed).await.is_ok(), "{algorithm} without a key's name");
    }
}

#[tokio::test]
async fn a_token_opens_the_resource_of_its_audience() {
    let issuer = Issuer::start().await;
    let opened = async |audience: Value| {
        let token = issuer.token(json!({}), json!({"aud": audience}));
        let mut opened = Vec::new();
        for resource in
            [ProtectedResource::Default, ProtectedResource::Preset("dev"), ProtectedResource::Preset("a b")]
        {
            if issuer.host.authenticate(&token, resource, LOCAL).await.is_ok() {
                opened.push(resource.path());
            }
        }
        opened.join(" ")
    };
    let all = "/mcp /mcp/p/dev /mcp/p/a%20b";
    for (audience, paths) in [
        (json!(BASE), all),
        (json!(format!("{BASE}/")), all),
        (json!(["x", BASE]), all),
        (json!(format!("{BASE}/mcp")), "/mcp"),
        (json!(format!("{BASE}/mcp/")), "/mcp"),
        (json!(format!("{BASE}/mcp/p/dev")), "/mcp/p/dev"),
        (json!(format!("{BASE}/mcp/p/a%20b")), "/mcp/p/a%20b"),
        (json!([format!("{BASE}/mcp"), format!("{BASE}/mcp/p/dev")]), "/mcp /mcp/p/dev"),
        (json!(format!("{BASE}/mcp/p")), ""),
        (json!(format!("{BASE}/mcp/p/de")), ""),
        (json!(format!("{BASE}/mcp/p/dev/x")), ""),
        (json!(format!("{BASE}/mcp/p/x/../dev")), ""),
        (json!(format!("{BASE}/mcp/p/d%65v")), ""),
        (json!(format!("{BASE}.evil.example")), ""),
        (json!("https://TOOLS.example"), ""),
        (json!("http://tools.example"), ""),
        (json!("agent"), ""),
        (json!([]), ""),
        (json!(5), ""),
        (json!([BASE, 5]), ""),
        (Value::Null, ""),
    ] {
        assert_eq!(opened(audience.clone()).await, paths, "{audience}");
    }
}

#[tokio::test]
async fn a_configured_audience_is_the_only_one() {
    let issuer =
        Issuer::start_with(Signer::ec(), |settings| settings.audience = Some("api://tools".into())).await;
    assert!(issuer.verify(&issuer.token(json!({}), json!({"aud": "api://tools"}))).await.is_ok());
    let other = issuer.token(json!({}), json!({}));
    assert_eq!(issuer.refusal(&other).await, "the token is for another audience");
}

#[tokio::test]
async fn users_and_groups_come_from_the_configured_claims() {
    let issuer = Issuer::start_with(Signer::ec(), |settings| {
        settings.user_claim = "https://x.example/mail".into();
        settings.groups_claim = "/realm_access/roles".into();
    })
    .await;
    let claims = json!({"https://x.example/mail": "a@x", "realm_access": {"roles": ["r"]}, "groups": ["no"]});
    let caller = issuer.verify(&issuer.token(json!({}), claims)).await.expect("a caller");
    assert_eq!((caller.principal.as_str(), &*caller.groups), ("idp:a@x", &["r".into()][..]));
    let reason = issuer.refusal(&issuer.token(json!({}), json!({}))).await;
    assert_eq!(reason, "the token has no usable claim 'https://x.example/mail'");
}

#[tokio::test]
async fn scopes_limit_the_effect() {
    let issuer = Issuer::start_with(Signer::ec(), |settings| {
        settings.scopes =
            [("read".to_owned(), Effect::ReadOnly), ("write".to_owned(), Effect::Mutating)].into();
    })
    .await;
    for (claims, effect) in [
        (json!({"scope": "openid read"}), Effect::ReadOnly),
        (json!({"scope": "read write"}), Effect::Mutating),
        (json!({"scp": ["write"]}), Effect::Mutating),
        (json!({"scp": "read"}), Effect::ReadOnly),
    ] {
        let caller = issuer.verify(&issuer.token(json!({}), claims.clone())).await;
        assert_eq!(caller.expect("a caller").effect, Some(effect), "{claims}");
    }
    for claims in [json!({}), json!({"scope": "reader"}), json!({"scope": ""}), json!({"scope": {"read": 1}})]
    {
        let refused = issuer.verify(&issuer.token(json!({}), claims.clone())).await;
        let missing = vec!["read".to_owned(), "write".to_owned()];
        assert_eq!(refused.map(drop), Err(AuthRefusal::InsufficientScope(missing)), "{claims}");
    }
    // More scopes would not help a token for another resource.
    let elsewhere = issuer.token(json!({}), json!({"aud": "https://other.example"}));
    assert_eq!(issuer.refusal(&elsewhere).await, "the token is for another audience");
}

#[tokio::test]
async fn a_token_is_checked_once_a_minute_and_keeps_its_caller() {
    let issuer = Issuer::start().await;
    let token = issuer.token(json!({}), json!({}));
    let first = issuer.verify(&token).await.expect("a caller");
    // The keys change, so another check would fail.
    issuer.change(|state| state.jwks = json!({"keys": [Signer::ec().jwk("one")]}));
    advance(Duration::from_secs(59)).await;
    assert!(Arc::ptr_eq(&first, &issuer.verify(&token).await.expect("a caller")));
    advance(Duration::from_secs(1)).await;
    let again = issuer.verify(&token).await.expect("the keys are cached for longer");
    assert!(Arc::ptr_eq(&first, &again));
    advance(Duration::from_secs(600)).await;
    assert_eq!(issuer.refusal(&token).await, "the token has an invalid signature");
}

#[tokio::test]
async fn a_cached_token_expires() {
    let issuer = Issuer::start().await;
    let token = issuer.token(json!({}), json!({"exp": NOON / 1_000 + 10}));
    assert!(issuer.verify(&token).await.is_ok());
    // Clocks may differ by a minute.
    for (seconds, works) in [(10, true), (59, true), (1, false)] {
        issuer.clock.advance(Duration::from_secs(seconds));
        advance(Duration::from_secs(seconds)).await;
        assert_eq!(issuer.verify(&token).await.is_ok(), works, "{seconds}");
    }
}
