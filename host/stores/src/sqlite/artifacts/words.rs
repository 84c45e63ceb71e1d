//! Word indexes, two tables per owner, so that word frequencies do not reveal other owners' artifacts, and a search
//! does not depend on how many others have.

use gatehouse_core::search::script;
use rusqlite::{Connection, params};

use crate::{
    artifacts::row::ArtifactRow,
    sqlite::{error::StoreError, functions::with_variants, words::WordIndex},
};

const WEIGHTS: &str = "3.0, 1.0";

pub(super) fn index(owner: i64) -> WordIndex {
    WordIndex::numbered(owner, WEIGHTS)
}

pub(super) fn create(db: &Connection, owner: i64) -> Result<(), StoreError> {
    index(owner).create(db, "heading, summary")
}

pub(super) fn put(db: &Connection, owner: i64, number: i64, row: &ArtifactRow) -> Result<(), StoreError> {
    let WordIndex { words, pieces, .. } = index(owner);
    let (heading, body) = (row.heading(), row.body());
    let columns = "(rowid, heading, summary) VALUES (?1, ?2, ?3)";
    db.prepare_cached(&format!("INSERT INTO {words} {columns}"))?.execute(params![
        number,
        with_variants(&heading),
        with_variants(&body)
    ])?;
    let [heading, body] = [&heading, &body].map(|text| script::grams(text));
    if !heading.is_empty() || !body.is_empty() {
        db.prepare_cached(&format!("INSERT INTO {pieces} {columns}"))?
            .execute(params![number, heading, body])?;
    }
    Ok(())
}

/// Merges the indexes, which removes the words of deleted rows. FTS5 only marks them until then.
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
