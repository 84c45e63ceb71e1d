//! Logins for which an identity provider vouches.

use gatehouse_core::{FaultKind, http::Secret};

use super::*;
use crate::login::{LoginGrant, LogoutOutcome, NamedClient, NamedIssuer};

struct Company {
    fixture: Fixture,
    provider: Authority,
}

impl Company {
    fn with(misbehaviors: &[Misbehavior]) -> Self {
        Self { fixture: Fixture::with(&[]), provider: Authority::start(misbehaviors) }
    }

    fn settings(&self) -> LoginSettings {
        let named = |authority: &Authority, id: &str, secret: &str| NamedIssuer {
            url: authority.url(""),
            client: Some(NamedClient { id: id.into(), secret: Some(Secret::new(secret)), private_key: None }),
        };
        LoginSettings {
            issuer: Some(named(&self.fixture.authority, "at-server", "server-secret")),
            grant: LoginGrant::IdentityProvider(named(&self.provider, "at-provider", "provider-secret")),
            ..LoginSettings::default()
        }
    }

    async fn log_in(&self) -> Result<LoginState, Fault> {
        self.fixture.log_in_with(&self.settings(), browse).await
    }

    async fn log_in_with(&self, token: &str) -> Result<LoginState, Fault> {
        let (host, dialog) = (self.fixture.host(), TestDialog::default());
        let (url, token) = (self.fixture.url(), Secret::new(token));
        host.log_in_with_id_token(&git(), &url, &self.settings(), &dialog, &token).await
    }

    /// Returns the grants that were requested of an authorization server.
    fn grants(authority: &Authority) -> Vec<String> {
        let seen = authority.seen("/token");
        seen.iter()
            .map(|seen| seen.form["grant_type"].rsplit(':').next().unwrap_or_default().to_owned())
            .collect()
    }
}

#[tokio::test]
async fn a_user_signs_in_to_the_provider_which_vouches_for_each_renewal() {
    let company = Company::with(&[]);
    let Company { fixture, provider } = &company;
    let state = company.log_in().await.expect("a login");
    assert!(matches!(state, LoginState::Valid { renewable: true, .. }), "{state:?}");
    let asked = provider.seen("/authorize").remove(0);
    assert_eq!((&*asked.query["client_id"], &*asked.query["scope"]), ("at-provider", "openid"));
    assert_eq!(asked.query.get("resource"), None, "an ID token is about a user");
    assert!(
        fixture.authority.seen("/authorize").is_empty() && fixture.authority.seen("/register").is_empty()
    );
    let exchanged = provider.seen("/token").remove(1);
    let form = |name: &str| exchanged.form[name].as_str();
    assert_eq!(form("requested_token_type"), "urn:ietf:params:oauth:token-type:id-jag");
    assert_eq!(form("subject_token_type"), "urn:ietf:params:oauth:token-type:id_token");
    assert_eq!(form("audience"), fixture.authority.url(""));
    assert_eq!((form("resource"), form("scope")), (&*fixture.authority.url(""), "read"));
    // base64 of `at-provider:provider-secret`: each credential goes to its own server.
    assert_eq!(exchanged.authorization, "Basic YXQtcHJvdmlkZXI6cHJvdmlkZXItc2VjcmV0");
    // base64 of `at-server:server-secret`
    assert_eq!(fixture.authority.seen("/token")[0].authorization, "Basic YXQtc2VydmVyOnNlcnZlci1zZWNyZXQ=");

    let host = fixture.host();
    assert_eq!(fixture.token(&host).await, Ok(Some(fixture.authority.tokens().0)));
    for _ in 0..2 {
        fixture.advance(3600);
        assert_eq!(fixture.token(&host).await, Ok(Some(fixture.authority.tokens().0)));
    }
    assert!(fixture.file().contains("\n  \"refresh_token\": null"), "each renewal asks the provider");
    let renewal = ["refresh_token", "token-exchange"];
    assert_eq!(
        Company::grants(provider),
        [&["authorization_code", "token-exchange"], &renewal[..], &renewal[..]].concat()
    );
    assert_eq!(Company::grants(&fixture.authority), ["jwt-bearer"; 3]);

    assert_eq!(host.log_out(&git()).await, Ok(LogoutOutcome::Revoked));
    assert_eq!(provider.seen("/revoke")[0].form["token"], provider.tokens().1);
    assert_eq!(fixture.authority.seen("/revoke").len(), 1);
}

#[tokio::test]
async fn a_user_whom_the_provider_no_longer_vouches_for_signs_in_again() {
    for misbehavior in [Misbehavior::ExchangeRefused, Misbehavior::RefreshRefused] {
        let company = Company::with(&[]);
        company.log_in().await.expect("a login");
        let host = company.fixture.host();
        company.provider.start_to(misbehavior);
        company.fixture.advance(3600);
        let fault = company.fixture.token(&host).await.expect_err("ended");
        assert!(fault.message.contains("no longer valid"), "{misbehavior:?}: {fault}");
        assert_eq!(host.state(&git(), &company.fixture.url()).await, Ok(LoginState::Ended));
        let asked = company.provider.seen("/token").len();
        assert!(company.fixture.token(&host).await.is_err());
        assert_eq!(company.provider.seen("/token").len(), asked, "{misbehavior:?}: asked again");
    }
}

#[tokio::test]
async fn a_logout_revokes_what_it_can() {
    let company = Company::with(&[Misbehavior::NoRevocation]);
    company.log_in().await.expect("a login");
    let forgotten = company.fixture.host().log_out(&git()).await.expect("logged out");
    let wanted = format!("{} does not support token revocation", company.provider.url(""));
    assert_eq!(forgotten, LogoutOutcome::Forgotten(wanted));
    assert_eq!(company.fixture.authority.seen("/revoke").len(), 1, "the access token is revoked");
}

#[tokio::test]
async fn a_provider_that_fails_ends_no_login() {
    let company = Company::with(&[]);
    company.log_in().await.expect("a login");
    let host = company.fixture.host();
    let (provider, fixture) = (&company.provider, &company.fixture);
    provider.start_to(Misbehavior::TokenFails);
    fixture.advance(3600);
    let fault = fixture.token(&host).await.expect_err("not renewed");
    assert_eq!(fault.kind, FaultKind::Unavailable, "{fault}");
    assert!(!fault.message.contains("secret"), "{fault}");
    provider.stop_to(Misbehavior::TokenFails);
    // The server may refuse an assertion for a time, for example if the clocks differ.
    fixture.authority.start_to(Misbehavior::AssertionRefused);
    let fault = fixture.token(&fixture.host()).await.expect_err("refused");
    assert_eq!(fault.kind, FaultKind::Denied, "{fault}");
    fixture.authority.stop_to(Misbehavior::AssertionRefused);
    assert_eq!(fixture.token(&fixture.host()).await, Ok(Some(fixture.authority.tokens().0)));
}

#[tokio::test]
async fn an_id_token_from_elsewhere_needs_no_browser_and_lasts_until_it_expires() {
    let company = Company::with(&[Misbehavior::NoS256]);
    // `{"exp":1795399200}`, two hours after the start.
    let token = "e30.eyJleHAiOjE3OTUzOTkyMDB9.c2lnbmVk";
    company.provider.accept_id_token(token);
    let state = company.log_in_with(token).await.expect("a login");
    assert!(matches!(state, LoginState::Valid { renewable: true, .. }), "{state:?}");
    assert!(company.provider.seen("/authorize").is_empty());
    assert_eq!(Company::grants(&company.provider), ["token-exchange"]);
    let (host, fixture) = (company.fixture.host(), &company.fixture);
    fixture.advance(3600);
    assert_eq!(fixture.token(&host).await, Ok(Some(fixture.authority.tokens().0)));
    let state = host.state(&git(), &fixture.url()).await;
    assert!(
        matches!(state, Ok(LoginState::Valid { renewable: false, .. })),
        "not for a third hour: {state:?}"
    );
    fixture.advance(3600);
    assert_eq!(host.state(&git(), &fixture.url()).await, Ok(LoginState::Ended));
    assert!(fixture.token(&host).await.is_err());
    assert_eq!(Company::grants(&company.provider).len(), 2, "an expired ID token is not sent");

    for (token, reason) in [("another.token", "the login was refused"), ("two words", "invalid ID token")] {
        let fault = company.log_in_with(token).await.expect_err("refused");
        assert!(fault.message.contains(reason) && !fault.message.contains("secret"), "{token}: {fault}");
    }
    let plain = LoginSettings::default();
    let dialog = TestDialog::default();
    let fault = fixture
        .host()
        .log_in_with_id_token(&git(), &fixture.url(), &plain, &dialog, &Secret::new(token))
        .await
        .expect_err("no provider");
    assert!(fault.hint.expect("a hint").contains("[servers.git.oauth.identity_provider]"));
}

#[tokio::test]
async fn providers_that_break_a_rule_end_the_login() {
    for (misbehavior, reason) in [
        (Misbehavior::NoMetadata, "publishes no metadata"),
        (Misbehavior::OtherIssuer, "is for another issuer"),
        (Misbehavior::NoS256, "does not declare support for S256"),
        (Misbehavior::PrivateToken, "is in a private network"),
        (Misbehavior::NoIdToken, "issued no ID token"),
        (Misbehavior::ExchangesToOther, "expected urn:ietf:params:oauth:token-type:id-jag"),
        (Misbehavior::ExchangeRefused, "the login was refused"),
    ] {
        let company = Company::with(&[misbehavior]);
        let fault = company.log_in().await.expect_err("refused");
        assert!(
            fault.message.contains(reason) && !fault.message.contains("secret"),
            "{misbehavior:?}: {fault}"
        );
        assert!(company.fixture.authority.seen("/token").is_empty(), "{misbehavior:?}");
    }
}
