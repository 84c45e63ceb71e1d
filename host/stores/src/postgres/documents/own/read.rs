//! Reads stored repositories and files.

use std::collections::HashMap;

use gatehouse_core::ports::documents::{FileHead, Repository, RepositoryState};
use tokio_postgres::Row;

use super::{
    super::super::{
        error::{Result, column, count},
        session::PostgresSession,
        terms::storable,
    },
    index_key,
};
use crate::documents::{chunk::text_to_embed, engine::StoredFile};

/// Columns that [`repository`] reads, in its order.
const COLUMNS: &str = "number::text, name, url, version, kind, files, created_at, updated_at";

pub(super) struct RepositoryKey {
    pub(super) number: i64,
    pub(super) files: i64,
    /// Number of words in all files.
    pub(super) words: i64,
    /// Number of chunk items.
    pub(super) items: i64,
}

pub(super) async fn key(db: &PostgresSession, name: &str) -> Result<Option<RepositoryKey>> {
    let sql = "SELECT number, files, words, items FROM gatehouse.repository WHERE key = $1";
    let Some(row) = db.query_opt(sql, &[&index_key(name)]).await? else { return Ok(None) };
    Ok(Some(RepositoryKey {
        number: column(&row, 0)?,
        files: column(&row, 1)?,
        words: column(&row, 2)?,
        items: column(&row, 3)?,
    }))
}

pub(super) async fn repositories(db: &PostgresSession, guides: bool) -> Result<Vec<Repository>> {
    let guide = if guides { "guide" } else { "NULL::text" };
    let sql = format!("SELECT {COLUMNS}, {guide} FROM gatehouse.repository ORDER BY name");
    db.all(&sql, &[], repository).await
}

pub(super) async fn state(db: &PostgresSession, name: &str) -> Result<Option<RepositoryState>> {
    let sql = format!(
        "SELECT {COLUMNS}, guide, root, changed_since_guide FROM gatehouse.repository WHERE key = $1"
    );
    let Some(row) = db.query_opt(&sql, &[&index_key(name)]).await? else { return Ok(None) };
    Ok(Some(RepositoryState {
        repository: repository(&row)?,
        root: column(&row, 9)?,
        changed_since_guide: count(&row, 10)?,
    }))
}

fn repository(row: &Row) -> Result<Repository> {
    Ok(Repository {
        id: column(row, 0)?,
        name: column(row, 1)?,
        url: column(row, 2)?,
        commit: column(row, 3)?,
        kind: column(row, 4)?,
        file_count: count(row, 5)?,
        created_at: column(row, 6)?,
        updated_at: column(row, 7)?,
        navigation_guide: column(row, 8)?,
    })
}

pub(super) async fn heads(db: &PostgresSession, name: &str) -> Result<Vec<FileHead>> {
    let sql = "SELECT path, hash FROM gatehouse.file
         WHERE repository = (SELECT number FROM gatehouse.repository WHERE key = $1) ORDER BY path";
    let head = |row: &Row| Ok(FileHead { path: column(row, 0)?, hash: column(row, 1)? });
    db.all(sql, &[&index_key(name)], head).await
}

pub(super) async fn file(db: &PostgresSession, name: &str, path: &str) -> Result<Option<StoredFile>> {
    let sql = "SELECT f.path, f.made_from, f.tokens, t.content
         FROM gatehouse.repository r JOIN gatehouse.file f ON f.repository = r.number
         JOIN gatehouse.file_text t ON t.file = f.number WHERE r.key = $1 AND f.key = $2";
    let Some(row) = db.query_opt(sql, &[&index_key(name), &index_key(path)]).await? else { return Ok(None) };
    Ok(Some(StoredFile {
        path: column(&row, 0)?,
        made_from: column(&row, 1)?,
        tokens: count(&row, 2)?,
        text: column(&row, 3)?,
    }))
}

/// Returns the texts to embed for these chunk items.
pub(super) async fn chunk_texts(db: &PostgresSession, keys: &[String]) -> Result<Vec<Option<String>>> {
    let files: Vec<i64> = keys.iter().map(|key| file_of(key).unwrap_or(-1)).collect();
    let sql = "SELECT DISTINCT ON (c.item) c.item, c.file, c.start, c.stop, c.heading
         FROM unnest($1::text[], $2::bigint[]) AS asked (item, file)
         JOIN gatehouse.chunk c ON c.file = asked.file AND c.item = asked.item ORDER BY c.item, c.position";
    let chunk = |row: &Row| {
        let (start, stop): (i64, i64) = (column(row, 2)?, column(row, 3)?);
        let (file, heading): (i64, String) = (column(row, 1)?, column(row, 4)?);
        Ok((column(row, 0)?, (file, start as usize..stop as usize, heading)))
    };
    let chunks: HashMap<String, _> = db.all(sql, &[&keys, &files], chunk).await?;
    // Load each text once; several items share a file.
    let sql = "SELECT file, content FROM gatehouse.file_text WHERE file = ANY($1)";
    let texts: HashMap<i64, String> =
        db.all(sql, &[&files], |row| Ok((column(row, 0)?, column(row, 1)?))).await?;
    let text = |key: &String| {
        let (file, bytes, heading) = chunks.get(key)?;
        Some(text_to_embed(heading, texts.get(file)?.get(bytes.clone())?))
    };
    Ok(keys.iter().map(text).collect())
}

/// Returns the file number in an item key.
pub(super) fn file_of(key: &str) -> Option<i64> {
    i64::from_str_radix(key.split('/').nth(1)?, 16).ok()
}

pub(super) async fn numbers(db: &PostgresSession, repository: i64, paths: &[String]) -> Result<Vec<i64>> {
    let keys: Vec<String> = paths.iter().map(|path| index_key(&storable(path)).into_owned()).collect();
    let sql = "SELECT number FROM gatehouse.file WHERE repository = $1 AND key = ANY($2)";
    db.column(sql, &[&repository, &keys]).await
}
