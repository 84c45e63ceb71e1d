//! Key-value data of gates, in its own database.
//!
//! Reads ignore expired values immediately; the next write deletes their rows.

mod entry;

use std::{path::PathBuf, sync::Arc};

use async_trait::async_trait;
use gatehouse_core::{
    names,
    outcome::Fault,
    ports::{
        Clock, KvStore,
        kv::{KvQuota, MAX_KEY, MAX_LISTED, MAX_STORED_KEY, MAX_VALUE},
    },
};

use self::entry::{Entry, owner_bytes};
#[cfg(feature = "postgres")]
use crate::sql::postgres::{PostgresConfig, PostgresServer, SchemaPart, ServerTables};
use crate::{
    sql::sqlite::{FileKind, SqliteDatabase},
    sql::{
        Database, Result, Session, Turn,
        schema::{SchemaStep, Steps},
        values,
    },
};

/// The file of this domain.
pub(crate) const FILE: FileKind = FileKind::new("kv.db", "key-value store of the gates", SCHEMA);

/// The tables of this domain.
#[cfg(feature = "postgres")]
pub(crate) const PART: SchemaPart = SchemaPart::new("kv", 4, SCHEMA);

pub(crate) const SCHEMA: Steps = &[SchemaStep {
    // 1: values by gate and key. owner: empty if the value belongs to no principal. The value column is last, so that
    // reading the others skips it. The index of sizes answers all sums.
    both: "
    CREATE TABLE kv_entry (
        gate       TEXT NOT NULL,
        key        TEXT NOT NULL,
        owner      TEXT NOT NULL,
        size       INTEGER NOT NULL,
        expires_at INTEGER,
        value      BLOB NOT NULL,
        PRIMARY KEY (gate, key)
    ) STRICT;
    CREATE INDEX kv_entry_size ON kv_entry (gate, owner, size, expires_at);
    CREATE INDEX kv_entry_expiry ON kv_entry (expires_at) WHERE expires_at IS NOT NULL;
    CREATE INDEX kv_entry_owner ON kv_entry (owner, size, expires_at) WHERE owner <> '';
",
    sqlite: "",
    postgres: "",
}];

/// The turn of writes whose values count against an owner.
const OWNER_TURN: &str = "kv of an owner";

/// Condition: not expired at `?1`.
const LIVE: &str = "(expires_at IS NULL OR expires_at > ?1)";

pub struct KvTables {
    db: Database,
    clock: Arc<dyn Clock>,
}

impl KvTables {
    /// Keeps values in a file that the first call creates.
    pub fn sqlite(path: PathBuf, clock: Arc<dyn Clock>) -> Self {
        Self { db: Database::Sqlite(Arc::new(SqliteDatabase::new(&FILE, path))), clock }
    }

    /// Keeps values on a server, which several hosts can share.
    #[cfg(feature = "postgres")]
    pub fn postgres(server: PostgresConfig, clock: Arc<dyn Clock>) -> Self {
        let tables = ServerTables::Own(PART);
        let server = PostgresServer::new("key-value store 'postgres'", server, tables);
        Self { db: Database::Postgres(server), clock }
    }

    /// Closes the store permanently and checkpoints a file.
    pub async fn close(&self) {
        self.db.close().await;
    }

    /// Returns all principals that own values, sorted.
    pub async fn owners(&self) -> Result<Vec<String>, Fault> {
        let sql = "SELECT DISTINCT owner FROM kv_entry WHERE owner <> '' ORDER BY owner";
        self.db.read_existing(async move |db: Session<'_>| db.column(sql, &[]).await).await
    }

    /// Deletes all values of an owner, and those without an owner under keys with one of these prefixes. Returns their
    /// number.
    pub async fn erase(&self, owner: &str, prefixes: Vec<String>) -> Result<u64, Fault> {
        let (turn, owner) = (Turn::Key(OWNER_TURN, owner), owner.to_owned());
        let write = async move |db: Session<'_>| {
            let mut erased =
                db.run("DELETE FROM kv_entry WHERE owner = ?1 AND owner <> ''", values![owner]).await?;
            for prefix in &prefixes {
                let sql = "DELETE FROM kv_entry WHERE owner = '' AND substr(key, 1, length(?1)) = ?1";
                erased += db.run(sql, values![prefix]).await?;
            }
            Ok(erased)
        };
        self.db.write_existing(&[turn], write).await
    }

    fn now(&self) -> i64 {
        i64::try_from(self.clock.now_ms()).unwrap_or(i64::MAX)
    }

    /// Runs a write, and deletes what has expired. Writes whose quotas are the same run one at a time.
    async fn write<T: Send + 'static>(
        &self,
        gate: &str,
        owner: &str,
        work: impl AsyncFnOnce(Session<'_>, i64) -> Result<T> + Send + 'static,
    ) -> Result<T, Fault> {
        let now = self.now();
        let turn =
            if owner.is_empty() { Turn::Key("kv of a gate", gate) } else { Turn::Key(OWNER_TURN, owner) };
        let write = async move |db: Session<'_>| {
            let expired = "DELETE FROM kv_entry WHERE (gate, key) IN
                (SELECT gate, key FROM kv_entry WHERE expires_at IS NOT NULL AND expires_at <= ?1
                 @lock(FOR UPDATE SKIP LOCKED))";
            let value = work(db, now).await?;
            // Last, so that nothing waits for this transaction while it waits for others.
            db.run(expired, values![now]).await?;
            Ok(value)
        };
        self.db.write(&[turn], write).await
    }
}

#[async_trait]
impl KvStore for KvTables {
    async fn get(&self, gate: &str, key: &str) -> Result<Option<Vec<u8>>, Fault> {
        check_key(key)?;
        let (gate, key, now) = (gate.to_owned(), key.to_owned(), self.now());
        let sql = format!("SELECT value FROM kv_entry WHERE gate = ?2 AND key = ?3 AND {LIVE}");
        self.db.read(async move |db: Session<'_>| db.find(&sql, values![now, gate, key]).await).await
    }

    async fn set(
        &self,
        gate: &str,
        key: &str,
        value: Vec<u8>,
        ttl_ms: Option<u64>,
        quota: KvQuota<'_>,
    ) -> Result<(), Fault> {
        check_key(key)?;
        if value.len() > MAX_VALUE {
            return Err(Fault::exhausted(format!(
                "value for '{}' is {} bytes; the limit is {MAX_VALUE}",
                names::quoted(key, 80),
                value.len()
            ))
            .hint("Split it over several keys."));
        }
        let entry = Entry::new(gate, key, quota);
        let work = async move |db: Session<'_>, now: i64| entry.put(db, &value, now, ttl_ms).await;
        self.write(gate, quota.owner.unwrap_or_default(), work).await
    }

    async fn add(
        &self,
        gate: &str,
        key: &str,
        delta: i64,
        ttl_ms: Option<u64>,
        quota: KvQuota<'_>,
    ) -> Result<i64, Fault> {
        check_key(key)?;
        let entry = Entry::new(gate, key, quota);
        let work = async move |db: Session<'_>, now: i64| {
            let sql = format!(
                "SELECT value FROM kv_entry WHERE gate = ?2 AND key = ?3 AND {LIVE} @lock(FOR UPDATE)"
            );
            let value: Option<Vec<u8>> = db.find(&sql, values![now, entry.gate, entry.key]).await?;
            let sum = sum(&entry.key, value.as_deref(), delta)?;
            entry.put(db, sum.to_string().as_bytes(), now, ttl_ms).await?;
            Ok(sum)
        };
        self.write(gate, quota.owner.unwrap_or_default(), work).await
    }

    async fn delete(&self, gate: &str, key: &str) -> Result<bool, Fault> {
        check_key(key)?;
        let (name, key) = (gate.to_owned(), key.to_owned());
        let work = async move |db: Session<'_>, now: i64| {
            let sql = format!("DELETE FROM kv_entry WHERE gate = ?2 AND key = ?3 AND {LIVE}");
            Ok(db.run(&sql, values![now, name, key]).await? > 0)
        };
        self.write(gate, "", work).await
    }

    async fn owner_bytes(&self, owner: &str) -> Result<u64, Fault> {
        let (owner, now) = (owner.to_owned(), self.now());
        let work = async move |db: Session<'_>| owner_bytes(db, &owner, now).await;
        self.db.read_existing(work).await.map(i64::unsigned_abs)
    }

    async fn keys(&self, gate: &str, prefix: &str) -> Result<Vec<String>, Fault> {
        let (gate, prefix, now) = (gate.to_owned(), prefix.to_owned(), self.now());
        // Keys compare by bytes, so those with the prefix are consecutive.
        let sql = format!(
            "SELECT key FROM kv_entry WHERE gate = ?2 AND key >= ?3 AND {LIVE} ORDER BY key LIMIT {MAX_LISTED}"
        );
        let work = async move |db: Session<'_>| {
            let mut keys: Vec<String> = db.column(&sql, values![now, gate, prefix]).await?;
            keys.truncate(keys.iter().take_while(|key| key.starts_with(&prefix)).count());
            Ok(keys)
        };
        self.db.read(work).await
    }
}

fn sum(key: &str, value: Option<&[u8]>, delta: i64) -> Result<i64, Fault> {
    let key = || names::quoted(key, 80);
    let stored: i64 = match value {
        None => 0,
        Some(value) => std::str::from_utf8(value)
            .ok()
            .filter(|digits| !digits.starts_with('+'))
            .and_then(|digits| digits.parse().ok())
            .ok_or_else(|| {
                Fault::invalid(format!("value for '{}' is not a decimal integer", key()))
                    .hint("Set it to an integer, or delete the key.")
            })?,
    };
    stored.checked_add(delta).ok_or_else(|| {
        Fault::invalid(format!("value for '{}' plus {delta} does not fit in 64 bits", key()))
            .hint("Set it to a smaller integer.")
    })
}

fn check_key(key: &str) -> Result<(), Fault> {
    let wrong = if key.is_empty() {
        "is empty"
    } else if key.len() > MAX_STORED_KEY {
        "is too long"
    } else if key.contains('\0') {
        "contains NUL"
    } else {
        return Ok(());
    };
    Err(Fault::invalid(format!("key '{}' {wrong}", names::quoted(key, 80)))
        .hint(format!("A key is 1 to {MAX_KEY} bytes of text without NUL.")))
}

#[cfg(test)]
mod tests;
