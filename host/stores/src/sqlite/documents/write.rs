//! Writes repositories, their files and their word indexes. Every function here runs inside a transaction of the caller.
//!
//! Each repository has two index tables. A search does not depend on other repositories, and removing a repository only
//! drops its tables.

use std::collections::HashSet;

use gatehouse_core::{
    outcome::Fault,
    ports::documents::{NewFile, RepositoryState},
    search::{name::name_key, script},
};
use rusqlite::{Connection, params};

use super::read;
use crate::{
    documents::{
        chunk::{abstract_of, version},
        engine::CHUNKS,
        unknown_repository,
    },
    sqlite::{
        error::Result, migrations::with_variants, statements::CachedStatements as _, vectors,
        words::WordIndex,
    },
};

const WEIGHTS: &str = "6.0, 3.0, 1.0";

/// Bytes to buffer before writing a segment. Merging a few large segments is cheaper than merging many small ones.
/// SQLite's default is 1 MiB.
const INDEX_BUFFER_BYTES: i64 = 16 * 1024 * 1024;

pub(super) fn index(repository: i64) -> WordIndex {
    WordIndex::numbered(repository, WEIGHTS)
}

pub(super) fn put_state(db: &Connection, state: &RepositoryState) -> Result<()> {
    let RepositoryState { repository, root, changed_since_guide } = state;
    let is_new = read::key(db, &repository.name)?.is_none();
    let number = db.value(
        "INSERT INTO repository
            (name, url, version, kind, root, created_at, updated_at, changed_since_guide, guide)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
         ON CONFLICT (name) DO UPDATE SET url = excluded.url, version = excluded.version, kind = excluded.kind,
            root = excluded.root, updated_at = excluded.updated_at,
            changed_since_guide = excluded.changed_since_guide, guide = excluded.guide
         RETURNING number",
        params![
            repository.name,
            repository.url,
            repository.commit,
            repository.kind,
            root,
            repository.created_at,
            repository.updated_at,
            changed_since_guide,
            repository.navigation_guide,
        ],
    )?;
    if !is_new {
        return Ok(());
    }
    let index = index(number);
    index.create(db, "path, headings, body")?;
    for table in [&index.words, &index.pieces] {
        let sql = format!("INSERT INTO {table} ({table}, rank) VALUES ('hashsize', {INDEX_BUFFER_BYTES})");
        db.execute(&sql, [])?;
    }
    Ok(())
}

pub(super) fn change(db: &Connection, name: &str, put: &[NewFile], remove: &[String]) -> Result<()> {
    // Another process may have removed it since the caller looked it up.
    let repository = read::key(db, name)?.ok_or_else(|| unknown_repository(name, &[]))?.number;
    // Put before remove, so that a moved file finds the vectors of its old chunks.
    for file in put {
        put_file(db, repository, file)?;
    }
    let put_paths: HashSet<&str> = put.iter().map(|file| file.head.path.as_str()).collect();
    for path in remove.iter().filter(|path| !put_paths.contains(path.as_str())) {
        if let Some(file) = read::number(db, repository, path)? {
            remove_words(db, repository, file)?;
            forget_items(db, take_items(db, file)?)?;
            db.run("DELETE FROM file WHERE number = ?1", [file])?;
        }
    }
    db.run(
        "UPDATE repository SET revision = revision + 1, files = (SELECT count(*) FROM file WHERE repository = ?1)
         WHERE number = ?1",
        [repository],
    )?;
    Ok(())
}

pub(super) fn remove(db: &Connection, name: &str) -> Result<bool> {
    let Some(repository) = read::key(db, name)? else { return Ok(false) };
    index(repository.number).drop_tables(db)?;
    db.execute(
        "DELETE FROM item WHERE number IN
            (SELECT item FROM file JOIN chunk ON chunk.file = file.number WHERE repository = ?1)",
        [repository.number],
    )?;
    db.execute("DELETE FROM repository WHERE number = ?1", [repository.number])?;
    Ok(true)
}

fn put_file(db: &Connection, repository: i64, new: &NewFile) -> Result<()> {
    let NewFile { head, text, made_from, lines, tokens, .. } = new;
    let mut old = HashSet::new();
    if let Some(file) = read::number(db, repository, &head.path)? {
        remove_words(db, repository, file)?;
        old = take_items(db, file)?;
    }
    let file = db.value(
        "INSERT INTO file (repository, path, hash, made_from, lines, tokens) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
         ON CONFLICT (repository, path) DO UPDATE SET hash = excluded.hash, made_from = excluded.made_from,
            lines = excluded.lines, tokens = excluded.tokens RETURNING number",
        params![repository, head.path, head.hash, made_from, lines, tokens],
    )?;
    let insert = "INSERT OR REPLACE INTO file_text (file, abstract, text) VALUES (?1, ?2, ?3)";
    db.run(insert, params![file, abstract_of(new), text])?;
    put_words(db, repository, file, new)?;
    put_chunks(db, file, new, old)
}

/// Indexes a file by its names, its words and the n-grams of words in other scripts.
fn put_words(db: &Connection, repository: i64, file: i64, new: &NewFile) -> Result<()> {
    let path = &new.head.path;
    let name = path.rsplit_once('/').map_or(path.as_str(), |(_, name)| name);
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    for key in [path, name, stem].map(name_key).iter().filter(|key| !key.is_empty()) {
        let insert = "INSERT OR IGNORE INTO file_name (repository, key, file) VALUES (?1, ?2, ?3)";
        db.run(insert, params![repository, key, file])?;
    }
    let WordIndex { words, pieces, .. } = index(repository);
    let headings = new.headings.join("\n");
    let columns = "(rowid, path, headings, body) VALUES (?1, ?2, ?3, ?4)";
    let body = script::separate_scripts(&new.text);
    let values = params![file, with_variants(path), with_variants(&headings), body];
    db.run(&format!("INSERT INTO {words} {columns}"), values)?;
    let [path, headings, body] = [path, &headings, &new.text].map(|text| script::grams(text));
    if !(path.is_empty() && headings.is_empty() && body.is_empty()) {
        db.run(&format!("INSERT INTO {pieces} {columns}"), params![file, path, headings, body])?;
    }
    Ok(())
}

fn remove_words(db: &Connection, repository: i64, file: i64) -> Result<()> {
    db.run("DELETE FROM file_name WHERE file = ?1", [file])?;
    index(repository).remove(db, file)
}

/// Inserts the chunks of a file without chunks, and deletes those `old` items that no chunk uses.
fn put_chunks(db: &Connection, file: i64, new: &NewFile, mut old: HashSet<i64>) -> Result<()> {
    let mut existing_items: HashSet<i64> = old.clone();
    let mut insert = db.prepare_cached(
        "INSERT INTO chunk (file, position, item, start, stop, first_line, last_line, heading)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)",
    )?;
    for (position, chunk) in (0_i64..).zip(&new.chunks) {
        let text = new
            .text
            .get(chunk.start..chunk.end)
            .ok_or_else(|| Fault::internal(format!("a chunk of '{}' is outside its text", new.head.path)))?;
        let version = version(&chunk.heading, text);
        let item = vectors::put_item(db, CHUNKS, &read::item_key(file, &version), &version)?;
        // Chunks with the same text share an item, which is new only once.
        if existing_items.insert(item) {
            vectors::copy_from_twin(db, item, &version)?;
        }
        old.remove(&item);
        insert.execute(params![
            file,
            position,
            item,
            chunk.start as i64,
            chunk.end as i64,
            chunk.lines.first,
            chunk.lines.last,
            chunk.heading
        ])?;
    }
    forget_items(db, old)
}

fn take_items(db: &Connection, file: i64) -> Result<HashSet<i64>> {
    db.column("DELETE FROM chunk WHERE file = ?1 RETURNING item", [file])
}

fn forget_items(db: &Connection, items: HashSet<i64>) -> Result<()> {
    items.into_iter().try_for_each(|item| vectors::remove_item(db, item))
}
