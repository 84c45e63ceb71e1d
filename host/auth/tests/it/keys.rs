//! API keys: expiry, rotation, revocation, recorded uses.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use gatehouse_auth::{AuthSettings, HostAuthenticator, NewApiKey};
use gatehouse_core::{
    Caller,
    ports::{
        Authenticator as _,
        auth::{AuthRefusal, ProtectedResource},
    },
};

use crate::support::{FakeClock, LOCAL, MemoryKeys, NOON};

const SOON: Duration = Duration::from_millis(750);

struct Host {
    store: Arc<MemoryKeys>,
    clock: Arc<FakeClock>,
    host: HostAuthenticator,
}

impl Host {
    fn new() -> Self {
        let (store, clock) = (Arc::new(MemoryKeys::default()), FakeClock::new());
        let (keys, time) = (Arc::clone(&store) as _, Arc::clone(&clock) as _);
        let host = HostAuthenticator::new(&AuthSettings::default(), keys, time);
        Self { store, clock, host }
    }

    async fn verify(&self, token: &str) -> Result<Arc<Caller>, AuthRefusal> {
        self.host.authenticate(token, ProtectedResource::Preset("dev"), LOCAL).await
    }

    async fn is_unknown(&self, token: &str) -> bool {
        self.refusal(token).await == AuthRefusal::Invalid("unknown or revoked API key".into())
    }

    async fn refusal(&self, token: &str) -> AuthRefusal {
        self.verify(token).await.expect_err("refused")
    }
}

#[tokio::test]
async fn a_key_names_its_caller() {
    let host = Host::new();
    let token = host.store.create("ci", |key| {
        key.groups = vec!["dev".into()];
        key.presets = Some(vec!["context".into()]);
        key.expires_at = Some(NOON + 10_000);
    });
    let caller = host.verify(&token).await.expect("a caller");
    assert_eq!(caller.principal.as_str(), "key:ci");
    assert_eq!(caller.groups, ["dev".into()]);
    assert!(caller.opens_preset("context") && !caller.opens_preset("dev"));
    assert_eq!(caller.expires_at, Some(NOON + 10_000));
    let id = token.split('_').nth(1).expect("an identifier");
    assert_eq!(*caller.credential, format!("key {id}"));
    assert!(host.host.metadata().is_none(), "there is no issuer");
}

#[tokio::test(start_paused = true)]
async fn streams_of_a_revoked_or_expired_key_end_without_a_call() {
    let host = Host::new();
    let revoked = host.verify(&host.store.create("ci", |_| {})).await.expect("a caller");
    let expires = host.store.create("ada", |key| key.expires_at = Some(NOON + 60_000));
    tokio::time::advance(SOON).await;
    let expired = host.verify(&expires).await.expect("a caller");
    host.store.remove("ci");
    let start = tokio::time::Instant::now();
    revoked.ended.cancelled().await;
    assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
    assert!(!expired.ended.is_cancelled());
    host.clock.advance(Duration::from_secs(60));
    let start = tokio::time::Instant::now();
    expired.ended.cancelled().await;
    assert!(start.elapsed() <= Duration::from_secs(1), "{:?}", start.elapsed());
}

#[tokio::test(start_paused = true)]
async fn made_up_keys_are_refused_alike_and_ask_the_store_nothing() {
    let host = Host::new();
    let token = host.store.create("ci", |_| {});
    assert!(host.verify(&token).await.is_ok());
    let other = NewApiKey::generate(NOON).expect("a key").token;
    let (id, secret) = (token.rsplit_once('_').expect("parts").0, other.rsplit_once('_').expect("parts").1);
    for wrong in [other.as_str(), &format!("{id}_{secret}"), "ghk_", "ghk_x_y", &token[..token.len() - 1]] {
        assert!(host.is_unknown(wrong).await, "{wrong}");
    }
    assert_eq!(host.store.questions.load(Ordering::Relaxed), 1);
    let reason = host.verify("anything").await.expect_err("refused");
    assert_eq!(reason, AuthRefusal::Invalid("unknown token".into()));
    assert_eq!(
        host.verify(&"x".repeat(20_000)).await.expect_err("refused"),
        AuthRefusal::Invalid("the token is too long".into())
    );
}

#[tokio::test(start_paused = true)]
async fn a_revoked_key_fails_within_a_second() {
    let host = Host::new();
    let (token, other) = (host.store.create("ci", |_| {}), host.store.create("ada", |_| {}));
    let before = host.verify(&other).await.expect("a caller");
    assert!(host.verify(&token).await.is_ok());
    host.store.remove("ci");
    tokio::time::advance(SOON).await;
    assert!(host.is_unknown(&token).await);
    let after = host.verify(&other).await.expect("a caller");
    assert!(Arc::ptr_eq(&before, &after), "an unchanged caller stays");
    let new = host.store.create("new", |_| {});
    tokio::time::advance(SOON).await;
    assert!(host.verify(&new).await.is_ok(), "a new key works too");
}

#[tokio::test(start_paused = true)]
async fn an_unreadable_store_refuses_every_key_for_now() {
    let host = Host::new();
    let token = host.store.create("ci", |_| {});
    assert!(host.verify(&token).await.is_ok());
    *host.store.broken.lock().expect("a flag") = true;
    tokio::time::advance(SOON).await;
    assert!(matches!(host.verify(&token).await, Err(AuthRefusal::Unavailable(_))));
    *host.store.broken.lock().expect("a flag") = false;
    assert!(host.verify(&token).await.is_ok());
}

#[tokio::test]
async fn keys_and_rotated_secrets_expire() {
    let host = Host::new();
    let old = NewApiKey::generate(NOON).expect("a key");
    let token = host.store.create("ci", |key| {
        let mut secret = old.secret.clone();
        secret.expires_at = Some(NOON + 1_000);
        key.secrets.push(secret);
        key.expires_at = Some(NOON + 2_000);
    });
    assert!(host.verify(&token).await.is_ok() && host.verify(&old.token).await.is_ok(), "both work");
    host.clock.advance(Duration::from_secs(1));
    let expired = AuthRefusal::Invalid("the API key has expired".into());
    assert_eq!(host.refusal(&old.token).await, expired);
    assert!(host.verify(&token).await.is_ok());
    host.clock.advance(Duration::from_secs(1));
    assert_eq!(host.refusal(&token).await, expired);
}

#[tokio::test]
async fn a_use_is_recorded_once_a_minute() {
    let host = Host::new();
    let token = host.store.create("ci", |_| {});
    for _ in 0..3 {
        for _ in 0..10 {
            assert!(host.verify(&token).await.is_ok());
        }
        host.clock.advance(Duration::from_secs(30));
    }
    // The uses are recorded by tasks.
    tokio::task::yield_now().await;
    let uses: Vec<u64> = host.store.uses.lock().expect("uses").iter().map(|(_, at)| at - NOON).collect();
    assert_eq!(uses, [0, 60_000]);
}
