//! Versions, rotation, revocation, and two processes.

use gatehouse_core::{
    FaultKind,
    ports::{KeyStore as _, keys::MAX_KEY_SECRETS},
};

use super::{key, secret};
use crate::engines::KeyFixture;

pub(crate) async fn every_change_and_no_use_has_another_version_in_every_process<F: KeyFixture>(engine: F) {
    let (keys, other) = (engine.open_keys(), engine.open_keys());
    let mut versions = vec![other.version().await.unwrap()];
    keys.add(key("ci")).await.unwrap();
    versions.push(other.version().await.unwrap());
    keys.rotate("ci", secret("ci-2", 2_000), 3_000, None).await.unwrap();
    versions.push(other.version().await.unwrap());
    keys.record_use("ci-2", 2_500).await.unwrap();
    keys.record_use("ci-2", 2_400).await.unwrap();
    assert_eq!(other.version().await.unwrap(), versions[2], "a use is not a change");
    assert_eq!(other.list().await.unwrap()[0].secrets[0].last_used_at, Some(2_500));
    keys.revoke("ci").await.unwrap();
    versions.push(other.version().await.unwrap());
    assert!(versions.is_sorted_by(|a, b| a < b), "{versions:?}");
    assert_eq!(other.list().await, Ok(Vec::new()));
    keys.add(key("ci")).await.unwrap();
    assert_eq!(other.list().await.unwrap()[0].secrets.len(), 1, "the secrets went with the key");
}

pub(crate) async fn a_rotation_ends_the_old_secrets_and_their_number_is_bounded<F: KeyFixture>(engine: F) {
    let keys = engine.open_keys();
    keys.add(key("ci")).await.unwrap();
    keys.rotate("ci", secret("ci-2", 2_000), 5_000, None).await.unwrap();
    keys.rotate("ci", secret("ci-3", 3_000), 9_000, Some(20_000)).await.unwrap();
    let stored = keys.list().await.unwrap().remove(0);
    let ends: Vec<_> = stored.secrets.iter().map(|one| (one.id.as_str(), one.expires_at)).collect();
    assert_eq!(ends, [("ci-3", None), ("ci-2", Some(9_000)), ("ci-1", Some(5_000))]);
    assert_eq!(stored.expires_at, Some(20_000));
    // An ended secret is removed by the next rotation.
    keys.rotate("ci", secret("ci-4", 6_000), 9_000, None).await.unwrap();
    let ids = async || {
        let stored = keys.list().await.unwrap().remove(0);
        stored.secrets.into_iter().map(|one| one.id).collect::<Vec<_>>()
    };
    assert_eq!(ids().await, ["ci-4", "ci-3", "ci-2"]);
    for number in 5..20 {
        keys.rotate("ci", secret(&format!("ci-{number}"), 6_000 + number), 90_000, None).await.unwrap();
    }
    assert_eq!(ids().await, ["ci-19", "ci-18", "ci-17", "ci-16"]);
    assert_eq!(ids().await.len(), MAX_KEY_SECRETS);
    assert_eq!(keys.rotate("no", secret("x", 0), 0, None).await.unwrap_err().kind, FaultKind::NotFound);
}

pub(crate) async fn of_two_hosts_that_add_one_name_one_does<F: KeyFixture>(engine: F) {
    let (here, there) = (engine.open_keys(), engine.open_keys());
    for number in 0..10 {
        let name = format!("ci-{number}");
        let (one, two) = tokio::join!(here.add(key(&name)), there.add(key(&name)));
        assert!(one.is_ok() != two.is_ok(), "{one:?} {two:?}");
        assert_eq!(one.and(two).unwrap_err().kind, FaultKind::InvalidArguments);
    }
    assert_eq!(here.list().await.unwrap().len(), 10);
}
