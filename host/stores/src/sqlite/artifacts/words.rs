//! The indexes of words, two tables for each owner: how rare a word is among the artifacts of one owner must not tell what
//! another one keeps, and what is asked of one costs nothing for the others.

use std::borrow::Cow;

use gatehouse_core::search::script;
use rusqlite::{Connection, params};

use crate::{
    artifacts::row::ArtifactRow,
    sqlite::{error::StoreError, functions::with_variants, words::WordIndex},
};

/// How much a word counts in what names the artifact, and in its summary.
const WEIGHTS: &str = "3.0, 1.0";

/// The tables of an owner.
pub(super) fn index(owner: i64) -> WordIndex {
    WordIndex {
        words: Cow::Owned(format!("words_{owner}")),
        pieces: Cow::Owned(format!("pieces_{owner}")),
        weights: WEIGHTS,
    }
}

/// Makes them.
pub(super) fn create(db: &Connection, owner: i64) -> Result<(), StoreError> {
    let WordIndex { words, pieces, .. } = index(owner);
    let columns = "heading, summary, content = '', contentless_delete = 1";
    db.execute_batch(&format!(
        "CREATE VIRTUAL TABLE {words} USING fts5 ({columns}, tokenize = 'porter unicode61');
         CREATE VIRTUAL TABLE {pieces} USING fts5 ({columns}, tokenize = 'ascii');"
    ))?;
    Ok(())
}

/// Drops them.
pub(super) fn drop(db: &Connection, owner: i64) -> Result<(), StoreError> {
    let WordIndex { words, pieces, .. } = index(owner);
    db.execute_batch(&format!("DROP TABLE IF EXISTS {words}; DROP TABLE IF EXISTS {pieces};"))?;
    Ok(())
}

/// Writes what an artifact is found by.
pub(super) fn put(db: &Connection, owner: i64, number: i64, row: &ArtifactRow) -> Result<(), StoreError> {
    let WordIndex { words, pieces, .. } = index(owner);
    let (heading, summary) = (row.heading(), row.summary.as_deref().unwrap_or_default());
    let columns = "(rowid, heading, summary) VALUES (?1, ?2, ?3)";
    db.prepare_cached(&format!("INSERT INTO {words} {columns}"))?.execute(params![
        number,
        with_variants(&heading),
        with_variants(summary)
    ])?;
    let [heading, summary] = [&*heading, summary].map(script::grams);
    if !heading.is_empty() || !summary.is_empty() {
        db.prepare_cached(&format!("INSERT INTO {pieces} {columns}"))?
            .execute(params![number, heading, summary])?;
    }
    Ok(())
}

/// Removes it.
pub(super) fn remove(db: &Connection, owner: i64, number: i64) -> Result<(), StoreError> {
    let WordIndex { words, pieces, .. } = index(owner);
    for index in [words, pieces] {
        db.prepare_cached(&format!("DELETE FROM {index} WHERE rowid = ?1"))?.execute([number])?;
    }
    Ok(())
}

/// Has the indexes forget the words of what was removed: until then they stand there, marked.
pub(super) fn optimize(db: &rusqlite::Transaction<'_>) -> Result<(), StoreError> {
    let mut owners = db.prepare_cached("SELECT number FROM owner")?;
    let owners: Vec<i64> = owners.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()?;
    for owner in owners {
        let WordIndex { words, pieces, .. } = index(owner);
        for index in [words, pieces] {
            db.execute(&format!("INSERT INTO {index} ({index}) VALUES ('optimize')"), [])?;
        }
    }
    Ok(())
}
