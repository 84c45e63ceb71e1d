//! The best documents on SQLite by name, by words and by vector, scored in all ways.

use std::{collections::BTreeMap, sync::Arc};

use gatehouse_core::{
    ports::documents::LineRange,
    search::{MIN_CANDIDATE_POOL, NameMatch, NameQuery, ScoredCandidate},
};
use rusqlite::{Connection, Row, params};

use super::{
    chunk_vectors::{self, ChunkVectorCache, ChunkVectors, NearestChunk},
    read::RepositoryKey,
    words::index,
};
use crate::{
    documents::engine::{DocumentCandidate, DocumentCandidates, DocumentQuestion},
    engine::name_matches,
    sql::{
        Result,
        sqlite::{CachedStatements as _, RowFilter, best, search_prefixes, search_words, vectors},
    },
};

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
pub(super) fn by_index(
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
    use crate::{documents::tables::schema::SCHEMA, sql::sqlite::migrate};

    #[test]
    fn no_statement_goes_through_the_files_of_other_repositories() {
        let mut db = Connection::open_in_memory().unwrap();
        migrate(&mut db, SCHEMA).unwrap();
        // The plan must not depend on statistics.
        for analysed in [false, true] {
            for sql in [FILES_BY_NAME, chunk_vectors::CHUNKS_OF, super::super::read::HEADS] {
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
