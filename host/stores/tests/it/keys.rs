//! Store of API keys: versions, rotation, revocation, and two processes.

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

use gatehouse_core::{
    FaultKind,
    ports::{
        KeyStore as _,
        keys::{KeyRecord, KeySecret, MAX_KEY_SECRETS},
    },
};
use gatehouse_stores::SqliteKeys;

struct Store {
    _dir: tempfile::TempDir,
    path: PathBuf,
    keys: SqliteKeys,
}

fn store() -> Store {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/auth.db");
    let keys = SqliteKeys::new(path.clone());
    Store { _dir: dir, path, keys }
}

fn secret(id: &str, created_at: u64) -> KeySecret {
    KeySecret { id: id.into(), hash: [7; 32], created_at, expires_at: None, last_used_at: None }
}

fn key(name: &str) -> KeyRecord {
    KeyRecord {
        name: name.into(),
        groups: vec!["dev".into(), "ops".into()],
        presets: Some(vec!["context".into()]),
        created_at: 1_000,
        expires_at: Some(9_000),
        secrets: vec![secret(&format!("{name}-1"), 1_000)],
    }
}

#[tokio::test]
async fn keys_are_stored_privately_and_only_adding_creates_the_file() {
    let Store { path, keys, _dir } = store();
    assert_eq!((keys.version().await, keys.list().await), (Ok(0), Ok(Vec::new())));
    let fault = keys.revoke("ci").await.unwrap_err();
    assert_eq!(fault.in_one_line(), "unknown key 'ci'. Run `gatehouse keys list`.");
    assert!(!path.exists());
    let open = KeyRecord { presets: None, expires_at: None, groups: Vec::new(), ..key("ada") };
    keys.add(key("ci")).await.unwrap();
    keys.add(open.clone()).await.unwrap();
    assert_eq!(keys.list().await, Ok(vec![open, key("ci")]));
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    assert_eq!(path.parent().unwrap().metadata().unwrap().permissions().mode() & 0o777, 0o700);
    let fault = keys.add(key("ci")).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
    assert!(fault.message.contains("key 'ci' exists already"), "{}", fault.message);
}

#[tokio::test]
async fn every_change_and_no_use_has_another_version_in_every_process() {
    let Store { path, keys, _dir } = store();
    let other = SqliteKeys::new(path);
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

#[tokio::test]
async fn a_rotation_ends_the_old_secrets_and_their_number_is_bounded() {
    let Store { keys, _dir, .. } = store();
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

#[tokio::test]
async fn a_newer_database_is_refused() {
    let Store { path, keys, _dir } = store();
    keys.add(key("ci")).await.unwrap();
    keys.close().await;
    set_version(&path, 999);
    let fault = SqliteKeys::new(path).version().await.unwrap_err();
    assert!(fault.message.contains("schema version 999 is newer than 100"), "{}", fault.message);
}

/// Sets the schema version, which SQLite stores in the header of the file.
fn set_version(path: &std::path::Path, version: u32) {
    let mut bytes = std::fs::read(path).unwrap();
    bytes[60..64].copy_from_slice(&version.to_be_bytes());
    std::fs::write(path, bytes).unwrap();
}

#[tokio::test]
async fn a_file_that_is_replaced_while_it_is_open_is_used() {
    let Store { path, keys, _dir } = store();
    keys.add(key("ann")).await.unwrap();
    keys.close().await;
    let copy = path.with_extension("copy");
    std::fs::copy(&path, &copy).unwrap();
    let host = SqliteKeys::new(path.clone());
    host.revoke("ann").await.unwrap();
    host.add(key("bob")).await.unwrap();
    let before = host.version().await.unwrap();
    for end in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{end}", path.display()));
    }
    assert_eq!((host.version().await, host.list().await), (Ok(0), Ok(Vec::new())), "no file has no keys");
    std::fs::rename(&copy, &path).unwrap();
    assert_ne!(host.version().await.unwrap(), before);
    let names: Vec<_> = host.list().await.unwrap().into_iter().map(|key| key.name).collect();
    assert_eq!(names, ["ann"]);
    host.revoke("ann").await.unwrap();
    assert_eq!(SqliteKeys::new(path).list().await, Ok(Vec::new()), "the change is in the new file");
}

#[tokio::test]
async fn a_ballast_is_freed_for_a_revocation() {
    let Store { path, keys, _dir } = store();
    keys.add(key("ann")).await.unwrap();
    let ballast = path.with_extension("ballast");
    assert_eq!(ballast.metadata().unwrap().len(), 1 << 20);
    std::fs::remove_file(&ballast).unwrap();
    keys.revoke("ann").await.unwrap();
    assert!(ballast.exists(), "the next revocation has one again");
}

#[tokio::test]
async fn keys_are_read_where_nothing_can_be_written() {
    let Store { path, keys, _dir } = store();
    keys.add(key("ann")).await.unwrap();
    keys.close().await;
    // Like a full or read-only disk: the file next to the database cannot be opened.
    let lock = format!("{}-lock", path.display());
    std::fs::remove_file(&lock).unwrap();
    std::fs::create_dir(&lock).unwrap();
    let host = SqliteKeys::new(path.clone());
    let names: Vec<_> = host.list().await.unwrap().into_iter().map(|key| key.name).collect();
    assert_eq!(names, ["ann"]);
    assert!(host.version().await.unwrap() > 0);
    assert!(host.add(key("bob")).await.is_err());
    std::fs::remove_dir(&lock).unwrap();
    host.add(key("bob")).await.unwrap();
    assert_eq!(host.list().await.unwrap().len(), 2);
    std::fs::write(&path, "no database").unwrap();
    assert!(SqliteKeys::new(path).version().await.is_err(), "a damaged file has no keys");
}
