//! The schema of each database, as numbered steps. A step that was released is never edited; a change is a new step.
//!
//! Each step is one transaction, so a crash leaves the database at a version that exists. A database
//! that is newer than this binary is refused and not touched.

/// Models and the vectors they made of items: a part of the first step of several databases, and as little to be edited.
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

mod artifacts;
mod documents;
mod ledger;
mod tools;

use rusqlite::{Connection, TransactionBehavior};

use super::error::StoreError;
pub(super) use artifacts::ARTIFACTS;
pub(super) use documents::DOCUMENTS;
pub(super) use ledger::LEDGER;
pub(super) use tools::TOOLS;

/// The steps of one kind of database; its version is how many of them it has seen (`PRAGMA user_version`).
pub(super) type MigrationSteps = &'static [&'static str];

/// The knowledge graph.
pub(super) const KNOWLEDGE: MigrationSteps = &[
    // Pages, their domains and links, and the words they are found by.
    include_str!("migrations/knowledge-1.sql"),
    // Search by name, by meaning and in other scripts. The functions are those of `functions.rs`.
    include_str!("migrations/knowledge-2.sql"),
    // Vectors by corpus and key. An item's number is that of the page; until it changes, the page's hash stands for
    // what was embedded.
    include_str!("migrations/knowledge-3.sql"),
];

/// What gates keep.
pub(super) const KV: MigrationSteps = &[
    // 1: values under keys, by gate. The long column comes last, so that looking at the others does not read
    // it, and what a gate holds in all is summed over an index.
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
];

/// The version of a database that has seen every step.
pub(super) const fn latest(steps: MigrationSteps) -> i64 {
    steps.len() as i64
}

/// The version of a database.
pub(super) fn version(connection: &Connection) -> Result<i64, StoreError> {
    Ok(connection.query_row("PRAGMA user_version", [], |row| row.get(0))?)
}

/// Refuses a database that is newer than this binary.
pub(super) fn check(connection: &Connection, steps: MigrationSteps) -> Result<(), StoreError> {
    match version(connection)? {
        found if found > latest(steps) => Err(StoreError::Newer { found, known: latest(steps) }),
        _ => Ok(()),
    }
}

/// Brings a database up to date.
pub(super) fn migrate(connection: &mut Connection, steps: &[&str]) -> Result<(), StoreError> {
    let known = steps.len() as i64;
    loop {
        // Asked inside the transaction: another process may be doing the same.
        let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate)?;
        let found = version(&transaction)?;
        if found > known {
            return Err(StoreError::Newer { found, known });
        }
        let Some(step) = usize::try_from(found).ok().and_then(|done| steps.get(done)) else {
            return Ok(());
        };
        transaction.execute_batch(step)?;
        transaction.pragma_update(None, "user_version", found + 1)?;
        transaction.commit()?;
    }
}

#[cfg(test)]
mod tests;
