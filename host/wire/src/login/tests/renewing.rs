//! Renewal of logins.

use futures_util::future::join_all;
use gatehouse_core::{FaultKind, http::Secret};
use tokio::time::{Duration, timeout};

use super::*;

const LOGIN_ENDED: &str = "the login to 'git' is no longer valid. Run: gatehouse servers login git";

#[tokio::test]
async fn concurrent_requests_share_one_early_renewal() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    fixture.advance(3600 - 61);
    fixture.token(&host).await.expect("still good");
    assert_eq!(fixture.authority.renewals(), 0);
    fixture.advance(2);
    let tokens = join_all((0..20).map(|_| fixture.token(&host))).await;
    let (access, refresh) = fixture.authority.tokens();
    assert!(tokens.iter().all(|token| token.as_ref() == Ok(&Some(access.clone()))), "{tokens:?}");
    assert_eq!(fixture.authority.renewals(), 1);
    assert!(fixture.file().contains(&refresh), "the new one is stored");
    let renewed = fixture.authority.seen("/token").remove(1).form;
    assert_eq!((&*renewed["client_id"], &renewed["resource"]), ("registered-1", &fixture.authority.url("")));
    assert_eq!(fixture.token(&fixture.host()).await, Ok(Some(access)), "after a restart too");
}

#[tokio::test]
async fn hosts_on_one_directory_share_one_renewal() {
    let fixture = Fixture::with(&[]);
    fixture.log_in().await.expect("a login");
    fixture.advance(3590);
    let hosts: Vec<Logins> = (0..6).map(|_| fixture.host()).collect();
    let tokens = join_all(hosts.iter().map(|host| fixture.token(host))).await;
    let (access, _) = fixture.authority.tokens();
    assert!(tokens.iter().all(|token| token.as_ref() == Ok(&Some(access.clone()))), "{tokens:?}");
    assert_eq!(fixture.authority.renewals(), 1);
}

#[tokio::test]
async fn a_server_without_rotation_keeps_its_refresh_token() {
    let fixture = Fixture::with(&[Misbehavior::KeepsRefresh]);
    let host = fixture.logged_in().await;
    let (_, refresh) = fixture.authority.tokens();
    for _ in 0..2 {
        fixture.advance(3600);
        fixture.token(&host).await.expect("renewed").expect("a token");
    }
    assert_eq!(fixture.authority.renewals(), 2);
    assert!(fixture.file().contains(&refresh));
}

#[tokio::test]
async fn a_refused_token_is_renewed_once() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    let used = host.bearer(&git(), &fixture.url(), &fixture.target()).await.expect("read").expect("a token");
    fixture.authority.expire();
    let again = host.renew_refused_token(&git(), &fixture.url(), Some(&used)).await.expect("renewed");
    assert_eq!(again.reveal(), fixture.authority.tokens().0);
    // A concurrent call with the old token gets the renewed one.
    let same = host.renew_refused_token(&git(), &fixture.url(), Some(&used)).await.expect("renewed before");
    assert_eq!((same, fixture.authority.renewals()), (again.clone(), 1));
    // A call that had no token, because the login is newer.
    assert_eq!(host.renew_refused_token(&git(), &fixture.url(), None).await, Ok(again));
    assert_eq!(LoginId::shared("git").ended_fault().in_one_line(), LOGIN_ENDED);
}

#[tokio::test]
async fn a_refused_renewal_ends_the_login() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    fixture.authority.start_to(Misbehavior::RefreshRefused);
    fixture.advance(3590);
    let (access, _) = fixture.authority.tokens();
    assert_eq!(fixture.token(&host).await, Ok(Some(access)), "it still holds for ten seconds");
    fixture.advance(10);
    let fault = fixture.token(&host).await.expect_err("over");
    assert_eq!(
        (fault.kind, fault.retryable, fault.in_one_line()),
        (FaultKind::Denied, false, LOGIN_ENDED.to_owned())
    );
    assert_eq!(fixture.authority.renewals(), 1, "a refused token is not sent again");
    assert_eq!(host.state(&git(), &fixture.url()).await, Ok(LoginState::Ended));
    fixture.authority.stop_to(Misbehavior::RefreshRefused);
    fixture.log_in().await.expect("a new login");
    assert!(fixture.token(&host).await.expect("read").is_some(), "the running host takes it");
}

#[tokio::test]
async fn a_login_without_refresh_token_works_until_it_expires() {
    let fixture = Fixture::with(&[Misbehavior::NoRefresh]);
    let host = fixture.logged_in().await;
    fixture.advance(3599);
    assert!(fixture.token(&host).await.expect("read").is_some());
    fixture.advance(1);
    assert_eq!(fixture.token(&host).await.map_err(|fault| fault.in_one_line()), Err(LOGIN_ENDED.to_owned()));
    assert!(fixture.authority.seen("/token").len() == 1 && fixture.authority.renewals() == 0);
}

#[tokio::test]
async fn a_failing_server_does_not_end_the_login() {
    for misbehavior in [Misbehavior::TokenFails, Misbehavior::TokenIsHtml, Misbehavior::TokenLarge] {
        let fixture = Fixture::with(&[]);
        let host = fixture.logged_in().await;
        fixture.authority.start_to(misbehavior);
        fixture.advance(3590);
        let (access, refresh) = fixture.authority.tokens();
        for _ in 0..3 {
            assert_eq!(
                fixture.token(&host).await,
                Ok(Some(access.clone())),
                "{misbehavior:?}: it still holds"
            );
        }
        assert_eq!(fixture.authority.renewals(), 1, "{misbehavior:?}: it is left alone for a while");
        fixture.advance(10);
        let fault = fixture.token(&host).await.expect_err("it is over");
        assert!(fault.message.starts_with("cannot renew the login to 'git': "), "{misbehavior:?}: {fault}");
        assert!(!format!("{fault:?}").contains("secret"), "{misbehavior:?}: {fault:?}");
        fixture.authority.stop_to(misbehavior);
        assert!(fixture.file().contains(&refresh), "{misbehavior:?}: nothing is lost");
        assert!(fixture.token(&fixture.host()).await.expect("renewed").is_some(), "{misbehavior:?}");
    }
}

#[tokio::test]
async fn an_unknown_client_keeps_its_login() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    fixture.authority.start_to(Misbehavior::ClientUnknown);
    fixture.advance(3600);
    assert_eq!(fixture.token(&host).await.map_err(|fault| fault.in_one_line()), Err(LOGIN_ENDED.to_owned()));
    fixture.authority.stop_to(Misbehavior::ClientUnknown);
    assert!(fixture.token(&fixture.host()).await.expect("renewed").is_some());
}

#[tokio::test]
async fn a_cancelled_caller_does_not_lose_the_new_tokens() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    fixture.advance(3600);
    // Poll once, so that the renewal starts.
    let used = Secret::new(fixture.authority.tokens().0);
    assert!(timeout(Duration::ZERO, host.renew(&git(), &used)).await.is_err());
    host.close().await;
    let (access, refresh) = fixture.authority.tokens();
    assert!(fixture.file().contains(&access) && fixture.file().contains(&refresh));
    assert_eq!((fixture.authority.renewals(), access == used.reveal()), (1, false));
}

#[tokio::test]
async fn a_clock_that_was_set_back_causes_one_renewal() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    fixture.clock.0.store(START_MS - 24 * 3_600_000, Ordering::Relaxed);
    fixture.token(&host).await.expect("renewed").expect("a token");
    assert_eq!(fixture.authority.renewals(), 1);
    fixture.token(&host).await.expect("read").expect("a token");
    assert_eq!(fixture.authority.renewals(), 1, "once");
}

#[tokio::test(start_paused = true)]
async fn a_stuck_token_endpoint_times_out() {
    let fixture = Fixture::with(&[]);
    fixture.authority.start_to(Misbehavior::TokenStuck);
    let host = fixture.host();
    let login = crate::login::login_store::StoredLogin {
        owner: None,
        server: fixture.url(),
        resource: fixture.url(),
        issuer: fixture.authority.url(""),
        confirmed_origins: None,
        named_issuer: None,
        token_endpoint: fixture.authority.url("/token"),
        revocation_endpoint: None,
        client: serde_json::from_str(r#"{"id": "x", "auth_method": "none"}"#).expect("a client"),
        scopes: Vec::new(),
        access_token: Secret::new("access-secret"),
        refresh_token: Some(Secret::new("refresh-secret")),
        client_credentials: false,
        identity: None,
        issued_at: START_MS,
        expires_at: Some(START_MS),
    };
    let _ = host.shared.store.lock(&git()).await.expect("a folder");
    host.shared.store.write(&git(), &login).await.expect("written");
    let fault = fixture.token(&host).await.expect_err("stuck");
    assert!(fault.message.starts_with("cannot renew the login to 'git': "), "{fault}");
    assert!(fixture.file().contains("refresh-secret"));
}

#[tokio::test]
async fn an_invalid_login_file_is_reported() {
    let fixture = Fixture::with(&[]);
    let host = fixture.logged_in().await;
    std::fs::write(fixture.directory.path().join("logins/git.json"), "{}").expect("written");
    let fault = fixture.token(&host).await.expect_err("no login");
    assert!(fault.in_one_line().ends_with("Run: gatehouse servers login git"), "{fault}");
    fixture.log_in().await.expect("a new login");
    assert!(fixture.token(&host).await.expect("read").is_some());
}
