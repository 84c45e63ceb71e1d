//! Endpoints at other origins than their authorization server, and tokens that expire immediately.

use super::*;
use crate::login::NamedIssuer;

#[tokio::test]
async fn endpoints_elsewhere_are_not_used_unless_a_user_confirms_them() {
    for vice in [Vice::TokenElsewhere, Vice::AuthorizationElsewhere] {
        let place = Place::with(&[vice]);
        let (issuer, settings) = (place.authority.url("/"), LoginSettings::default());
        let elsewhere = place.authority.url("").replace("127.0.0.1", "localhost");
        let nobody = place.log_in().await.expect_err("no user was asked");
        let told = nobody.in_one_line();
        for part in [&*issuer, &elsewhere, "set issuer = ", "[servers.git.oauth] of presets.toml"] {
            assert!(told.contains(part), "{vice:?}: {part}: {told}");
        }
        let declines = Desk { confirms: Some(false), ..Desk::default() };
        let fault = place.log_in_as(&settings, &declines).await.expect_err("declined");
        assert_eq!(fault.message, "the login to 'git' was not confirmed");
        let asked = lock(&declines.asked)[0].clone();
        assert_eq!(asked.issuer.as_str(), issuer);
        let origins: Vec<&str> = asked.origins.values().map(String::as_str).collect();
        assert!(origins.contains(&&*elsewhere) && origins.len() == 4, "{origins:?}");
        for path in ["/register", "/authorize", "/token"] {
            assert!(place.authority.seen(path).is_empty(), "{vice:?}: {path}");
        }
        assert!(lock(&declines.shown).is_empty(), "no browser was opened");

        let agrees = Desk { confirms: Some(true), ..Desk::default() };
        place.log_in_as(&settings, &agrees).await.expect("a login");
        // The confirmation is stored with the login and applies to the same endpoints.
        place.log_in().await.expect("a login without a question");
        place.authority.now(Vice::TokenElsewhere);
        place.authority.now(Vice::AuthorizationElsewhere);
        assert!(place.log_in().await.is_err(), "{vice:?}: other endpoints");
    }
}

#[tokio::test]
async fn an_issuer_that_presets_toml_names_may_have_its_endpoints_elsewhere() {
    let place = Place::with(&[Vice::TokenElsewhere]);
    let issuer = NamedIssuer { url: place.authority.url(""), client: None };
    let settings = LoginSettings { issuer: Some(issuer), ..LoginSettings::default() };
    let desk = Desk::default();
    place.log_in_as(&settings, &desk).await.expect("a login");
    assert!(lock(&desk.asked).is_empty());
    assert_eq!(*lock(&desk.shown), [place.authority.url("/")], "the issuer is shown with the address");
    assert!(!place.file().contains("confirmed_origins"));
}

#[tokio::test]
async fn a_token_that_expires_immediately_is_no_login() {
    for vice in [Vice::NoLife, Vice::NegativeLife] {
        let place = Place::with(&[vice, Vice::NoRefresh]);
        let fault = place.log_in().await.expect_err("over");
        assert!(
            fault.message.starts_with("the login to 'git' has already expired: http://127.0.0.1"),
            "{vice:?}: {fault}"
        );
        assert_eq!(place.token(&place.host()).await, Ok(None), "{vice:?}: nothing is stored");
        // With a refresh token, the next request renews it.
        let place = Place::with(&[vice]);
        let state = place.log_in().await.expect("a login");
        assert_eq!(state, LoginState::Valid { until: Some(NOON), renewable: true });
    }
}
