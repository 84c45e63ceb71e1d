//! Schemas of the database files, and their migration.

/// Tables of items to embed, models and vectors. They are in the first step of several databases, so never edit them
/// either. An item has the number of its row in another table.
macro_rules! vector_tables {
    () => {
        "
    CREATE TABLE item (
        number  INTEGER PRIMARY KEY AUTOINCREMENT,
        corpus  TEXT NOT NULL,
        key     TEXT NOT NULL,
        version TEXT NOT NULL,
        UNIQUE (corpus, key)
    ) STRICT;
    CREATE TABLE model (
        number INTEGER PRIMARY KEY,
        name   TEXT NOT NULL UNIQUE,
        used   INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE vector (
        item    INTEGER NOT NULL REFERENCES item ON DELETE CASCADE,
        model   INTEGER NOT NULL REFERENCES model ON DELETE CASCADE,
        changed INTEGER NOT NULL,
        value   BLOB,
        PRIMARY KEY (item, model)
    ) STRICT;
    CREATE INDEX vector_changed ON vector (model, changed);
    "
    };
}
pub(crate) use vector_tables;

/// Table of the state that tells caches whether vectors changed. Never edit it.
macro_rules! vector_state {
    () => {
        "
    CREATE TABLE vector_state (
        one        INTEGER PRIMARY KEY CHECK (one = 1),
        generation INTEGER NOT NULL,
        removed    INTEGER NOT NULL
    ) STRICT;
    INSERT INTO vector_state VALUES (1, 0, 0);
    CREATE TRIGGER vector_removed AFTER DELETE ON vector BEGIN
        UPDATE vector_state SET generation = generation + 1, removed = generation + 1;
    END;
    "
    };
}
pub(crate) use vector_state;

use gatehouse_core::search::{script, variants};
use rusqlite::{Connection, TransactionBehavior};

use super::error::Result;
use crate::sql::schema::{self, Steps};

pub(crate) fn version(connection: &Connection) -> Result<i64> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

pub(crate) fn check(connection: &Connection, steps: Steps) -> Result<()> {
    schema::check(steps, version(connection)?)
}

pub(crate) fn migrate(connection: &mut Connection, steps: Steps) -> Result<()> {
    loop {
        // Read inside the transaction, because another process may be migrating too.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        check(&transaction, steps)?;
        let Some((step, version)) = schema::next(steps, version(&transaction)?) else { return Ok(()) };
        transaction.execute_batch(step.both)?;
        transaction.execute_batch(step.sqlite)?;
        transaction.pragma_update(None, "user_version", version)?;
        transaction.commit()?;
    }
}

/// Returns the text for the word index.
pub(crate) fn separated(text: &str) -> String {
    script::separate_scripts(text).into_owned()
}

/// Returns the text for the word index, plus the parts of names and identifiers in it.
pub(crate) fn with_variants(text: &str) -> String {
    format!("{} {}", script::separate_scripts(text), variants(text))
}

#[cfg(test)]
mod tests;
