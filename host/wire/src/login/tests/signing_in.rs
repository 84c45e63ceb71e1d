//! Sign-ins of principals in a browser.

use gatehouse_core::{Caller, FaultKind, Principal, http::Secret};

use super::*;
use crate::login::LoginTargets;

const BASE: &str = "https://gatehouse.example";

struct OneServer(String);

impl LoginTargets for OneServer {
    fn login_target(&self, server: &str) -> Option<(String, LoginSettings)> {
        (server == "git").then(|| (self.0.clone(), LoginSettings::default()))
    }
}

fn named(name: &str) -> Principal {
    Principal::Named(name.into())
}

fn own(name: &str) -> LoginId {
    LoginId::from_principal("git", &named(name))
}

fn open(fixture: &Fixture) -> Logins {
    let host = fixture.host();
    host.sign_ins().open(&format!("{BASE}/"), Arc::new(OneServer(fixture.url())));
    host
}

#[tokio::test]
async fn a_principal_signs_in_and_the_login_is_its_own() {
    let fixture = Fixture::with(&[]);
    let host = open(&fixture);
    let mut link = host.sign_ins().link(&own("key:ann")).expect("a link");
    assert_eq!(link.url, format!("{BASE}/sign-in/{}", link.id));
    assert_eq!(host.sign_ins().link(&own("key:ann")).expect("the same").id, link.id);
    assert_ne!(host.sign_ins().link(&own("key:bob")).expect("another").id, link.id);
    let started = host.start_sign_in(&link.id, &Caller::named("key:ann")).await.expect("started");
    let answer = agree(&started.address);
    assert!(answer.as_str().starts_with(&format!("{BASE}/sign-in/callback?")), "{answer}");
    let registered = &fixture.authority.seen("/register")[0].body;
    assert!(registered.contains("\"application_type\":\"web\""), "{registered}");
    let cookie = &started.cookie;
    let login =
        host.finish_sign_in(&answer, &[Secret::new("another"), cookie.clone()]).await.expect("signed in");
    assert_eq!(login, own("key:ann"));
    assert!(link.ended.wait_for(|ended| *ended).await.is_ok());
    let (token, _) = fixture.authority.tokens();
    let bearer = |id: LoginId| {
        let (host, url, target) = (&host, fixture.url(), fixture.target());
        async move {
            host.bearer(&id, &url, &target).await.map(|token| token.map(|token| token.reveal().to_owned()))
        }
    };
    assert_eq!(bearer(own("key:ann")).await, Ok(Some(token)));
    assert_eq!((bearer(own("key:bob")).await, bearer(git()).await), (Ok(None), Ok(None)));
    assert_eq!(host.of_principals().await, Ok(vec![own("key:ann")]));
    let again = host.finish_sign_in(&answer, std::slice::from_ref(cookie)).await.expect_err("used");
    assert_eq!(again.kind, FaultKind::NotFound, "{again}");
}

#[tokio::test]
async fn a_link_works_for_its_principal_in_one_browser_alone() {
    let fixture = Fixture::with(&[]);
    let host = open(&fixture);
    let link = host.sign_ins().link(&own("key:ann")).expect("a link");
    for other in [Caller::named("key:bob"), Caller::local()] {
        let refused = host.start_sign_in(&link.id, &other).await.map(drop).expect_err("not the principal");
        assert!(
            refused.kind == FaultKind::Denied && refused.message.contains("for another person"),
            "{refused}"
        );
    }
    assert!(fixture.authority.seen("/register").is_empty(), "nothing was requested");
    let started = host.start_sign_in(&link.id, &Caller::named("key:ann")).await.expect("started");
    let answer = agree(&started.address);
    for cookies in [vec![], vec![Secret::new("")], vec![Secret::new("guessed")]] {
        let refused = host.finish_sign_in(&answer, &cookies).await.expect_err("another browser");
        assert_eq!(refused.kind, FaultKind::NotFound, "{refused}");
    }
    let mut forged = answer.clone();
    forged.set_query(Some("code=x&state=guessed"));
    assert!(host.finish_sign_in(&forged, std::slice::from_ref(&started.cookie)).await.is_err());
    assert!(fixture.authority.seen("/token").is_empty(), "no code was redeemed");
    assert!(
        host.finish_sign_in(&answer, std::slice::from_ref(&started.cookie)).await.is_ok(),
        "it still waits"
    );
}

#[tokio::test]
async fn a_revoked_key_finishes_no_sign_in() {
    let fixture = Fixture::with(&[]);
    let host = open(&fixture);
    let link = host.sign_ins().link(&own("key:ann")).expect("a link");
    let caller = Caller::named("key:ann");
    let started = host.start_sign_in(&link.id, &caller).await.expect("started");
    let answer = agree(&started.address);
    caller.ended.cancel();
    let refused =
        host.finish_sign_in(&answer, std::slice::from_ref(&started.cookie)).await.expect_err("revoked");
    assert_eq!((refused.kind, host.of_principals().await), (FaultKind::NotFound, Ok(Vec::new())));
    assert!(fixture.authority.seen("/token").is_empty(), "no code was redeemed");
}

#[tokio::test]
async fn a_refusal_ends_the_link() {
    let fixture = Fixture::with(&[]);
    let host = open(&fixture);
    let mut link = host.sign_ins().link(&own("key:ann")).expect("a link");
    let started = host.start_sign_in(&link.id, &Caller::named("key:ann")).await.expect("started");
    let mut refused = agree(&started.address);
    let state = refused.query_pairs().find(|(name, _)| name == "state").expect("a state").1.into_owned();
    refused.query_pairs_mut().clear().append_pair("error", "access_denied").append_pair("state", &state);
    let fault =
        host.finish_sign_in(&refused, std::slice::from_ref(&started.cookie)).await.expect_err("refused");
    assert!(fault.message.contains("refused the login: access_denied"), "{fault}");
    assert!(link.ended.wait_for(|ended| *ended).await.is_err(), "whoever waits goes on");
    assert_ne!(host.sign_ins().link(&own("key:ann")).expect("a new link").id, link.id);
}

#[tokio::test(start_paused = true)]
async fn links_end() {
    let fixture = Fixture::with(&[]);
    let host = fixture.host();
    assert!(host.sign_ins().link(&own("key:ann")).is_none(), "this host serves no browsers");
    host.sign_ins().open(BASE, Arc::new(OneServer(fixture.url())));
    assert!(host.sign_ins().link(&LoginId::from_principal("hub", &named("key:ann"))).is_none());
    let link = host.sign_ins().link(&own("key:ann")).expect("a link");
    tokio::time::advance(std::time::Duration::from_secs(601)).await;
    assert_eq!(host.sign_ins().login(&link.id), None);
    let over = host.start_sign_in(&link.id, &Caller::named("key:ann")).await.map(drop).expect_err("over");
    assert_eq!(over.kind, FaultKind::NotFound, "{over}");
    let first = host.sign_ins().link(&own("key:0")).expect("a link");
    for n in 1..=1_000 {
        tokio::time::advance(std::time::Duration::from_millis(1)).await;
        host.sign_ins().link(&own(&format!("key:{n}"))).expect("a link");
    }
    assert_eq!(host.sign_ins().login(&first.id), None, "the oldest makes room");
}

#[tokio::test]
async fn a_login_of_one_principal_is_not_anothers_when_the_file_is_renamed() {
    let fixture = Fixture::with(&[]);
    let host = fixture.host();
    host.store_token(&own("key:ann"), &fixture.url(), &Secret::new("pat-1")).await.expect("stored");
    let folder = fixture.directory.path().join("logins");
    let file = |id: &LoginId| folder.join(format!("{}.json", id.file_stem().expect("a name")));
    std::fs::copy(file(&own("key:ann")), file(&own("key:bob"))).expect("copied");
    std::fs::copy(file(&own("key:ann")), file(&git())).expect("copied");
    for id in [own("key:bob"), git()] {
        let fault = host.bearer(&id, &fixture.url(), &fixture.target()).await.expect_err("not its login");
        assert!(fault.message.contains("is not a valid login file"), "{fault}");
    }
    assert_eq!(host.of_principal(&named("key:bob")).await, Ok(vec![own("key:bob")]), "to erase it");
    host.log_out(&own("key:bob")).await.expect("removed");
    assert!(!file(&own("key:bob")).exists());
    for bad in ["", "two words", "line\nbreak"] {
        let secret = Secret::new(bad);
        assert!(host.store_token(&own("key:ann"), &fixture.url(), &secret).await.is_err(), "{bad:?}");
    }
}
