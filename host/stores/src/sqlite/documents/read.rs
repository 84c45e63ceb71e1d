//! Reads repositories and their files.

use std::collections::HashMap;

use gatehouse_core::ports::documents::{FileHead, Repository, RepositoryState};
use rusqlite::{Connection, Row, params};

use crate::{
    documents::{
        chunk::text_to_embed,
        engine::{CHUNKS, StoredFile},
    },
    sqlite::{error::Result, statements::CachedStatements as _},
};

/// Columns that [`repository`] reads, in order. The guide follows last, because it is long.
const COLUMNS: &str = "number, name, url, version, kind, files, created_at, updated_at";

pub(super) const HEADS: &str = "SELECT path, hash FROM file WHERE repository = (SELECT number FROM repository WHERE name = ?1) ORDER BY path";

pub(super) struct RepositoryKey {
    pub(super) number: i64,
    pub(super) revision: i64,
    pub(super) files: i64,
}

pub(super) fn key(db: &Connection, name: &str) -> Result<Option<RepositoryKey>> {
    let sql = "SELECT number, revision, files FROM repository WHERE name = ?1";
    db.first(sql, [name], |row| {
        Ok(RepositoryKey { number: row.get(0)?, revision: row.get(1)?, files: row.get(2)? })
    })
}

pub(super) fn repositories(db: &Connection, guides: bool) -> Result<Vec<Repository>> {
    let guide = if guides { "guide" } else { "NULL" };
    db.all(&format!("SELECT {COLUMNS}, {guide} FROM repository ORDER BY name"), [], repository)
}

pub(super) fn state(db: &Connection, name: &str) -> Result<Option<RepositoryState>> {
    let sql = format!("SELECT {COLUMNS}, guide, root, changed_since_guide FROM repository WHERE name = ?1");
    db.first(&sql, [name], |row| {
        let (root, changed_since_guide) = (row.get(9)?, row.get(10)?);
        Ok(RepositoryState { repository: repository(row)?, root, changed_since_guide })
    })
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

pub(super) fn heads(db: &Connection, name: &str) -> Result<Vec<FileHead>> {
    db.all(HEADS, [name], |row| Ok(FileHead { path: row.get(0)?, hash: row.get(1)? }))
}

pub(super) fn number(db: &Connection, repository: i64, path: &str) -> Result<Option<i64>> {
    db.find("SELECT number FROM file WHERE repository = ?1 AND path = ?2", params![repository, path])
}

pub(super) fn path(db: &Connection, file: i64) -> Result<Option<String>> {
    db.find("SELECT path FROM file WHERE number = ?1", [file])
}

pub(super) fn file(db: &Connection, name: &str, path: &str) -> Result<Option<StoredFile>> {
    let sql = "SELECT path, made_from, tokens, text FROM file JOIN file_text ON file_text.file = file.number
         WHERE repository = (SELECT number FROM repository WHERE name = ?1) AND path = ?2";
    db.first(sql, [name, path], |row| {
        Ok(StoredFile { path: row.get(0)?, made_from: row.get(1)?, tokens: row.get(2)?, text: row.get(3)? })
    })
}

pub(super) fn chunk_texts(db: &Connection, keys: &[String]) -> Result<Vec<Option<String>>> {
    let sql = "SELECT chunk.file, start, stop, heading FROM item
         JOIN chunk ON chunk.file = ?1 AND chunk.item = item.number WHERE corpus = ?2 AND key = ?3 LIMIT 1";
    // Caches one file's text, because items of a file are consecutive.
    let mut texts: HashMap<i64, String> = HashMap::new();
    let mut texts_to_embed = Vec::with_capacity(keys.len());
    for key in keys {
        let values = params![file_of(key), CHUNKS, key];
        let chunk: Option<(i64, i64, i64, String)> = db.first(sql, values, |row| row.try_into())?;
        let Some((file, start, stop, heading)) = chunk else {
            texts_to_embed.push(None);
            continue;
        };
        if !texts.contains_key(&file) {
            texts.clear();
            texts.insert(file, db.value("SELECT text FROM file_text WHERE file = ?1", [file])?);
        }
        let text = texts.get(&file).and_then(|text| text.get(start as usize..stop as usize));
        texts_to_embed.push(text.map(|text| text_to_embed(&heading, text)));
    }
    Ok(texts_to_embed)
}

/// Returns the key of a chunk's item. It starts with the file, so that items of a file sort together.
pub(super) fn item_key(file: i64, version: &str) -> String {
    format!("{file:012x}/{version}")
}

fn file_of(key: &str) -> Option<i64> {
    i64::from_str_radix(key.split_once('/')?.0, 16).ok()
}
