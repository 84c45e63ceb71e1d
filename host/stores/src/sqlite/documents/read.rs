//! Reads repositories and their files.

use std::collections::HashMap;

use gatehouse_core::ports::documents::{FileHead, Repository, RepositoryState};
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use crate::{
    documents::{
        chunk::text_to_embed,
        engine::{CHUNKS, StoredFile, match_name},
    },
    sqlite::error::StoreError,
};

/// Columns that [`repository`] reads, in order. The guide follows last, because it is long.
const COLUMNS: &str = "number, name, url, version, kind, files, created_at, updated_at";

pub(super) const HEADS: &str = "SELECT path, hash FROM file WHERE repository = (SELECT number FROM repository WHERE name = ?1) ORDER BY path";

pub(super) struct RepositoryKey {
    pub(super) number: i64,
    pub(super) revision: i64,
    pub(super) files: i64,
}

pub(super) fn key(db: &Connection, name: &str) -> Result<Option<RepositoryKey>, StoreError> {
    let mut statement =
        db.prepare_cached("SELECT number, revision, files FROM repository WHERE name = ?1")?;
    let key =
        |row: &Row<'_>| Ok(RepositoryKey { number: row.get(0)?, revision: row.get(1)?, files: row.get(2)? });
    Ok(statement.query_row([name], key).optional()?)
}

pub(super) fn stored_name(db: &Connection, name: &str) -> Result<Option<String>, StoreError> {
    let mut statement = db.prepare_cached("SELECT name FROM repository ORDER BY name")?;
    let names = statement.query_map([], |row| row.get(0))?.collect::<Result<Vec<_>, _>>()?;
    Ok(match_name(name, names.into_iter()))
}

pub(super) fn repositories(db: &Connection, guides: bool) -> Result<Vec<Repository>, StoreError> {
    let guide = if guides { "guide" } else { "NULL" };
    let mut statement =
        db.prepare_cached(&format!("SELECT {COLUMNS}, {guide} FROM repository ORDER BY name"))?;
    let found = statement.query_map([], repository)?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn state(db: &Connection, name: &str) -> Result<Option<RepositoryState>, StoreError> {
    let sql = format!("SELECT {COLUMNS}, guide, root, changed_since_guide FROM repository WHERE name = ?1");
    let state = |row: &Row<'_>| {
        Ok(RepositoryState {
            repository: repository(row)?,
            root: row.get(9)?,
            changed_since_guide: row.get(10)?,
        })
    };
    Ok(db.prepare_cached(&sql)?.query_row([name], state).optional()?)
}

fn repository(row: &Row<'_>) -> Result<Repository, rusqlite::Error> {
    Ok(Repository {
        id: row.get::<_, i64>(0)?.to_string(),
        name: row.get(1)?,
        url: row.get(2)?,
        commit: row.get(3)?,
        kind: row.get(4)?,
        file_count: row.get(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
        navigation_guide: row.get(8)?,
    })
}

pub(super) fn heads(db: &Connection, name: &str) -> Result<Vec<FileHead>, StoreError> {
    let mut statement = db.prepare_cached(HEADS)?;
    let found = statement.query_map([name], |row| Ok(FileHead { path: row.get(0)?, hash: row.get(1)? }))?;
    Ok(found.collect::<Result<_, _>>()?)
}

pub(super) fn number(db: &Connection, repository: i64, path: &str) -> Result<Option<i64>, StoreError> {
    let mut statement = db.prepare_cached("SELECT number FROM file WHERE repository = ?1 AND path = ?2")?;
    Ok(statement.query_row(params![repository, path], |row| row.get(0)).optional()?)
}

pub(super) fn path(db: &Connection, file: i64) -> Result<Option<String>, StoreError> {
    let mut statement = db.prepare_cached("SELECT path FROM file WHERE number = ?1")?;
    Ok(statement.query_row([file], |row| row.get(0)).optional()?)
}

pub(super) fn file(db: &Connection, name: &str, path: &str) -> Result<Option<StoredFile>, StoreError> {
    let Some(repository) = key(db, name)? else { return Ok(None) };
    let mut statement = db.prepare_cached(
        "SELECT path, made_from, tokens, text FROM file JOIN file_text ON file_text.file = file.number
         WHERE repository = ?1 AND path = ?2",
    )?;
    let file = |row: &Row<'_>| {
        Ok(StoredFile { path: row.get(0)?, made_from: row.get(1)?, tokens: row.get(2)?, text: row.get(3)? })
    };
    Ok(statement.query_row(params![repository.number, path], file).optional()?)
}

pub(super) fn chunk_texts(db: &Connection, keys: &[String]) -> Result<Vec<Option<String>>, StoreError> {
    let mut statement = db.prepare_cached(
        "SELECT chunk.file, start, stop, heading FROM item JOIN chunk ON chunk.file = ?1 AND chunk.item = item.number
         WHERE corpus = ?2 AND key = ?3 LIMIT 1",
    )?;
    let mut whole = db.prepare_cached("SELECT text FROM file_text WHERE file = ?1")?;
    // Caches one file's text, because items of a file are consecutive.
    let mut texts: HashMap<i64, String> = HashMap::new();
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let chunk = statement.query_row(params![file_of(key), CHUNKS, key], |row| {
            let (start, stop): (i64, i64) = (row.get(1)?, row.get(2)?);
            Ok((row.get::<_, i64>(0)?, start as usize..stop as usize, row.get::<_, String>(3)?))
        });
        let Some((file, bytes, heading)) = chunk.optional()? else {
            found.push(None);
            continue;
        };
        if !texts.contains_key(&file) {
            texts.clear();
            texts.insert(file, whole.query_row([file], |row| row.get(0))?);
        }
        let text = texts.get(&file).and_then(|text| text.get(bytes));
        found.push(text.map(|text| text_to_embed(&heading, text)));
    }
    Ok(found)
}

/// Returns the key of a chunk's item. It starts with the file, so that items of a file sort together.
pub(super) fn item_key(file: i64, version: &str) -> String {
    format!("{file:012x}/{version}")
}

fn file_of(key: &str) -> Option<i64> {
    i64::from_str_radix(key.split_once('/')?.0, 16).ok()
}

pub(super) fn counts(db: &Connection) -> Result<(u32, u32), StoreError> {
    Ok(db.query_row("SELECT count(*), coalesce(sum(files), 0) FROM repository", [], |row| {
        Ok((row.get(0)?, row.get(1)?))
    })?)
}
