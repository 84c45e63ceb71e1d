//! Word indexes, two tables per repository. A search does not depend on other repositories, and removing a repository
//! only drops its tables.

use gatehouse_core::{
    ports::documents::NewFile,
    search::{name::name_key, script},
};
use rusqlite::{Connection, params};

use crate::sqlite::{error::StoreError, functions::with_variants, words::WordIndex};

const WEIGHTS: &str = "6.0, 3.0, 1.0";

/// Bytes to buffer before writing a segment. Merging a few large segments is cheaper than merging many small ones.
/// SQLite's default is 1 MiB.
const INDEX_BUFFER_BYTES: i64 = 16 * 1024 * 1024;

pub(super) fn index(repository: i64) -> WordIndex {
    WordIndex::numbered(repository, WEIGHTS)
}

pub(super) fn create(db: &Connection, repository: i64) -> Result<(), StoreError> {
    let index = index(repository);
    index.create(db, "path, headings, body")?;
    for table in [&index.words, &index.pieces] {
        db.execute(
            &format!("INSERT INTO {table} ({table}, rank) VALUES ('hashsize', {INDEX_BUFFER_BYTES})"),
            [],
        )?;
    }
    Ok(())
}

/// Indexes a file by its names, its words and the n-grams of words in other scripts.
pub(super) fn put(db: &Connection, repository: i64, file: i64, new: &NewFile) -> Result<(), StoreError> {
    let path = &new.head.path;
    let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let mut names =
        db.prepare_cached("INSERT OR IGNORE INTO file_name (repository, key, file) VALUES (?1, ?2, ?3)")?;
    for name in [path, name, stem] {
        let key = name_key(name);
        if !key.is_empty() {
            names.execute(params![repository, key, file])?;
        }
    }
    let WordIndex { words, pieces, .. } = index(repository);
    let headings = new.headings.join("\n");
    let columns = "(rowid, path, headings, body) VALUES (?1, ?2, ?3, ?4)";
    db.prepare_cached(&format!("INSERT INTO {words} {columns}"))?.execute(params![
        file,
        with_variants(path),
        with_variants(&headings),
        script::separate_scripts(&new.text)
    ])?;
    let [path, headings, body] = [path, &headings, &new.text].map(|text| script::grams(text));
    if !(path.is_empty() && headings.is_empty() && body.is_empty()) {
        db.prepare_cached(&format!("INSERT INTO {pieces} {columns}"))?
            .execute(params![file, path, headings, body])?;
    }
    Ok(())
}

pub(super) fn remove(db: &Connection, repository: i64, file: i64) -> Result<(), StoreError> {
    db.prepare_cached("DELETE FROM file_name WHERE file = ?1")?.execute([file])?;
    index(repository).remove(db, file)
}
