//! Word indexes of documents on SQLite, and the best documents by name, by words and by vector, scored in all ways.
//!
//! Each repository has two index tables. A search does not depend on other repositories, and removing a repository only
//! drops its tables. On PostgreSQL, each document has a term for its repository.

use std::{collections::BTreeMap, sync::Arc};

use gatehouse_core::{
    ports::documents::LineRange,
    search::{MIN_CANDIDATE_POOL, NameMatch, NameQuery, ScoredCandidate, script},
};
use rusqlite::{Connection, Row, params};

#[cfg(feature = "postgres")]
use super::terms;
use super::{
    chunk_vectors::{self, ChunkVectorCache, ChunkVectors, NearestChunk},
    put::PreparedFile,
    read::{self, RepositoryKey},
};
#[cfg(feature = "postgres")]
use crate::sql::StoreError;
use crate::{
    documents::{
        engine::{DocumentCandidate, DocumentCandidates, DocumentQuestion},
        unknown_repository,
    },
    engine::name_matches,
    sql::{Result, Session, SqlValue, values, vectors::Vectors},
    sqlite::{
        CachedStatements as _, RowFilter, WordIndex, best, search_prefixes, search_words, vectors,
        with_variants,
    },
};

const WEIGHTS: &str = "6.0, 3.0, 1.0";

/// Bytes to buffer before writing a segment. Merging a few large segments is cheaper than merging many small ones.
/// SQLite's default is 1 MiB.
const INDEX_BUFFER_BYTES: i64 = 16 * 1024 * 1024;

fn index(repository: i64) -> WordIndex {
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
        (Session::Sqlite(db), _) => by_index(&db.connection(), cache, &repository, question),
        #[cfg(feature = "postgres")]
        (Session::Postgres(db), Vectors::Postgres(vectors)) => {
            let vectors = vectors.search(db, question.vector.as_ref()).await?;
            terms::candidates(db, repository, question, &vectors).await
        }
        #[cfg(feature = "postgres")]
        _ => Err(StoreError::invalid("the vectors belong to another engine")),
    }
}

/// A file has up to three names.
const MAX_NAME_ROWS: i64 = 3 * MIN_CANDIDATE_POOL as i64 + 1;

const FILES_BY_NAME: &str =
    "SELECT file, key FROM file_name WHERE repository = ?1 AND key >= ?2 AND key < ?3 ORDER BY key LIMIT ?4";

struct ChunkMatches<'a> {
    cached: Arc<ChunkVectors>,
    question: &'a [f32],
    near: Vec<NearestChunk>,
}

/// Finds the best documents, each scored in all ways.
fn by_index(
    db: &Connection,
    cache: &ChunkVectorCache,
    repository: &RepositoryKey,
    question: &DocumentQuestion,
) -> Result<DocumentCandidates> {
    let (index, all) = (index(repository.number), RowFilter::default());
    let words = match question.prefixes.as_slice() {
        [] => search_words(db, &index, &question.query, &all, repository.files, question.limit)?,
        prefixes => search_prefixes(db, &index, prefixes, &all)?,
    };
    let mut files = by_name(db, repository.number, &question.name)?;
    for file in best(&words.scores, question.pool, |file| path(db, file))? {
        files.entry(file).or_insert(NameMatch::No);
    }
    let (mut by_meaning, mut without_vector) = (None, 0);
    if let Some(vector) = &question.vector {
        match cache.load(db, repository, vector)? {
            None => without_vector = chunk_vectors::with_chunks(db, repository.number)?,
            Some(cached) => {
                without_vector = cached.waiting();
                let nearest_chunks = cached.nearest_chunks(&vector.values);
                by_meaning = Some(ChunkMatches { cached, question: &vector.values, near: nearest_chunks });
            }
        }
    }
    if let Some(meaning) = &by_meaning {
        let close = |chunk: &&NearestChunk| vectors::may_be_near(chunk.cosine, !words.scores.is_empty());
        for chunk in nearest(meaning.near.iter().filter(close).copied().collect(), question.pool) {
            files.entry(chunk.file).or_insert(NameMatch::No);
        }
    }
    let mut candidates = Vec::with_capacity(files.len());
    for (file, name) in files {
        let bm25 = words.scores.get(&file).copied().unwrap_or(0.0);
        let (cosine, best) = match &by_meaning {
            Some(meaning) => meaning.cosine_and_lines(db, file)?,
            None => (None, None),
        };
        candidates.extend(candidate(db, file, (name, bm25, cosine), best)?);
    }
    Ok(DocumentCandidates { candidates, unmatched_terms: words.unmatched, without_vector, notes: Vec::new() })
}

/// Returns the files whose names match the question. Empty if too many match.
fn by_name(db: &Connection, repository: i64, query: &NameQuery) -> Result<BTreeMap<i64, NameMatch>> {
    let Some((from, to)) = query.range() else { return Ok(BTreeMap::new()) };
    let values = params![repository, from, to, MAX_NAME_ROWS];
    let rows: Vec<(i64, String)> = db.all(FILES_BY_NAME, values, |row| row.try_into())?;
    let files = name_matches(query, rows);
    Ok(if files.len() > MIN_CANDIDATE_POOL { BTreeMap::new() } else { files })
}

fn path(db: &Connection, file: i64) -> Result<Option<String>> {
    db.find("SELECT path FROM file WHERE number = ?1", [file])
}

fn nearest(mut near: Vec<NearestChunk>, limit: usize) -> Vec<NearestChunk> {
    let order = |a: &NearestChunk, b: &NearestChunk| b.cosine.total_cmp(&a.cosine).then(a.file.cmp(&b.file));
    if limit < near.len() {
        near.select_nth_unstable_by(limit, order);
        near.truncate(limit);
    }
    near
}

impl ChunkMatches<'_> {
    fn cosine_and_lines(&self, db: &Connection, file: i64) -> Result<(Option<f32>, Option<LineRange>)> {
        let Ok(at) = self.near.binary_search_by_key(&file, |chunk| chunk.file) else {
            return Ok((None, None));
        };
        let chunk = self.near[at];
        let cosine = vectors::cosine(db, self.cached.model(), chunk.item, self.question)?;
        let sql = "SELECT first_line, last_line FROM chunk WHERE file = ?1 AND position = ?2";
        let lines = |row: &Row<'_>| Ok(LineRange { first: row.get(0)?, last: row.get(1)? });
        Ok((cosine, db.first(sql, params![file, chunk.position], lines)?))
    }
}

fn candidate(
    db: &Connection,
    file: i64,
    (name, bm25, cosine): (NameMatch, f64, Option<f32>),
    best: Option<LineRange>,
) -> Result<Option<DocumentCandidate>> {
    let sql = "SELECT path, tokens, abstract FROM file
         JOIN file_text ON file_text.file = file.number WHERE number = ?1";
    db.first(sql, [file], |row| {
        Ok(DocumentCandidate {
            scored: ScoredCandidate { key: row.get(0)?, name, bm25, cosine },
            tokens: row.get(1)?,
            best,
            abstract_text: row.get(2)?,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{documents::tables::schema::SCHEMA, sqlite::migrate};

    #[test]
    fn no_statement_goes_through_the_files_of_other_repositories() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, SCHEMA).unwrap();
        // The plan must not depend on statistics.
        for analysed in [false, true] {
            for sql in [FILES_BY_NAME, chunk_vectors::CHUNKS_OF, read::HEADS] {
                let mut statement = db.prepare(&format!("EXPLAIN QUERY PLAN {sql}")).unwrap();
                let values = vec![rusqlite::types::Value::Null; statement.parameter_count()];
                let plan =
                    statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3));
                let plan: Vec<String> = plan.unwrap().map(Result::unwrap).collect();
                let through = |line: &String| line.starts_with("SCAN") || line.contains("TEMP B-TREE");
                assert!(!plan.iter().any(through), "{plan:?}, analysed: {analysed}");
            }
            db.execute_batch("ANALYZE").unwrap();
        }
    }
}
