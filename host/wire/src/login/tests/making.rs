//! Logging in and out.

use gatehouse_core::http::{Redactor, Secret};

use super::*;
use crate::login::{LoginGrant, LogoutOutcome, NamedClient, NamedIssuer};

#[tokio::test]
async fn a_login_is_stored_and_sent_only_to_its_server() {
    let fixture = Fixture::with(&[]);
    let state = fixture.log_in().await.expect("a login");
    let until = Some(START_MS + 3_600_000);
    assert_eq!(state, LoginState::Valid { until, renewable: true });
    let (access, _) = fixture.authority.tokens();

    // Another process on the same directory.
    let host = fixture.host();
    assert_eq!(fixture.token(&host).await, Ok(Some(access)));
    assert_eq!(host.state(&git(), &fixture.url()).await, Ok(state));
    let elsewhere = |declared: &str, target: &str| {
        let (declared, target) = (declared.to_owned(), Url::parse(target).expect("a URL"));
        let host = &host;
        async move { host.bearer(&git(), &declared, &target).await }
    };
    let (server, other_path) = (fixture.url(), fixture.authority.url("/other"));
    for (declared, target) in [
        (&*server, "http://127.0.0.1:1/mcp"),
        (&server, "https://evil.example/mcp"),
        (&server, &server.replace("http:", "https:")),
        (&server, &server.replace("127.0.0.1", "localhost")),
        (&other_path, &other_path),
        ("https://evil.example/mcp", "https://evil.example/mcp"),
    ] {
        assert_eq!(elsewhere(declared, target).await, Ok(None), "{declared} {target}");
    }
    assert_eq!(host.bearer(&LoginId::shared("hub"), &server, &fixture.target()).await, Ok(None));
    let moved = host.renew_refused_token(&git(), &other_path, None).await.expect_err("another server");
    assert!(moved.message.contains(&format!("was made for {server}")), "{moved}");
    assert_eq!(host.state(&git(), &other_path).await, Ok(LoginState::Elsewhere { server }));
}

#[tokio::test]
async fn the_request_is_bound_to_server_and_browser() {
    let fixture = Fixture::with(&[Misbehavior::NamesIssuer]);
    fixture.log_in().await.expect("a login");
    let asked = fixture.authority.seen("/authorize").remove(0).query;
    assert_eq!((&*asked["code_challenge_method"], &*asked["response_type"]), ("S256", "code"));
    assert_eq!((&*asked["client_id"], &*asked["scope"]), ("registered-1", "read"));
    let base = fixture.authority.url("");
    let exchanged = fixture.authority.seen("/token").remove(0).form;
    assert_eq!((&asked["resource"], &exchanged["resource"]), (&base, &base));
    assert_eq!(asked["redirect_uri"], exchanged["redirect_uri"]);
    assert!(fixture.authority.seen("/register")[0].body.contains(&asked["redirect_uri"]));
    assert!(asked["state"].len() == 43 && exchanged["code_verifier"].len() == 43);
}

#[cfg(unix)]
#[tokio::test]
async fn only_the_owner_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt as _;
    let fixture = Fixture::with(&[]);
    fixture.log_in().await.expect("a login");
    let mode = |path: &str| {
        std::fs::metadata(fixture.directory.path().join(path)).expect("there").permissions().mode() & 0o777
    };
    assert_eq!((mode("logins"), mode("logins/git.json")), (0o700, 0o600));
    assert_eq!(fixture.files(), ["git.json", "git.lock"]);
}

#[tokio::test]
async fn a_configured_client_is_used_unchanged() {
    let fixture = Fixture::with(&[Misbehavior::NoRegistration]);
    let registered = |id: &str| {
        let client =
            NamedClient { id: id.into(), secret: Some(Secret::new("client secret/1")), private_key: None };
        let issuer = NamedIssuer { url: fixture.authority.url(""), client: Some(client) };
        LoginSettings { issuer: Some(issuer), scopes: vec!["all".into()], ..LoginSettings::default() }
    };
    let settings = registered("mine");
    fixture.log_in_with(&settings, browse).await.expect("a login");
    assert!(fixture.authority.seen("/register").is_empty());
    let exchanged = fixture.authority.seen("/token").remove(0);
    // base64 of `mine:client+secret%2F1`
    assert_eq!(exchanged.authorization, "Basic bWluZTpjbGllbnQrc2VjcmV0JTJGMQ==");
    assert_eq!(exchanged.form.get("client_secret"), None);
    assert_eq!(fixture.authority.seen("/authorize")[0].query["scope"], "all");
    let document = registered("https://me.example/client.json");
    let fault = fixture.log_in_with(&document, browse).await.expect_err("no documents there");
    assert!(fault.message.contains("does not support the URL of a document"), "{fault}");
}

#[tokio::test]
async fn servers_without_resource_metadata_are_supported() {
    let fixture = Fixture::with(&[Misbehavior::NoResourceMetadata]);
    fixture.log_in().await.expect("a login");
    assert_eq!(fixture.authority.seen("/token")[0].form["resource"], fixture.url());
}

#[tokio::test]
async fn servers_without_any_metadata_have_the_paths_of_2025_03_26() {
    let fixture = Fixture::with(&[Misbehavior::NoMetadata]);
    fixture.log_in().await.expect("a login");
    assert!(
        !fixture.authority.seen("/register").is_empty() && !fixture.authority.seen("/authorize").is_empty()
    );
    let fixture = Fixture::with(&[Misbehavior::NoMetadata, Misbehavior::RegistrationRefused]);
    let fault = fixture.log_in().await.expect_err("no registration");
    assert!(fault.message.contains("refused to register Gatehouse"), "{fault}");
}

#[tokio::test]
async fn documents_that_break_a_rule_end_the_login() {
    for (misbehavior, reason) in [
        (Misbehavior::OtherResource, "is for another resource: 'https://bank.example/mcp'"),
        (Misbehavior::MetadataIsHtml, "cannot parse"),
        (Misbehavior::MetadataRedirects, "was not found at the advertised URL"),
        (Misbehavior::OtherIssuer, "is for another issuer: 'https://evil.example'"),
        (Misbehavior::NoS256, "does not declare support for S256"),
        (Misbehavior::PlainToken, "'http://auth.example/token' does not start with https://"),
        (Misbehavior::PrivateToken, "'https://169.254.169.254/token' is in a private network"),
        (Misbehavior::NoRegistration, "does not support dynamic client registration"),
        (Misbehavior::RegistrationRefused, "refused to register Gatehouse: 400: invalid_redirect_uri"),
    ] {
        let fixture = Fixture::with(&[misbehavior]);
        let fault = fixture.log_in().await.expect_err("a rule is broken");
        assert!(fault.message.contains(reason), "{misbehavior:?}: {fault}");
        assert!(fixture.authority.seen("/authorize").is_empty(), "{misbehavior:?}: no user is asked");
        assert!(fixture.authority.seen("/elsewhere").is_empty(), "{misbehavior:?}: no redirect is followed");
    }
}

#[tokio::test]
async fn failures_of_the_token_endpoint_store_nothing() {
    for (misbehavior, reason) in [
        (Misbehavior::CodeUsed, "the login was refused: 127.0.0.1 answered 400: invalid_grant"),
        (Misbehavior::TokenFails, "127.0.0.1 answered 500"),
        (Misbehavior::TokenIsHtml, "cannot parse"),
        (Misbehavior::TokenLarge, "answered with more than"),
        (Misbehavior::TokenOfOtherType, "a token of type 'mac'"),
    ] {
        let fixture = Fixture::with(&[misbehavior]);
        let fault = fixture.log_in().await.expect_err("no token");
        assert!(fault.message.contains(reason), "{misbehavior:?}: {fault}");
        let shown = format!("{fault:?}");
        let verifier = &fixture.authority.seen("/token")[0].form["code_verifier"];
        assert!(!shown.contains("code-secret") && !shown.contains(verifier), "{misbehavior:?}: {shown}");
        assert_eq!(fixture.token(&fixture.host()).await, Ok(None), "{misbehavior:?}: nothing is stored");
    }
}

#[tokio::test]
async fn a_server_without_login_is_reported() {
    let fixture = Fixture::with(&[Misbehavior::RequiresNoLogin, Misbehavior::NoMetadata]);
    let fault = fixture.log_in().await.expect_err("no login");
    assert!(
        fault.message.starts_with("server 'git' does not require a login (it answered 200 OK): "),
        "{fault}"
    );
    let named = |name: &'static str, url: &'static str| async move {
        let fixture = Fixture::with(&[]);
        let fault = fixture
            .host()
            .log_in(&LoginId::shared(name), url, &LoginSettings::default(), &TestDialog::default())
            .await;
        fault.expect_err("no login").message
    };
    assert!(named("git", "http://mcp.example/mcp").await.contains("does not start with https://"));
    assert!(named("../git", "https://mcp.example/mcp").await.contains("invalid server name"));
}

#[tokio::test]
async fn answers_with_another_state_change_nothing() {
    let fixture = Fixture::with(&[]);
    let browser = |url: Url| {
        let back = agree(&url);
        let forged = back.as_str().replace("state=", "state=x");
        let answer = get(&Url::parse(&forged).expect("a URL"));
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(get(&back).contains("You can close this window."));
    };
    fixture.log_in_with(&LoginSettings::default(), browser).await.expect("a login");
}

#[tokio::test]
async fn a_refusal_of_the_user_ends_the_login() {
    let fixture = Fixture::with(&[]);
    let browser = |url: Url| {
        let back = agree(&url).as_str().replace("code=", "error=access_denied&x=");
        get(&Url::parse(&back).expect("a URL"));
    };
    let fault = fixture.log_in_with(&LoginSettings::default(), browser).await.expect_err("refused");
    assert!(fault.message.contains("refused the login: access_denied"), "{fault}");
    assert!(fixture.authority.seen("/token").is_empty());
}

#[tokio::test]
async fn debug_output_has_no_tokens() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    let token = host.bearer(&git(), &fixture.url(), &fixture.target()).await.expect("read").expect("a token");
    let login = host.shared.store.read(&git()).await.expect("read").expect("a login");
    let shown = format!("{token:?} {login:?} {:?}", host.state(&git(), &fixture.url()).await);
    assert!(!shown.contains("-secret-"), "{shown}");
    let text = Redactor::new([&token]).redact_text(format!("you said Bearer {}", token.reveal()));
    assert_eq!(text, "you said Bearer [redacted]");
}

#[tokio::test]
async fn logging_out_removes_and_revokes_the_login() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    let (_, refresh) = fixture.authority.tokens();
    assert_eq!(host.log_out(&git()).await, Ok(LogoutOutcome::Revoked));
    let revoked = fixture.authority.seen("/revoke").remove(0).form;
    assert_eq!((&revoked["token"], &*revoked["token_type_hint"]), (&refresh, "refresh_token"));
    assert_eq!(fixture.files(), ["git.lock"]);
    assert_eq!(fixture.token(&host).await, Ok(None));
    assert_eq!(host.log_out(&git()).await, Ok(LogoutOutcome::NoLogin));
    let wants = host.renew_refused_token(&git(), &fixture.url(), None).await.expect_err("no login");
    assert_eq!(wants.in_one_line(), "server 'git' requires a login. Run: gatehouse servers login git");

    let fixture = Fixture::with(&[Misbehavior::NoRevocation]);
    let forgotten = fixture.logged_in().await.log_out(&git()).await.expect("forgotten");
    assert!(
        matches!(&forgotten, LogoutOutcome::Forgotten(reason) if reason.contains("does not support token revocation")),
        "{forgotten:?}"
    );
    assert_eq!(fixture.files(), ["git.lock"]);
}

#[tokio::test]
async fn a_client_logs_in_with_its_secret_and_again_when_that_ends() {
    let fixture = Fixture::with(&[]);
    let client =
        NamedClient { id: "reports".into(), secret: Some(Secret::new("s3cret-value")), private_key: None };
    let issuer = NamedIssuer { url: fixture.authority.url(""), client: Some(client) };
    let settings = LoginSettings {
        issuer: Some(issuer),
        scopes: vec!["read".into()],
        grant: LoginGrant::ClientCredentials,
        ..LoginSettings::default()
    };
    let host = fixture.host();
    let browse = TestDialog::default();
    let state = host.log_in(&git(), &fixture.url(), &settings, &browse).await.expect("a login");
    assert!(matches!(state, LoginState::Valid { renewable: true, .. }), "{state:?}");
    assert!(fixture.authority.seen("/authorize").is_empty(), "no user is asked");
    let asked = fixture.authority.seen("/token").remove(0);
    assert_eq!((&*asked.form["grant_type"], &*asked.form["scope"]), ("client_credentials", "read"));
    assert_eq!(fixture.token(&host).await, Ok(Some(fixture.authority.tokens().0)));
    fixture.advance(3600);
    let renewed = fixture.token(&host).await.expect("renewed");
    assert_eq!(renewed, Some(fixture.authority.tokens().0), "with the secret");
    assert_eq!(fixture.authority.seen("/token").len(), 2);
}
