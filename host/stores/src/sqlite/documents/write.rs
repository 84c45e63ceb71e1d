//! Writes repositories and their files. Every function here runs inside a transaction of the caller.

use std::collections::HashSet;

use gatehouse_core::{
    outcome::Fault,
    ports::documents::{NewFile, RepositoryState},
};
use rusqlite::{Connection, params};

use super::{read, words};
use crate::{
    documents::{
        chunk::{abstract_of, version},
        engine::CHUNKS,
        unknown_repository,
    },
    sqlite::{error::StoreError, vectors},
};

pub(super) fn put_state(db: &Connection, state: &RepositoryState) -> Result<(), StoreError> {
    let RepositoryState { repository, root, changed_since_guide } = state;
    let is_new = read::key(db, &repository.name)?.is_none();
    let number: i64 = db
        .prepare_cached(
            "INSERT INTO repository
                (name, url, version, kind, root, created_at, updated_at, changed_since_guide, guide)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
             ON CONFLICT (name) DO UPDATE SET url = excluded.url, version = excluded.version, kind = excluded.kind,
                root = excluded.root, updated_at = excluded.updated_at,
                changed_since_guide = excluded.changed_since_guide, guide = excluded.guide
             RETURNING number",
        )?
        .query_row(
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
            |row| row.get(0),
        )?;
    if is_new { words::create(db, number) } else { Ok(()) }
}

pub(super) fn change(
    db: &Connection,
    name: &str,
    put: &[NewFile],
    remove: &[String],
) -> Result<(), StoreError> {
    // Another process may have removed it since the caller looked it up.
    let repository = read::key(db, name)?.ok_or_else(|| unknown_repository(name, &[]))?.number;
    // Put before remove, so that a moved file finds the vectors of its old chunks.
    for file in put {
        put_file(db, repository, file)?;
    }
    let kept: HashSet<&str> = put.iter().map(|file| file.head.path.as_str()).collect();
    for path in remove.iter().filter(|path| !kept.contains(path.as_str())) {
        if let Some(file) = read::number(db, repository, path)? {
            words::remove(db, repository, file)?;
            forget_items(db, take_items(db, file)?)?;
            db.prepare_cached("DELETE FROM file WHERE number = ?1")?.execute([file])?;
        }
    }
    db.prepare_cached(
        "UPDATE repository SET revision = revision + 1, files = (SELECT count(*) FROM file WHERE repository = ?1)
         WHERE number = ?1",
    )?
    .execute([repository])?;
    Ok(())
}

pub(super) fn remove(db: &Connection, name: &str) -> Result<bool, StoreError> {
    let Some(repository) = read::key(db, name)? else { return Ok(false) };
    words::index(repository.number).drop_tables(db)?;
    db.execute(
        "DELETE FROM item WHERE number IN
            (SELECT item FROM file JOIN chunk ON chunk.file = file.number WHERE repository = ?1)",
        [repository.number],
    )?;
    db.execute("DELETE FROM repository WHERE number = ?1", [repository.number])?;
    Ok(true)
}

fn put_file(db: &Connection, repository: i64, new: &NewFile) -> Result<(), StoreError> {
    let NewFile { head, text, made_from, lines, tokens, .. } = new;
    let mut old = HashSet::new();
    if let Some(file) = read::number(db, repository, &head.path)? {
        words::remove(db, repository, file)?;
        old = take_items(db, file)?;
    }
    let file: i64 = db
        .prepare_cached(
            "INSERT INTO file (repository, path, hash, made_from, lines, tokens) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
             ON CONFLICT (repository, path) DO UPDATE SET hash = excluded.hash, made_from = excluded.made_from,
                lines = excluded.lines, tokens = excluded.tokens RETURNING number",
        )?
        .query_row(params![repository, head.path, head.hash, made_from, lines, tokens], |row| row.get(0))?;
    db.prepare_cached("INSERT OR REPLACE INTO file_text (file, abstract, text) VALUES (?1, ?2, ?3)")?
        .execute(params![file, abstract_of(new), text])?;
    words::put(db, repository, file, new)?;
    put_chunks(db, file, new, old)
}

/// Inserts the chunks of a file without chunks, and deletes those `old` items that no chunk uses.
fn put_chunks(db: &Connection, file: i64, new: &NewFile, mut old: HashSet<i64>) -> Result<(), StoreError> {
    let mut known: HashSet<i64> = old.clone();
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
        if known.insert(item) {
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

fn take_items(db: &Connection, file: i64) -> Result<HashSet<i64>, StoreError> {
    let mut statement = db.prepare_cached("DELETE FROM chunk WHERE file = ?1 RETURNING item")?;
    let items = statement.query_map([file], |row| row.get(0))?;
    Ok(items.collect::<Result<_, _>>()?)
}

fn forget_items(db: &Connection, items: HashSet<i64>) -> Result<(), StoreError> {
    items.into_iter().try_for_each(|item| vectors::remove_item(db, item))
}
