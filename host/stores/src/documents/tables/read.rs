//! Reads repositories and their files.

use std::collections::HashMap;

use gatehouse_core::ports::documents::{FileHead, Repository, RepositoryState};
use serde_json::{Value, json};

use super::{file_of_item, index_key};
use crate::{
    documents::{
        chunk::text_to_embed,
        engine::{CHUNKS, StoredFile},
    },
    sql::{Result, Session, SqlRow, values},
};

/// Columns that [`repository`] reads, in its order. The guide follows last, because it is long.
const COLUMNS: &str = "number, name, url, version, kind, files, created_at, updated_at";

pub(super) const HEADS: &str = "SELECT path, hash FROM file WHERE repository = (SELECT number FROM repository WHERE key = ?1) ORDER BY key";

pub(super) struct RepositoryKey {
    pub(super) number: i64,
    pub(super) revision: i64,
    pub(super) files: i64,
    /// Number of words in all files, and of chunk items. 0 on SQLite.
    pub(super) words: i64,
    pub(super) items: i64,
}

pub(super) async fn key(db: Session<'_>, name: &str) -> Result<Option<RepositoryKey>> {
    let sql = "SELECT number, revision, files, words, items FROM repository WHERE key = ?1";
    let key = |row: &SqlRow<'_>| {
        let (number, revision, files) = (row.get(0)?, row.get(1)?, row.get(2)?);
        Ok(RepositoryKey { number, revision, files, words: row.get(3)?, items: row.get(4)? })
    };
    db.first(sql, values![*index_key(name)], key).await
}

pub(super) async fn repositories(db: Session<'_>, guides: bool) -> Result<Vec<Repository>> {
    let guide = if guides { "guide" } else { "CAST(NULL AS text)" };
    db.rows(&format!("SELECT {COLUMNS}, {guide} FROM repository ORDER BY name"), &[], repository).await
}

pub(super) async fn state(db: Session<'_>, name: &str) -> Result<Option<RepositoryState>> {
    let sql = format!("SELECT {COLUMNS}, guide, root, changed_since_guide FROM repository WHERE key = ?1");
    let state = |row: &SqlRow<'_>| {
        let (root, changed_since_guide) = (row.get(9)?, row.count(10)?);
        Ok(RepositoryState { repository: repository(row)?, root, changed_since_guide })
    };
    db.first(&sql, values![*index_key(name)], state).await
}

fn repository(row: &SqlRow<'_>) -> Result<Repository> {
    Ok(Repository {
        id: row.get::<i64>(0)?.to_string(),
        name: row.get(1)?,
        url: row.get(2)?,
        commit: row.get(3)?,
        kind: row.get(4)?,
        file_count: row.count(5)?,
        created_at: row.get(6)?,
        updated_at: row.get(7)?,
        navigation_guide: row.get(8)?,
    })
}

pub(super) async fn heads(db: Session<'_>, name: &str) -> Result<Vec<FileHead>> {
    let head = |row: &SqlRow<'_>| Ok(FileHead { path: row.get(0)?, hash: row.get(1)? });
    db.rows(HEADS, values![*index_key(name)], head).await
}

/// Returns the numbers of the stored files with these keys.
pub(super) async fn numbers(db: Session<'_>, repository: i64, keys: &[String]) -> Result<Vec<i64>> {
    let sql = "SELECT number FROM file WHERE repository = ?1 AND key IN @texts(?2)";
    db.column(sql, values![repository, keys]).await
}

pub(super) async fn file(db: Session<'_>, name: &str, path: &str) -> Result<Option<StoredFile>> {
    let sql =
        "SELECT path, made_from, tokens, content FROM file JOIN file_text ON file_text.file = file.number
         WHERE repository = (SELECT number FROM repository WHERE key = ?1) AND key = ?2";
    let file = |row: &SqlRow<'_>| {
        let (path, made_from, tokens) = (row.get(0)?, row.get(1)?, row.count(2)?);
        Ok(StoredFile { path, made_from, tokens, text: row.get(3)? })
    };
    db.first(sql, values![*index_key(name), *index_key(path)], file).await
}

/// Returns the texts to embed for these items.
pub(super) async fn chunk_texts(db: Session<'_>, keys: &[String]) -> Result<Vec<Option<String>>> {
    let files: Vec<i64> = keys.iter().filter_map(|key| file_of_item(key)).collect();
    let asked = keys.iter().map(|key| json!([key, file_of_item(key)]));
    let asked = Value::from_iter(asked).to_string();
    let sql = "SELECT i.key, c.file, c.start, c.stop, c.heading FROM @json(?1) AS given CROSS JOIN item i CROSS JOIN chunk c
         WHERE i.corpus = ?2 AND i.key = given.value ->> 0
            AND c.file = CAST(given.value ->> 1 AS bigint) AND c.item = i.number";
    let chunk = |row: &SqlRow<'_>| {
        let (start, stop): (i64, i64) = (row.get(2)?, row.get(3)?);
        let heading: String = row.get(4)?;
        Ok((row.get(0)?, (row.get(1)?, start as usize..stop as usize, heading)))
    };
    // Chunks with the same item have the same text.
    let chunks: HashMap<String, (i64, _, _)> = db.rows(sql, values![asked, CHUNKS], chunk).await?;
    // Loads each text once, because several items share a file.
    let sql = "SELECT file, content FROM file_text WHERE file IN @numbers(?1)";
    let texts: HashMap<i64, String> =
        db.rows(sql, values![files], |row| Ok((row.get(0)?, row.get(1)?))).await?;
    let text = |key: &String| {
        let (file, bytes, heading) = chunks.get(key)?;
        Some(text_to_embed(heading, texts.get(file)?.get(bytes.clone())?))
    };
    Ok(keys.iter().map(text).collect())
}
