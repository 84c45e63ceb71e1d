//! Renewal of logins.

use futures_util::future::join_all;
use gatehouse_core::{FaultKind, http::Secret};
use tokio::time::{Duration, timeout};

use super::*;

const OVER: &str = "the login to 'git' is no longer valid. Run: gatehouse servers login git";

#[tokio::test]
async fn it_is_renewed_ahead_of_its_end_once_for_all() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    place.advance(3600 - 61);
    place.token(&host).await.expect("still good");
    assert_eq!(place.authority.renewals(), 0);
    place.advance(2);
    let tokens = join_all((0..20).map(|_| place.token(&host))).await;
    let (access, refresh) = place.authority.tokens();
    assert!(tokens.iter().all(|token| token.as_ref() == Ok(&Some(access.clone()))), "{tokens:?}");
    assert_eq!(place.authority.renewals(), 1);
    assert!(place.file().contains(&refresh), "the new one is stored");
    let renewed = place.authority.seen("/token").remove(1).form;
    assert_eq!((&*renewed["client_id"], &renewed["resource"]), ("registered-1", &place.authority.url("")));
    assert_eq!(place.token(&place.host()).await, Ok(Some(access)), "after a restart too");
}

#[tokio::test]
async fn two_hosts_on_one_folder_use_one_refresh_token_once() {
    let place = Place::with(&[]);
    place.log_in().await.expect("a login");
    place.advance(3590);
    let hosts: Vec<Logins> = (0..6).map(|_| place.host()).collect();
    let tokens = join_all(hosts.iter().map(|host| place.token(host))).await;
    let (access, _) = place.authority.tokens();
    assert!(tokens.iter().all(|token| token.as_ref() == Ok(&Some(access.clone()))), "{tokens:?}");
    assert_eq!(place.authority.renewals(), 1);
}

#[tokio::test]
async fn a_server_without_rotation_keeps_its_refresh_token() {
    let place = Place::with(&[Vice::KeepsRefresh]);
    let host = place.logged_in().await;
    let (_, refresh) = place.authority.tokens();
    for _ in 0..2 {
        place.advance(3600);
        place.token(&host).await.expect("renewed").expect("a token");
    }
    assert_eq!(place.authority.renewals(), 2);
    assert!(place.file().contains(&refresh));
}

#[tokio::test]
async fn a_token_that_ends_in_mid_call_is_renewed_and_the_call_sent_again_once() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    let used = host.bearer("git", &place.url(), &place.target()).await.expect("read").expect("a token");
    place.authority.expire();
    let again = host.renew_refused_token("git", &place.url(), Some(&used)).await.expect("renewed");
    assert_eq!(again.reveal(), place.authority.tokens().0);
    // A concurrent call with the old token gets the renewed one.
    let same = host.renew_refused_token("git", &place.url(), Some(&used)).await.expect("renewed before");
    assert_eq!((same, place.authority.renewals()), (again.clone(), 1));
    // A call that had no token, because the login is newer.
    assert_eq!(host.renew_refused_token("git", &place.url(), None).await, Ok(again));
    assert_eq!(Logins::refused_again_fault("git").in_one_line(), OVER);
}

#[tokio::test]
async fn a_refused_renewal_says_what_to_do() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    place.authority.now(Vice::RefreshRefused);
    place.advance(3590);
    let (access, _) = place.authority.tokens();
    assert_eq!(place.token(&host).await, Ok(Some(access)), "it still holds for ten seconds");
    place.advance(10);
    let fault = place.token(&host).await.expect_err("over");
    assert_eq!(
        (fault.kind, fault.retryable, fault.in_one_line()),
        (FaultKind::Denied, false, OVER.to_owned())
    );
    assert_eq!(place.authority.renewals(), 1, "a refused token is not sent again");
    assert_eq!(host.state("git", &place.url()).await, Ok(LoginState::Ended));
    place.authority.no_longer(Vice::RefreshRefused);
    place.log_in().await.expect("a new login");
    assert!(place.token(&host).await.expect("read").is_some(), "the running host takes it");
}

#[tokio::test]
async fn a_login_without_refresh_token_holds_until_its_end() {
    let place = Place::with(&[Vice::NoRefresh]);
    let host = place.logged_in().await;
    place.advance(3599);
    assert!(place.token(&host).await.expect("read").is_some());
    place.advance(1);
    assert_eq!(place.token(&host).await.map_err(|fault| fault.in_one_line()), Err(OVER.to_owned()));
    assert!(place.authority.seen("/token").len() == 1 && place.authority.renewals() == 0);
}

#[tokio::test]
async fn a_server_that_fails_costs_no_login() {
    for vice in [Vice::TokenFails, Vice::TokenIsHtml, Vice::TokenLarge] {
        let place = Place::with(&[]);
        let host = place.logged_in().await;
        place.authority.now(vice);
        place.advance(3590);
        let (access, refresh) = place.authority.tokens();
        for _ in 0..3 {
            assert_eq!(place.token(&host).await, Ok(Some(access.clone())), "{vice:?}: it still holds");
        }
        assert_eq!(place.authority.renewals(), 1, "{vice:?}: it is left alone for a while");
        place.advance(10);
        let fault = place.token(&host).await.expect_err("it is over");
        assert!(fault.message.starts_with("cannot renew the login to 'git': "), "{vice:?}: {fault}");
        assert!(!format!("{fault:?}").contains("secret"), "{vice:?}: {fault:?}");
        place.authority.no_longer(vice);
        assert!(place.file().contains(&refresh), "{vice:?}: nothing is lost");
        assert!(place.token(&place.host()).await.expect("renewed").is_some(), "{vice:?}");
    }
}

#[tokio::test]
async fn a_client_that_is_unknown_keeps_its_login() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    place.authority.now(Vice::ClientUnknown);
    place.advance(3600);
    assert_eq!(place.token(&host).await.map_err(|fault| fault.in_one_line()), Err(OVER.to_owned()));
    place.authority.no_longer(Vice::ClientUnknown);
    assert!(place.token(&place.host()).await.expect("renewed").is_some());
}

#[tokio::test]
async fn a_caller_that_gives_up_takes_no_token_with_it() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    place.advance(3600);
    // Poll once, so that the renewal starts.
    let used = Secret::new(place.authority.tokens().0);
    assert!(timeout(Duration::ZERO, host.renew("git", &used)).await.is_err());
    host.close().await;
    let (access, refresh) = place.authority.tokens();
    assert!(place.file().contains(&access) && place.file().contains(&refresh));
    assert_eq!((place.authority.renewals(), access == used.reveal()), (1, false));
}

#[tokio::test]
async fn a_clock_that_was_set_back_is_noticed() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    place.clock.0.store(NOON - 24 * 3_600_000, Ordering::Relaxed);
    place.token(&host).await.expect("renewed").expect("a token");
    assert_eq!(place.authority.renewals(), 1);
    place.token(&host).await.expect("read").expect("a token");
    assert_eq!(place.authority.renewals(), 1, "once");
}

#[tokio::test(start_paused = true)]
async fn a_token_endpoint_that_is_stuck_is_given_up() {
    let place = Place::with(&[]);
    place.authority.now(Vice::TokenStuck);
    let host = place.host();
    let login = crate::login::login_store::StoredLogin {
        server: place.url(),
        resource: place.url(),
        issuer: place.authority.url(""),
        confirmed_origins: None,
        named_issuer: None,
        token_endpoint: place.authority.url("/token"),
        revocation_endpoint: None,
        client: serde_json::from_str(r#"{"id": "x", "auth_method": "none"}"#).expect("a client"),
        scopes: Vec::new(),
        access_token: Secret::new("access-secret"),
        refresh_token: Some(Secret::new("refresh-secret")),
        issued_at: NOON,
        expires_at: Some(NOON),
    };
    let _ = host.shared.store.lock("git").await.expect("a folder");
    host.shared.store.write("git", &login).await.expect("written");
    let fault = place.token(&host).await.expect_err("stuck");
    assert!(fault.message.starts_with("cannot renew the login to 'git': "), "{fault}");
    assert!(place.file().contains("refresh-secret"));
}

#[tokio::test]
async fn a_file_that_is_none_is_said() {
    let place = Place::with(&[]);
    let host = place.logged_in().await;
    std::fs::write(place.folder.path().join("logins/git.json"), "{}").expect("written");
    let fault = place.token(&host).await.expect_err("no login");
    assert!(fault.in_one_line().ends_with("Run: gatehouse servers login git"), "{fault}");
    place.log_in().await.expect("a new login");
    assert!(place.token(&host).await.expect("read").is_some());
}
