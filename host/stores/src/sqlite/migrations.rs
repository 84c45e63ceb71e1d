//! Schemas of the databases, as numbered steps. Never edit a released step; add a new one. Each step runs in one
//! transaction, so a crash leaves the database at a valid version.

/// Tables of models and vectors. They are in the first step of several databases, so never edit them either.
macro_rules! vector_tables {
    () => {
        "
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

mod artifacts;
mod audit;
mod auth;
mod documents;
mod ledger;
mod tools;

use gatehouse_core::{
    definition::ReviewedDefinition,
    search::{name::name_key, script, variants},
};
use rusqlite::{Connection, TransactionBehavior, functions::FunctionFlags};

use super::error::{Result, StoreError};
pub(super) use artifacts::ARTIFACTS;
pub(super) use audit::AUDIT;
pub(super) use auth::AUTH;
pub(super) use documents::DOCUMENTS;
pub(super) use ledger::LEDGER;
pub(super) use tools::TOOLS;

/// Steps of one kind of database. Its version is the number of applied steps (`PRAGMA user_version`).
pub(super) type MigrationSteps = &'static [&'static str];

pub(super) const KNOWLEDGE: MigrationSteps = &[
    include_str!("migrations/knowledge-1.sql"),
    // Search by name, by meaning and in other scripts, with the functions below.
    include_str!("migrations/knowledge-2.sql"),
    // Vectors by corpus and key. An item has the number of its page. Until the page changes, its hash is the item's
    // version.
    include_str!("migrations/knowledge-3.sql"),
    // Search by the keys of names and words.
    include_str!("migrations/knowledge-4.sql"),
];

pub(super) const KV: MigrationSteps = &[
    // 1: values by gate and key. The value column is last, so that reading the others skips it.
    "
    CREATE TABLE entry (
        gate       TEXT NOT NULL,
        key        TEXT NOT NULL,
        size       INTEGER NOT NULL,
        expires_at INTEGER,
        value      BLOB NOT NULL,
        PRIMARY KEY (gate, key)
    ) STRICT;
    CREATE INDEX entry_size ON entry (gate, size);
    CREATE INDEX entry_expiry ON entry (expires_at) WHERE expires_at IS NOT NULL;
    ",
    // 2: principals that own values. The index answers all sums.
    "
    ALTER TABLE entry ADD COLUMN owner TEXT;
    DROP INDEX entry_size;
    CREATE INDEX entry_size ON entry (gate, owner, size);
    CREATE INDEX entry_owner ON entry (owner, size) WHERE owner IS NOT NULL;
    ",
];

/// Returns the version of an up-to-date database.
pub(super) const fn latest(steps: MigrationSteps) -> i64 {
    steps.len() as i64
}

pub(super) fn version(connection: &Connection) -> Result<i64> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

pub(super) fn check(connection: &Connection, steps: MigrationSteps) -> Result<()> {
    match version(connection)? {
        found if found > latest(steps) => Err(StoreError::NewerSchema { found, known: latest(steps) }),
        _ => Ok(()),
    }
}

pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<()> {
    let latest = steps.len() as i64;
    loop {
        // Read inside the transaction, because another process may be migrating too.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let stored_version = version(&transaction)?;
        if stored_version > latest {
            return Err(StoreError::NewerSchema { found: stored_version, known: latest });
        }
        let Some(step) = usize::try_from(stored_version).ok().and_then(|done| steps.get(done)) else {
            return Ok(());
        };
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", stored_version + 1)?;
        transaction.commit()?;
    }
}

/// Registers SQL functions for the steps, which convert stored rows to the form of new ones. They must be pure, and their
/// results must not change once a step that uses them is released.
pub(super) fn register_functions(connection: &Connection) -> Result<()> {
    for (name, function) in [
        ("name_key", name_key as fn(&str) -> String),
        ("id_key", crate::wiki::ids::key),
        ("grams", script::grams),
        ("separated", separated),
        ("with_variants", with_variants),
        ("tool_definition", tool_definition),
        ("tool_digest", tool_digest),
    ] {
        let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
        connection.create_scalar_function(name, 1, flags, move |call| {
            let text =
                call.get_raw(0).as_str().map_err(|error| rusqlite::Error::UserFunctionError(error.into()))?;
            Ok(function(text))
        })?;
    }
    Ok(())
}

/// Returns the text for the word index.
pub(super) fn separated(text: &str) -> String {
    script::separate_scripts(text).into_owned()
}

/// Returns the text for the word index, plus the parts of names and identifiers in it.
pub(super) fn with_variants(text: &str) -> String {
    format!("{} {}", script::separate_scripts(text), variants(text))
}

/// Returns the definition of a stored tool. Empty if the tool is unreadable, which then counts as changed.
fn tool_definition(spec: &str) -> String {
    serde_json::from_str(spec)
        .map_or_else(|_| String::new(), |tool| ReviewedDefinition::from_tool(&tool).text)
}

fn tool_digest(spec: &str) -> String {
    serde_json::from_str(spec)
        .map_or_else(|_| String::new(), |tool| ReviewedDefinition::from_tool(&tool).digest)
}

#[cfg(test)]
mod tests;
