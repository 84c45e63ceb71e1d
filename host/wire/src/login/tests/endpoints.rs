//! Endpoints at other origins than their authorization server, and tokens that expire immediately.

use super::*;
use crate::login::NamedIssuer;

#[tokio::test]
async fn endpoints_elsewhere_require_confirmation() {
    for misbehavior in [Misbehavior::TokenElsewhere, Misbehavior::AuthorizationElsewhere] {
        let fixture = Fixture::with(&[misbehavior]);
        let (issuer, settings) = (fixture.authority.url("/"), LoginSettings::default());
        let elsewhere = fixture.authority.url("").replace("127.0.0.1", "localhost");
        let unconfirmed = fixture.log_in().await.expect_err("no user was asked");
        let text = unconfirmed.in_one_line();
        for part in [&*issuer, &elsewhere, "set issuer = ", "[servers.git.oauth] of presets.toml"] {
            assert!(text.contains(part), "{misbehavior:?}: {part}: {text}");
        }
        let declines = TestDialog { confirms: Some(false), ..TestDialog::default() };
        let fault = fixture.log_in_as(&settings, &declines).await.expect_err("declined");
        assert_eq!(fault.message, "the login to 'git' was not confirmed");
        let asked = lock(&declines.asked)[0].clone();
        assert_eq!(asked.issuer.as_str(), issuer);
        let origins: Vec<&str> = asked.origins.values().map(String::as_str).collect();
        assert!(origins.contains(&&*elsewhere) && origins.len() == 4, "{origins:?}");
        for path in ["/register", "/authorize", "/token"] {
            assert!(fixture.authority.seen(path).is_empty(), "{misbehavior:?}: {path}");
        }
        assert!(lock(&declines.shown).is_empty(), "no browser was opened");

        let agrees = TestDialog { confirms: Some(true), ..TestDialog::default() };
        fixture.log_in_as(&settings, &agrees).await.expect("a login");
        // The confirmation is stored with the login and applies to the same endpoints.
        fixture.log_in().await.expect("a login without a question");
        fixture.authority.start_to(Misbehavior::TokenElsewhere);
        fixture.authority.start_to(Misbehavior::AuthorizationElsewhere);
        assert!(fixture.log_in().await.is_err(), "{misbehavior:?}: other endpoints");
    }
}

#[tokio::test]
async fn an_issuer_that_presets_toml_names_may_have_its_endpoints_elsewhere() {
    let fixture = Fixture::with(&[Misbehavior::TokenElsewhere]);
    let issuer = NamedIssuer { url: fixture.authority.url(""), client: None };
    let settings = LoginSettings { issuer: Some(issuer), ..LoginSettings::default() };
    let dialog = TestDialog::default();
    fixture.log_in_as(&settings, &dialog).await.expect("a login");
    assert!(lock(&dialog.asked).is_empty());
    assert_eq!(*lock(&dialog.shown), [fixture.authority.url("/")], "the issuer is shown with the address");
    assert!(!fixture.file().contains("confirmed_origins"));
}

#[tokio::test]
async fn null_lists_in_metadata_are_empty() {
    let fixture = Fixture::with(&[Misbehavior::NullLists]);
    fixture.log_in().await.expect("a login");
}

#[tokio::test]
async fn an_error_with_the_status_of_a_success_is_an_error() {
    let fixture = Fixture::with(&[Misbehavior::ErrorIsSuccess, Misbehavior::CodeUsed]);
    let fault = fixture.log_in().await.expect_err("refused");
    assert!(fault.message.contains("answered 200: invalid_grant"), "{fault}");
}

#[tokio::test]
async fn a_token_that_expires_immediately_is_rejected() {
    for misbehavior in [Misbehavior::NoLife, Misbehavior::NegativeLife] {
        let fixture = Fixture::with(&[misbehavior, Misbehavior::NoRefresh]);
        let fault = fixture.log_in().await.expect_err("over");
        assert!(
            fault.message.starts_with("the login to 'git' has already expired: http://127.0.0.1"),
            "{misbehavior:?}: {fault}"
        );
        assert_eq!(fixture.token(&fixture.host()).await, Ok(None), "{misbehavior:?}: nothing is stored");
        // With a refresh token, the next request renews it.
        let fixture = Fixture::with(&[misbehavior]);
        let state = fixture.log_in().await.expect("a login");
        assert_eq!(state, LoginState::Valid { until: Some(START_MS), renewable: true });
    }
}
