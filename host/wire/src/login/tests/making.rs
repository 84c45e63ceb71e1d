//! Logging in and out.

use gatehouse_core::http::{Redactor, Secret};

use super::*;
use crate::login::{LogoutOutcome, NamedClient, NamedIssuer};

#[tokio::test]
async fn a_login_is_kept_and_shown_to_its_server_alone() {
    let place = Place::with(&[]);
    let state = place.log_in().await.expect("a login");
    let until = Some(NOON + 3_600_000);
    assert_eq!(state, LoginState::Valid { until, renewable: true });
    let (access, _) = place.authority.tokens();

    // Another process on the same directory.
    let host = place.host();
    assert_eq!(place.token(&host).await, Ok(Some(access)));
    assert_eq!(host.state("git", &place.url()).await, Ok(state));
    let elsewhere = |declared: &str, target: &str| {
        let (declared, target) = (declared.to_owned(), Url::parse(target).expect("a URL"));
        let host = &host;
        async move { host.bearer("git", &declared, &target).await }
    };
    let (server, other_path) = (place.url(), place.authority.url("/other"));
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
    assert_eq!(host.bearer("hub", &server, &place.target()).await, Ok(None));
    let moved = host.renew_refused_token("git", &other_path, None).await.expect_err("another server");
    assert!(moved.message.contains(&format!("was made for {server}")), "{moved}");
    assert_eq!(host.state("git", &other_path).await, Ok(LoginState::Elsewhere { server }));
}

#[tokio::test]
async fn what_is_asked_for_is_bound_to_server_and_browser() {
    let place = Place::with(&[Vice::NamesIssuer]);
    place.log_in().await.expect("a login");
    let asked = place.authority.seen("/authorize").remove(0).query;
    assert_eq!((&*asked["code_challenge_method"], &*asked["response_type"]), ("S256", "code"));
    assert_eq!((&*asked["client_id"], &*asked["scope"]), ("registered-1", "read"));
    let base = place.authority.url("");
    let exchanged = place.authority.seen("/token").remove(0).form;
    assert_eq!((&asked["resource"], &exchanged["resource"]), (&base, &base));
    assert_eq!(asked["redirect_uri"], exchanged["redirect_uri"]);
    assert!(place.authority.seen("/register")[0].body.contains(&asked["redirect_uri"]));
    assert!(asked["state"].len() == 43 && exchanged["code_verifier"].len() == 43);
}

#[cfg(unix)]
#[tokio::test]
async fn the_file_is_its_owners_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    let place = Place::with(&[]);
    place.log_in().await.expect("a login");
    let mode = |path: &str| {
        std::fs::metadata(place.folder.path().join(path)).expect("there").permissions().mode() & 0o777
    };
    assert_eq!((mode("logins"), mode("logins/git.json")), (0o700, 0o600));
    assert_eq!(place.files(), ["git.json", "git.lock"]);
}

#[tokio::test]
async fn a_client_of_presets_toml_is_used_as_it_is() {
    let place = Place::with(&[Vice::NoRegistration]);
    let registered = |id: &str| {
        let client = NamedClient { id: id.into(), secret: Some(Secret::new("client secret/1")) };
        let issuer = NamedIssuer { url: place.authority.url(""), client: Some(client) };
        LoginSettings { issuer: Some(issuer), scopes: vec!["all".into()], ..LoginSettings::default() }
    };
    let settings = registered("mine");
    place.log_in_with(&settings, browse).await.expect("a login");
    assert!(place.authority.seen("/register").is_empty());
    let exchanged = place.authority.seen("/token").remove(0);
    // base64 of `mine:client+secret%2F1`
    assert_eq!(exchanged.authorization, "Basic bWluZTpjbGllbnQrc2VjcmV0JTJGMQ==");
    assert_eq!(exchanged.form.get("client_secret"), None);
    assert_eq!(place.authority.seen("/authorize")[0].query["scope"], "all");
    let document = registered("https://me.example/client.json");
    let fault = place.log_in_with(&document, browse).await.expect_err("no documents there");
    assert!(fault.message.contains("does not support the URL of a document"), "{fault}");
}

#[tokio::test]
async fn servers_from_before_resource_metadata_are_logged_in_to() {
    let place = Place::with(&[Vice::NoResourceMetadata]);
    place.log_in().await.expect("a login");
    assert_eq!(place.authority.seen("/token")[0].form["resource"], place.url());
}

#[tokio::test]
async fn documents_that_break_a_rule_end_the_login() {
    for (vice, why) in [
        (Vice::NoMetadata, "publishes no authorization server metadata"),
        (Vice::OtherResource, "is for another resource: 'https://bank.example/mcp'"),
        (Vice::MetadataIsHtml, "cannot parse"),
        (Vice::MetadataRedirects, "was not found at the advertised URL"),
        (Vice::OtherIssuer, "is for another issuer: 'https://evil.example'"),
        (Vice::NoS256, "does not declare support for S256"),
        (Vice::PlainToken, "'http://auth.example/token' does not start with https://"),
        (Vice::PrivateToken, "'https://169.254.169.254/token' is in a private network"),
        (Vice::NoRegistration, "does not support dynamic client registration"),
        (Vice::RegistrationRefused, "refused to register Gatehouse: 400: invalid_redirect_uri"),
    ] {
        let place = Place::with(&[vice]);
        let fault = place.log_in().await.expect_err("a rule is broken");
        assert!(fault.message.contains(why), "{vice:?}: {fault}");
        assert!(place.authority.seen("/authorize").is_empty(), "{vice:?}: nobody is asked");
        assert!(place.authority.seen("/elsewhere").is_empty(), "{vice:?}: no redirect is followed");
    }
}

#[tokio::test]
async fn token_endpoints_are_not_believed() {
    for (vice, why) in [
        (Vice::CodeUsed, "the login was refused: 127.0.0.1 answered 400: invalid_grant"),
        (Vice::TokenFails, "127.0.0.1 answered 500"),
        (Vice::TokenIsHtml, "cannot parse"),
        (Vice::TokenLarge, "answered with more than"),
        (Vice::TokenOfOtherType, "a token of type 'mac'"),
    ] {
        let place = Place::with(&[vice]);
        let fault = place.log_in().await.expect_err("no token");
        assert!(fault.message.contains(why), "{vice:?}: {fault}");
        let told = format!("{fault:?}");
        let verifier = &place.authority.seen("/token")[0].form["code_verifier"];
        assert!(!told.contains("code-secret") && !told.contains(verifier), "{vice:?}: {told}");
        assert_eq!(place.token(&place.host()).await, Ok(None), "{vice:?}: nothing is stored");
    }
}

#[tokio::test]
async fn a_server_that_wants_no_login_is_told_of() {
    let place = Place::with(&[Vice::NoLoginWanted, Vice::NoMetadata]);
    let fault = place.log_in().await.expect_err("no login");
    assert!(
        fault.message.starts_with("server 'git' does not require a login (it answered 200 OK): "),
        "{fault}"
    );
    let named = |name: &'static str, url: &'static str| async move {
        let place = Place::with(&[]);
        let fault = place.host().log_in(name, url, &LoginSettings::default(), &Desk::default()).await;
        fault.expect_err("no login").message
    };
    assert!(named("git", "http://mcp.example/mcp").await.contains("does not start with https://"));
    assert!(named("../git", "https://mcp.example/mcp").await.contains("invalid server name"));
}

#[tokio::test]
async fn answers_with_another_state_change_nothing() {
    let place = Place::with(&[]);
    let browser = |url: Url| {
        let back = agree(&url);
        let forged = back.as_str().replace("state=", "state=x");
        let answer = get(&Url::parse(&forged).expect("a URL"));
        assert!(answer.starts_with("HTTP/1.1 400"), "{answer}");
        assert!(get(&back).contains("You can close this window."));
    };
    place.log_in_with(&LoginSettings::default(), browser).await.expect("a login");
}

#[tokio::test]
async fn who_says_no_is_not_logged_in() {
    let place = Place::with(&[]);
    let browser = |url: Url| {
        let back = agree(&url).as_str().replace("code=", "error=access_denied&x=");
        get(&Url::parse(&back).expect("a URL"));
    };
    let fault = place.log_in_with(&LoginSettings::default(), browser).await.expect_err("refused");
    assert!(fault.message.contains("refused the login: access_denied"), "{fault}");
    assert!(place.authority.seen("/token").is_empty());
}

#[tokio::test]
async fn a_token_is_told_to_nobody_else() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    let token = host.bearer("git", &place.url(), &place.target()).await.expect("read").expect("a token");
    let login = host.shared.store.read("git").await.expect("read").expect("a login");
    let shown = format!("{token:?} {login:?} {:?}", host.state("git", &place.url()).await);
    assert!(!shown.contains("-secret-"), "{shown}");
    let told = Redactor::new([&token]).redact_text(format!("you said Bearer {}", token.reveal()));
    assert_eq!(told, "you said Bearer [redacted]");
}

#[tokio::test]
async fn who_logs_out_leaves_nothing_behind() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    let (_, refresh) = place.authority.tokens();
    assert_eq!(host.log_out("git").await, Ok(LogoutOutcome::Revoked));
    let revoked = place.authority.seen("/revoke").remove(0).form;
    assert_eq!((&revoked["token"], &*revoked["token_type_hint"]), (&refresh, "refresh_token"));
    assert_eq!(place.files(), ["git.lock"]);
    assert_eq!(place.token(&host).await, Ok(None));
    assert_eq!(host.log_out("git").await, Ok(LogoutOutcome::NoLogin));
    let wants = host.renew_refused_token("git", &place.url(), None).await.expect_err("no login");
    assert_eq!(wants.in_one_line(), "server 'git' requires a login. Run: gatehouse servers login git");

    let place = Place::with(&[Vice::NoRevocation]);
    let forgotten = place.logged_in().await.log_out("git").await.expect("forgotten");
    assert!(
        matches!(&forgotten, LogoutOutcome::Forgotten(why) if why.contains("does not support token revocation")),
        "{forgotten:?}"
    );
    assert_eq!(place.files(), ["git.lock"]);
}
