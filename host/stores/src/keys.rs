//! API keys, which commands change while hosts read them.

use std::{path::PathBuf, sync::Arc};

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

#[cfg(feature = "postgres")]
use crate::sql::postgres::{PostgresConfig, PostgresServer, SchemaPart, ServerTables};
use crate::{
    sql::sqlite::{FileKind, SqliteDatabase, identity},
    sql::{
        Database, Result, Session, SqlRow, StoreError, Turn,
        schema::{SchemaStep, Steps},
        values,
    },
};

/// The file of this domain.
pub(crate) const FILE: FileKind =
    FileKind { is_replaceable: true, ..FileKind::new("auth.db", "the API keys", SCHEMA) };

/// The tables of this domain.
#[cfg(feature = "postgres")]
pub(crate) const PART: SchemaPart = SchemaPart::new("keys", 5, SCHEMA);

pub(crate) const SCHEMA: Steps = &[SchemaStep {
    // 1: keys and their secrets. Times are in Unix milliseconds; lists are JSON. Triggers count changes, so that no
    // statement can forget it. The use of a secret is not a change.
    both: "
    CREATE TABLE api_key (
        name       TEXT PRIMARY KEY,
        groups     TEXT NOT NULL,
        presets    TEXT,
        created_at INTEGER NOT NULL,
        expires_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE api_secret (
        id           TEXT PRIMARY KEY,
        key          TEXT NOT NULL REFERENCES api_key ON DELETE CASCADE,
        hash         BLOB NOT NULL CHECK (length(hash) = 32),
        created_at   INTEGER NOT NULL,
        expires_at   INTEGER,
        last_used_at INTEGER
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX api_secret_key ON api_secret (key);
    CREATE TABLE auth_state (
        one     INTEGER PRIMARY KEY CHECK (one = 1),
        version INTEGER NOT NULL
    ) STRICT;
    INSERT INTO auth_state VALUES (1, 1);
",
    sqlite: "
    CREATE TRIGGER key_removed AFTER DELETE ON api_key BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    CREATE TRIGGER key_changed AFTER UPDATE ON api_key BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    CREATE TRIGGER secret_added AFTER INSERT ON api_secret BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    CREATE TRIGGER secret_removed AFTER DELETE ON api_secret BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
    CREATE TRIGGER secret_changed AFTER UPDATE OF id, key, hash, expires_at ON api_secret BEGIN
        UPDATE auth_state SET version = version + 1;
    END;
",
    postgres: "
    -- Tables that are made again do not have the versions of those before.
    UPDATE auth_state SET version = (random() * 1e15)::bigint;
    CREATE FUNCTION gatehouse.count_auth_change() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        UPDATE gatehouse.auth_state SET version = version + 1;
        RETURN NULL;
    END $$;
    CREATE TRIGGER key_changed AFTER DELETE OR UPDATE ON api_key
        FOR EACH STATEMENT EXECUTE FUNCTION gatehouse.count_auth_change();
    CREATE TRIGGER secret_changed AFTER INSERT OR DELETE OR UPDATE OF id, key, hash, expires_at ON api_secret
        FOR EACH STATEMENT EXECUTE FUNCTION gatehouse.count_auth_change();
",
}];

/// Bytes next to the file that are freed before a key is revoked, so that this works on a full disk.
const BALLAST_BYTES: usize = 1 << 20;

/// The turn of all writes but uses, which are many and change nothing else.
const KEYS: &[Turn<'static>] = &[Turn::Alone("keys")];

pub struct KeyTables {
    db: Database,
    /// The file, if the tables are in one.
    file: Option<PathBuf>,
}

impl KeyTables {
    /// Uses the file at `path`. Only [`KeyStore::add`] creates it.
    pub fn sqlite(path: PathBuf) -> Self {
        let db = Database::Sqlite(Arc::new(SqliteDatabase::new(&FILE, path.clone())));
        Self { db, file: Some(path) }
    }

    /// Uses tables of a server, which several hosts can share.
    #[cfg(feature = "postgres")]
    pub fn postgres(server: PostgresConfig) -> Self {
        let tables = ServerTables::Own(PART);
        let server = PostgresServer::new("API keys 'postgres'", server, tables);
        Self { db: Database::Postgres(server), file: None }
    }

    /// Closes the store permanently and checkpoints a file.
    pub async fn close(&self) {
        self.db.close().await;
    }

    fn ballast(&self) -> Option<PathBuf> {
        Some(self.file.as_ref()?.with_extension("ballast"))
    }

    /// Writes the ballast if it is missing beside a file of keys. On a full disk, the next key does.
    async fn place_ballast(&self) {
        let (Some(file), Some(path)) = (self.file.clone(), self.ballast()) else { return };
        let place = move || {
            if file.exists() && !path.exists() {
                let _ignored = write_private(&path, &vec![0xa5; BALLAST_BYTES], Durability::Unsynced);
            }
        };
        let _ = tokio::task::spawn_blocking(place).await;
    }
}

/// Fails if the key did not exist.
fn found(existed: bool, name: &str) -> Result<(), Fault> {
    if existed {
        return Ok(());
    }
    let fault =
        Fault::not_found(format!("unknown key '{}'", quoted(name, 64))).hint("Run `gatehouse keys list`.");
    Err(fault)
}

fn time(ms: u64) -> i64 {
    i64::try_from(ms).unwrap_or(i64::MAX)
}

fn from_stored(ms: i64) -> u64 {
    ms.max(0).unsigned_abs()
}

#[async_trait]
impl KeyStore for KeyTables {
    async fn version(&self) -> Result<u64, Fault> {
        let read = async |db: Session<'_>| db.value::<i64>("SELECT version FROM auth_state", &[]).await;
        let stored = from_stored(self.db.read_existing(read).await?);
        // A file that takes its place has the same version, if it is a copy.
        let (device, inode) = self.file.as_deref().and_then(identity).unwrap_or_default();
        Ok(stored.wrapping_add(inode.wrapping_add(device.rotate_left(32)) << 24))
    }

    async fn list(&self) -> Result<Vec<KeyRecord>, Fault> {
        self.db.read_existing(async |db: Session<'_>| read_all(db).await).await
    }

    async fn add(&self, key: KeyRecord) -> Result<(), Fault> {
        self.db.write(KEYS, async move |db: Session<'_>| insert(db, &key).await).await?;
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
        let write = async move |db: Session<'_>| {
            if db.find::<String>("SELECT name FROM api_key WHERE name = ?1", values![key]).await?.is_none() {
                return Ok(false);
            }
            let (end, now, others) = (time(end_of_old), time(secret.created_at), MAX_KEY_SECRETS as i64 - 1);
            let old =
                "UPDATE api_secret SET expires_at = CASE WHEN expires_at < ?2 THEN expires_at ELSE ?2 END
                WHERE key = ?1";
            db.run(old, values![key, end]).await?;
            let ended = "DELETE FROM api_secret WHERE key = ?1 AND (expires_at <= ?2 OR id NOT IN
                (SELECT id FROM api_secret WHERE key = ?1 ORDER BY created_at DESC, id LIMIT ?3))";
            db.run(ended, values![key, now, others]).await?;
            insert_secret(db, &key, &secret).await?;
            if let Some(expires_at) = expires_at.map(time) {
                let sql = "UPDATE api_key SET expires_at = ?2 WHERE name = ?1";
                db.run(sql, values![key, expires_at]).await?;
            }
            Ok(true)
        };
        found(self.db.write_existing(KEYS, write).await?, name)
    }

    async fn revoke(&self, name: &str) -> Result<(), Fault> {
        if let Some(ballast) = self.ballast() {
            let _ignored = tokio::fs::remove_file(ballast).await;
        }
        let key = name.to_owned();
        let sql = "DELETE FROM api_key WHERE name = ?1";
        let write = async move |db: Session<'_>| Ok(db.run(sql, values![key]).await? > 0);
        let revoked = self.db.write_existing(KEYS, write).await;
        self.place_ballast().await;
        found(revoked?, name)
    }

    async fn record_use(&self, id: &str, at: u64) -> Result<(), Fault> {
        let (id, at) = (id.to_owned(), time(at));
        // Another process may have recorded a later use.
        let sql =
            "UPDATE api_secret SET last_used_at = CASE WHEN last_used_at > ?2 THEN last_used_at ELSE ?2 END
            WHERE id = ?1";
        let write = async move |db: Session<'_>| db.run(sql, values![id, at]).await.map(drop);
        self.db.write_existing(&[], write).await
    }
}

async fn insert(db: Session<'_>, key: &KeyRecord) -> Result<()> {
    let count: i64 = db.value("SELECT count(*) FROM api_key", &[]).await?;
    if count >= MAX_API_KEYS as i64 {
        return Err(Fault::exhausted(format!("there are already {MAX_API_KEYS} keys, which is the limit"))
            .hint("Revoke keys that are no longer used: `gatehouse keys revoke NAME`.")
            .into());
    }
    let json = |list: &Vec<String>| serde_json::to_string(list).map_err(StoreError::invalid);
    let (groups, presets) = (json(&key.groups)?, key.presets.as_ref().map(json).transpose()?);
    let (created_at, expires_at) = (time(key.created_at), key.expires_at.map(time));
    let sql =
        "INSERT INTO api_key (name, groups, presets, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)
        ON CONFLICT DO NOTHING";
    if db.run(sql, values![key.name, groups, presets, created_at, expires_at]).await? == 0 {
        let name = quoted(&key.name, 64);
        return Err(Fault::invalid(format!("key '{name}' exists already"))
            .hint(format!("Run `gatehouse keys rotate {name}` for a new secret, or choose another name."))
            .into());
    }
    for secret in &key.secrets {
        insert_secret(db, &key.name, secret).await?;
    }
    Ok(())
}

async fn insert_secret(db: Session<'_>, key: &str, secret: &KeySecret) -> Result<()> {
    let (created_at, expires_at) = (time(secret.created_at), secret.expires_at.map(time));
    let sql = "INSERT INTO api_secret (id, key, hash, created_at, expires_at) VALUES (?1, ?2, ?3, ?4, ?5)";
    db.run(sql, values![secret.id, key, &secret.hash[..], created_at, expires_at]).await.map(drop)
}

async fn read_all(db: Session<'_>) -> Result<Vec<KeyRecord>> {
    let sql = "SELECT name, groups, presets, created_at, expires_at FROM api_key ORDER BY name";
    let mut keys: Vec<KeyRecord> = db.rows(sql, &[], read_key).await?;
    let sql = "SELECT key, id, hash, created_at, expires_at, last_used_at FROM api_secret
        ORDER BY created_at DESC, id";
    for (key, secret) in db.rows::<_, Vec<(String, KeySecret)>>(sql, &[], read_secret).await? {
        if let Ok(index) = keys.binary_search_by(|record| record.name.as_str().cmp(&key)) {
            keys[index].secrets.push(secret);
        }
    }
    Ok(keys)
}

fn read_key(row: &SqlRow<'_>) -> Result<KeyRecord> {
    let list = |json: String| serde_json::from_str(&json).map_err(StoreError::invalid);
    Ok(KeyRecord {
        name: row.get(0)?,
        groups: list(row.get(1)?)?,
        presets: row.get::<Option<String>>(2)?.map(list).transpose()?,
        created_at: from_stored(row.get(3)?),
        expires_at: row.get::<Option<i64>>(4)?.map(from_stored),
        secrets: Vec::new(),
    })
}

fn read_secret(row: &SqlRow<'_>) -> Result<(String, KeySecret)> {
    let hash = row.get::<Vec<u8>>(2)?.try_into();
    let secret = KeySecret {
        id: row.get(1)?,
        hash: hash.map_err(|_| StoreError::invalid("the hash of a secret has the wrong length"))?,
        created_at: from_stored(row.get(3)?),
        expires_at: row.get::<Option<i64>>(4)?.map(from_stored),
        last_used_at: row.get::<Option<i64>>(5)?.map(from_stored),
    };
    Ok((row.get(0)?, secret))
}
