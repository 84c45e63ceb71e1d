//! Word indexes of documents on SQLite.
//!
//! Each repository has two index tables. A search does not depend on other repositories, and removing a repository only
//! drops its tables. On PostgreSQL, each document has a term for its repository.

use gatehouse_core::search::script;
use rusqlite::{Connection, params};

#[cfg(feature = "postgres")]
use super::terms;
use super::{chunk_vectors::ChunkVectorCache, put::PreparedFile, read, search};
#[cfg(feature = "postgres")]
use crate::sql::StoreError;
use crate::{
    documents::{
        engine::{DocumentCandidates, DocumentQuestion},
        unknown_repository,
    },
    sql::{
        Result, Session, SqlValue,
        sqlite::{CachedStatements as _, WordIndex, with_variants},
        values,
        vectors::Vectors,
    },
};

const WEIGHTS: &str = "6.0, 3.0, 1.0";

/// Bytes to buffer before writing a segment. Merging a few large segments is cheaper than merging many small ones.
/// SQLite's default is 1 MiB.
const INDEX_BUFFER_BYTES: i64 = 16 * 1024 * 1024;

pub(super) fn index(repository: i64) -> WordIndex {
    WordIndex::numbered(repository, WEIGHTS)
}

/// Creates the index of a new repository.
pub(super) fn create(db: Session<'_>, repository: i64) -> Result<()> {
    match db {
        Session::Sqlite(db) => {
            let (db, index) = (db.connection(), index(repository));
            index.create(&db, "path, headings, body")?;
            for table in [&index.words, &index.pieces] {
                let sql =
                    format!("INSERT INTO {table} ({table}, rank) VALUES ('hashsize', {INDEX_BUFFER_BYTES})");
                db.execute(&sql, [])?;
            }
            Ok(())
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => Ok(()),
    }
}

/// Removes the index of a repository.
pub(super) fn drop(db: Session<'_>, repository: i64) -> Result<()> {
    match db {
        Session::Sqlite(db) => index(repository).drop_tables(&db.connection()),
        // Deleting a file deletes its terms.
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => Ok(()),
    }
}

/// Removes the words of files.
pub(super) fn remove(db: Session<'_>, repository: i64, files: &[i64]) -> Result<()> {
    match db {
        Session::Sqlite(db) => {
            let (db, index) = (db.connection(), index(repository));
            files.iter().try_for_each(|file| index.remove(&db, *file))
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => Ok(()),
    }
}

/// Updates the numbers that searches weigh words by.
pub(super) async fn count(db: Session<'_>, repository: i64) -> Result<()> {
    match db {
        Session::Sqlite(_) => Ok(()),
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => terms::count(db, repository).await,
    }
}

/// The statement that stores a file. Its values are those of [`columns`].
pub(super) const PUT_FILE: &str =
    "INSERT INTO file (repository, key, path, hash, made_from, lines, tokens, length)
     VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8)
     ON CONFLICT (repository, key) DO UPDATE SET hash = excluded.hash, made_from = excluded.made_from,
        lines = excluded.lines, tokens = excluded.tokens, length = excluded.length";

pub(super) fn columns<'a>(
    repository: i64,
    PreparedFile { file, key, .. }: &'a PreparedFile,
    length: i64,
) -> Vec<SqlValue<'a>> {
    let mut columns = vec![SqlValue::Integer(repository)];
    columns.extend(values![*key, file.head.path, file.head.hash, file.made_from]);
    columns.extend([file.lines.into(), file.tokens.into(), length].map(SqlValue::Integer));
    columns
}

/// Stores files with their texts and words, and returns their numbers.
pub(super) async fn put(db: Session<'_>, repository: i64, files: &[PreparedFile]) -> Result<Vec<i64>> {
    match db {
        Session::Sqlite(sqlite) => {
            let keys: Vec<String> = files.iter().map(|file| file.key.clone()).collect();
            remove(db, repository, &read::numbers(db, repository, &keys).await?)?;
            let sql = format!("{PUT_FILE} RETURNING number");
            let mut numbers = Vec::with_capacity(files.len());
            for prepared in files {
                let number: i64 = db.value(&sql, &columns(repository, prepared, 0)).await?;
                let text = "INSERT OR REPLACE INTO file_text (file, abstract, content) VALUES (?1, ?2, ?3)";
                db.run(text, values![number, prepared.abstract_text, prepared.file.text]).await?;
                put_words(&sqlite.connection(), &index(repository), number, prepared)?;
                numbers.push(number);
            }
            Ok(numbers)
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => terms::put(db, repository, files).await,
    }
}

/// Indexes a file by its words and the n-grams of words in other scripts.
fn put_words(
    db: &Connection,
    index: &WordIndex,
    number: i64,
    PreparedFile { file, .. }: &PreparedFile,
) -> Result<()> {
    let WordIndex { words, pieces, .. } = index;
    let (path, headings) = (&file.head.path, file.headings.join("\n"));
    let columns = "(rowid, path, headings, body) VALUES (?1, ?2, ?3, ?4)";
    let body = script::separate_scripts(&file.text);
    let values = params![number, with_variants(path), with_variants(&headings), body];
    db.run(&format!("INSERT INTO {words} {columns}"), values)?;
    let [path, headings, body] = [path, &headings, &file.text].map(|text| script::grams(text));
    if !(path.is_empty() && headings.is_empty() && body.is_empty()) {
        db.run(&format!("INSERT INTO {pieces} {columns}"), params![number, path, headings, body])?;
    }
    Ok(())
}

pub(super) async fn candidates(
    db: Session<'_>,
    vectors: &Vectors,
    cache: &ChunkVectorCache,
    question: &DocumentQuestion,
) -> Result<DocumentCandidates> {
    let name = &question.repository;
    let repository = read::key(db, name).await?.ok_or_else(|| unknown_repository(name, &[]))?;
    match (db, vectors) {
        (Session::Sqlite(db), _) => search::by_index(&db.connection(), cache, &repository, question),
        #[cfg(feature = "postgres")]
        (Session::Postgres(db), Vectors::Postgres(vectors)) => {
            let vectors = vectors.search(db, question.vector.as_ref()).await?;
            terms::candidates(db, repository, question, &vectors).await
        }
        #[cfg(feature = "postgres")]
        _ => Err(StoreError::invalid("the vectors belong to another engine")),
    }
}
