//! API keys in a file.

use std::{os::unix::fs::PermissionsExt as _, path::PathBuf};

use gatehouse_core::{
    FaultKind,
    ports::{KeyStore as _, keys::KeyRecord},
};
use gatehouse_stores::KeyTables;

use super::Sqlite;
use crate::{
    engines::KeyFixture,
    key_behaviours::{key, key_behaviours},
};

impl KeyFixture for Sqlite {
    fn open_keys(&self) -> KeyTables {
        KeyTables::sqlite(self.dir.path().join("state/auth.db"))
    }
}

key_behaviours!(Sqlite);

struct Store {
    _dir: tempfile::TempDir,
    path: PathBuf,
    keys: KeyTables,
}

fn store() -> Store {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("state/auth.db");
    let keys = KeyTables::sqlite(path.clone());
    Store { _dir: dir, path, keys }
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
async fn a_newer_database_is_refused() {
    let Store { path, keys, _dir } = store();
    keys.add(key("ci")).await.unwrap();
    keys.close().await;
    set_version(&path, 999);
    let fault = KeyTables::sqlite(path).version().await.unwrap_err();
    assert!(fault.message.contains("schema version 999 is newer than 101"), "{}", fault.message);
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
    let host = KeyTables::sqlite(path.clone());
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
    assert_eq!(KeyTables::sqlite(path).list().await, Ok(Vec::new()), "the change is in the new file");
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
    let host = KeyTables::sqlite(path.clone());
    let names: Vec<_> = host.list().await.unwrap().into_iter().map(|key| key.name).collect();
    assert_eq!(names, ["ann"]);
    assert!(host.version().await.unwrap() > 0);
    assert!(host.add(key("bob")).await.is_err());
    std::fs::remove_dir(&lock).unwrap();
    host.add(key("bob")).await.unwrap();
    assert_eq!(host.list().await.unwrap().len(), 2);
    std::fs::write(&path, "no database").unwrap();
    assert!(KeyTables::sqlite(path).version().await.is_err(), "a damaged file has no keys");
}
