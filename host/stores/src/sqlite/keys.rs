//! API keys in `auth.db`, which commands change while hosts read it.

use std::path::PathBuf;

use async_trait::async_trait;
use gatehouse_core::{
    names::quoted,
    outcome::Fault,
    ports::{
        KeyStore,
        keys::{KeyRecord, KeySecret, MAX_API_KEYS, MAX_KEY_SECRETS},
    },
};
use gatehouse_files::{Durability, write_private};
use rusqlite::{Connection, Row, params};

use super::{
    copy::DataFile,
    db::{Database, identity},
    error::{Result, StoreError},
    statements::CachedStatements as _,
};

/// Bytes next to the file that are freed before a key is revoked, so that this works on a full disk.
const BALLAST_BYTES: usize = 1 << 20;

pub struct SqliteKeys {
    db: Database,
}

impl SqliteKeys {
    /// Uses `auth.db` at `path`. Only [`KeyStore::add`] creates it.
    pub fn new(path: PathBuf) -> Self {
        Self { db: Database::new(DataFile::Auth, path) }
    }

    /// Closes the store permanently and checkpoints the file.
    pub async fn close(&self) {
        self.db.close().await;
    }

    fn ballast(&self) -> PathBuf {
        self.db.path().with_extension("ballast")
    }

    /// Writes the ballast if it is missing. On a full disk, the next key does.
    async fn place_ballast(&self) {
        let path = self.ballast();
        let place = move || {
            if !path.exists() {
                let _ignored = write_private(&path, &vec![0xa5; BALLAST_BYTES], Durability::Unsynced);
            }
        };
        let _ = tokio::task::spawn_blocking(place).await;
    }

    /// Runs a write if the file exists, so that nothing else creates it.
    async fn write_existing(
        &self,
        name: &str,
        work: impl FnOnce(&Connection) -> Result<bool> + Send + 'static,
    ) -> Result<(), Fault> {
        let existed = self.db.exists().await && self.db.write(|db| work(db)).await?;
        if existed { Ok(()) } else { Err(unknown_key(name)) }
    }
}

fn unknown_key(name: &str) -> Fault {
    Fault::not_found(format!("unknown key '{}'", quoted(name, 64))).hint("Run `gatehouse keys list`.")
}

fn time(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

fn from_stored(ms: i64) -> u64 {
    ms.max(0).unsigned_abs()
}

#[async_trait]
impl KeyStore for SqliteKeys {
    async fn version(&self) -> Result<u64, Fault> {
        if !self.db.exists().await {
            return Ok(0);
        }
        let read = |db: &Connection| db.value::<i64>("SELECT version FROM auth_state", []);
        let stored = from_stored(self.db.read(read).await?);
        // A file that takes its place has the same version, if it is a copy.
        let (device, inode) = identity(self.db.path()).unwrap_or_default();
        Ok(stored.wrapping_add(inode.wrapping_add(device.rotate_left(32)) << 24))
    }

    async fn list(&self) -> Result<Vec<KeyRecord>, Fault> {
        if !self.db.exists().await {
            return Ok(Vec::new());
        }
        self.db.read(read_all).await
    }

    async fn add(&self, key: KeyRecord) -> Result<(), Fault> {
        self.db.write(move |db| insert(db, &key)).await?;
        self.place_ballast().await;
        Ok(())
    }

    async fn rotate(
        &self,
        name: &str,
        secret: KeySecret,
        end_of_old: u64,
        expires_at: Option<u64>,
    ) -> Result<(), Fault> {
        let key = name.to_owned();
        let write = move |db: &Connection| {
            let exists: Option<i64> = db.find("SELECT 1 FROM key WHERE name = ?1", [&key])?;
            if exists.is_none() {
                return Ok(false);
            }
            let old = "UPDATE secret SET expires_at = min(coalesce(expires_at, ?2), ?2) WHERE key = ?1";
            db.run(old, params![key, time(end_of_old)])?;
            let ended = "DELETE FROM secret WHERE key = ?1 AND (expires_at <= ?2 OR id IN
                (SELECT id FROM secret WHERE key = ?1 ORDER BY created_at DESC, id LIMIT -1 OFFSET ?3))";
            db.run(ended, params![key, time(secret.created_at), MAX_KEY_SECRETS as i64 - 1])?;
            insert_secret(db, &key, &secret)?;
            if let Some(expires_at) = expires_at {
                db.run("UPDATE key SET expires_at = ?2 WHERE name = ?1", params![key, time(expires_at)])?;
            }
            Ok(true)
        };
        self.write_existing(name, write).await
    }

    async fn revoke(&self, name: &str) -> Result<(), Fault> {
        let key = name.to_owned();
        let write = move |db: &Connection| Ok(db.run("DELETE FROM key WHERE name = ?1", [key])? > 0);
        let _ignored = tokio::fs::remove_file(self.ballast()).await;
        let revoked = self.write_existing(name, write).await;
        if self.db.exists().await {
            self.place_ballast().await;
        }
        revoked
    }

    async fn record_use(&self, id: &str, at: u64) -> Result<(), Fault> {
        let id = id.to_owned();
        // Another process may have recorded a later use.
        let sql = "UPDATE secret SET last_used_at = max(coalesce(last_used_at, 0), ?2) WHERE id = ?1";
        if !self.db.exists().await {
            return Ok(());
        }
        self.db.write(move |db| db.run(sql, params![id, time(at)]).map(drop)).await
    }
}

fn insert(db: &Connection, key: &KeyRecord) -> Result<()> {
    let count: i64 = db.value("SELECT count(*) FROM key", [])?;
    if count >= MAX_API_KEYS as i64 {
        return Err(Fault::exhausted(format!("there are already {MAX_API_KEYS} keys, which is the limit"))
            .hint("Revoke keys that are no longer used: `gatehouse keys revoke NAME`.")
            .into());
    }
    let json = |list: &Vec<String>| serde_json::to_string(list).map_err(StoreError::invalid);
    let added = db.run(
        "INSERT OR IGNORE INTO key (name, groups, presets, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![
            key.name,
            json(&key.groups)?,
            key.presets.as_ref().map(json).transpose()?,
            time(key.created_at),
            key.expires_at.map(time)
        ],
    )?;
    if added == 0 {
        let name = quoted(&key.name, 64);
        return Err(Fault::invalid(format!("key '{name}' exists already"))
            .hint(format!("Run `gatehouse keys rotate {name}` for a new secret, or choose another name."))
            .into());
    }
    key.secrets.iter().try_for_each(|secret| insert_secret(db, &key.name, secret))
}

fn insert_secret(db: &Connection, key: &str, secret: &KeySecret) -> Result<()> {
    db.run(
        "INSERT INTO secret (id, key, hash, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)",
        params![secret.id, key, &secret.hash[..], time(secret.created_at), secret.expires_at.map(time)],
    )?;
    Ok(())
}

/// Name, groups, presets, creation and expiry of a key.
type KeyRow = (String, String, Option<String>, i64, Option<i64>);

fn read_all(db: &Connection) -> Result<Vec<KeyRecord>> {
    let sql = "SELECT name, groups, presets, created_at, expires_at FROM key ORDER BY name";
    let rows: Vec<KeyRow> = db.all(sql, [], |row| row.try_into())?;
    let mut keys = Vec::with_capacity(rows.len());
    for (name, groups, presets, created_at, expires_at) in rows {
        let list = |json: &str| serde_json::from_str(json).map_err(StoreError::invalid);
        keys.push(KeyRecord {
            name,
            groups: list(&groups)?,
            presets: presets.as_deref().map(list).transpose()?,
            created_at: from_stored(created_at),
            expires_at: expires_at.map(from_stored),
            secrets: Vec::new(),
        });
    }
    let sql =
        "SELECT key, id, hash, created_at, expires_at, last_used_at FROM secret ORDER BY created_at DESC, id";
    let secrets: Vec<(String, KeySecret)> = db.all(sql, [], read_secret)?;
    for (key, secret) in secrets {
        if let Ok(index) = keys.binary_search_by(|record| record.name.as_str().cmp(&key)) {
            keys[index].secrets.push(secret);
        }
    }
    Ok(keys)
}

fn read_secret(row: &Row<'_>) -> rusqlite::Result<(String, KeySecret)> {
    let secret = KeySecret {
        id: row.get(1)?,
        hash: row.get(2)?,
        created_at: from_stored(row.get(3)?),
        expires_at: row.get::<_, Option<i64>>(4)?.map(from_stored),
        last_used_at: row.get::<_, Option<i64>>(5)?.map(from_stored),
    };
    Ok((row.get(0)?, secret))
}
