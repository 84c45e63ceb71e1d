//! Finds candidate documents by words, name and chunk vectors, then scores them. Scans every vector of a repository.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join3;
use gatehouse_core::{
    ports::documents::LineRange,
    search::{MIN_CANDIDATE_POOL, NameMatch, ScoredCandidate},
};
use tokio_postgres::Row;

use super::{
    after_prefix, file_of_item, item_key,
    put::PreparedFile,
    read::RepositoryKey,
    repository_prefix,
    words::{PUT_FILE, columns},
};
use crate::{
    documents::engine::{CHUNKS, DocumentCandidate, DocumentCandidates, DocumentQuestion},
    embedding::words_only_note,
    engine::name_matches,
    sql::postgres::{
        MAX_NAME_ROWS, PgvectorQuery, PostgresSession, SqlValues, VectorSearch, WeightedForms, column, forms,
        forms_cte, name_range, prefix_forms, to_count, total_score_sql,
    },
    sql::{Result, Session, SqlValue, StoreError, values},
};

struct RepositorySearch<'a> {
    db: &'a PostgresSession,
    repository: RepositoryKey,
    question: &'a DocumentQuestion,
    near: Option<&'a PgvectorQuery<'a>>,
    /// Number of documents to find in each way.
    pool: i64,
}

struct DocumentQueryTerms {
    matching: WeightedForms,
    /// Index queries to try in order: first without frequent words, then with all words.
    rounds: Vec<String>,
    /// Average length of a document.
    length: f64,
}

/// Result of a vector search in a repository.
#[derive(Default)]
struct NearestFiles {
    files: Vec<i64>,
    /// Number of items that the model has processed.
    known: i64,
}

/// Stores files with their texts and terms, and returns their numbers.
pub(super) async fn put(db: Session<'_>, repository: i64, files: &[PreparedFile]) -> Result<Vec<i64>> {
    let sql = format!(
        "WITH own AS ({PUT_FILE} RETURNING number), body AS (
            INSERT INTO file_text (file, abstract, content) SELECT number, ?9, ?10 FROM own
            ON CONFLICT (file) DO UPDATE SET abstract = excluded.abstract, content = excluded.content
         ), words AS (
            INSERT INTO file_terms (file, terms)
            SELECT number, array_to_tsvector(ARRAY['/' || ?1::bigint])
                || setweight(to_tsvector('gatehouse.words', ?11), 'A')
                || setweight(to_tsvector('gatehouse.words', ?12), 'B')
                || to_tsvector('gatehouse.words', ?13) FROM own
            ON CONFLICT (file) DO UPDATE SET terms = excluded.terms
         )
         SELECT number FROM own"
    );
    let rows = files.iter().map(|file| {
        let terms =
            file.terms.as_ref().ok_or_else(|| StoreError::invalid("the terms of a file are missing"))?;
        let mut values = columns(repository, file, terms.length.into());
        values.extend(values![file.abstract_text, file.file.text]);
        values.extend(terms.texts.iter().map(|text| SqlValue::Text(text)));
        Ok(values)
    });
    db.value_each(&sql, &rows.collect::<Result<Vec<_>>>()?).await
}

/// Counts the words and items of a repository.
pub(super) async fn count(db: Session<'_>, repository: i64) -> Result<()> {
    let from = repository_prefix(repository);
    db.run(
        "UPDATE repository SET words = (SELECT coalesce(sum(length), 0) FROM file WHERE repository = ?1),
            items = (SELECT count(*) FROM item WHERE corpus = ?2 AND key >= ?3 AND key < ?4)
         WHERE number = ?1",
        values![repository, CHUNKS, from, after_prefix(&from)],
    )
    .await
    .map(drop)
}

pub(super) async fn candidates(
    db: &PostgresSession,
    repository: RepositoryKey,
    question: &DocumentQuestion,
    vectors: &VectorSearch<'_>,
) -> Result<DocumentCandidates> {
    let pool = i64::try_from(question.pool).unwrap_or(i64::MAX);
    let search = RepositorySearch { db, repository, question, near: vectors.query(), pool };
    let words = search.weigh_terms().await?;
    let (by_words, by_name, by_vector) =
        try_join3(search.by_words(&words), search.by_name(), search.by_vector()).await?;
    let mut files = [by_words, by_name.keys().copied().collect(), by_vector.files].concat();
    files.sort_unstable();
    files.dedup();
    let without_vector = match vectors {
        VectorSearch::Query(_) | VectorSearch::NoVectors if by_vector.known < search.repository.items => {
            search.waiting().await? as usize
        }
        _ => 0,
    };
    let nearest = search.nearest(&files).await?;
    let candidates = search.load_candidates(&words, &by_name, &nearest, &files).await?;
    let notes = vectors.words_only_reason().map(|reason| words_only_note(reason)).into_iter().collect();
    Ok(DocumentCandidates { candidates, unmatched_terms: words.matching.unmatched, without_vector, notes })
}

impl RepositorySearch<'_> {
    /// Returns the query for the repository's term, which no word of a question can match.
    fn scope(&self) -> String {
        format!("'/{}'", self.repository.number)
    }

    /// Weighs query forms by how many documents contain them.
    async fn weigh_terms(&self) -> Result<DocumentQueryTerms> {
        let forms = match self.question.prefixes.as_slice() {
            [] => forms(&self.question.query),
            prefixes => prefix_forms(prefixes),
        };
        let form_texts: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
        let sql = "SELECT (SELECT count(*) FROM file_terms t
                    WHERE t.terms @@ ($2::text::tsquery && to_tsquery('gatehouse.words', form)))
             FROM unnest($1::text[]) WITH ORDINALITY AS asked (form, place) ORDER BY place";
        let frequencies: Vec<i64> = match form_texts.as_slice() {
            [] => Vec::new(),
            _ => self.db.column(sql, &[&form_texts, &self.scope()]).await?,
        };
        let RepositoryKey { files, words, .. } = self.repository;
        let matching = WeightedForms::new(&forms, &frequencies, files);
        let mut rounds = vec![matching.selective.join(" | "), matching.forms.join(" | ")];
        rounds.dedup();
        rounds.retain(|round| !round.is_empty());
        let length = (words as f64 / (files as f64).max(1.0)).max(1.0);
        Ok(DocumentQueryTerms { matching, rounds, length })
    }

    /// Returns the best documents by words, ties by path. Words that more than half of the documents contain are
    /// queried only if the rest finds fewer than requested: they match many rows and add little.
    async fn by_words(&self, words: &DocumentQueryTerms) -> Result<Vec<i64>> {
        // OFFSET 0 and `||` fetch the long terms once for all forms.
        let sql = format!(
            "{} SELECT t.number FROM (
                SELECT f.number, f.path, f.length, x.terms || ''::tsvector AS terms
                FROM file_terms x JOIN file f ON f.number = x.file
                WHERE x.terms @@ ($4::text::tsquery && to_tsquery('gatehouse.words', $5)) OFFSET 0
             ) t ORDER BY {} DESC, t.path LIMIT $6",
            forms_cte(),
            total_score_sql()
        );
        let WeightedForms { forms, weights, .. } = &words.matching;
        let mut numbers = Vec::new();
        for round in &words.rounds {
            let values: SqlValues<'_> = &[forms, weights, &words.length, &self.scope(), round, &self.pool];
            numbers = self.db.column(&sql, values).await?;
            if numbers.len() >= self.question.limit {
                break;
            }
        }
        Ok(numbers)
    }

    /// Returns documents whose name equals the question or begins with it. Names that match too many documents are
    /// ignored.
    async fn by_name(&self) -> Result<BTreeMap<i64, NameMatch>> {
        let name = &self.question.name;
        let Some((from, to)) = name_range(name) else { return Ok(BTreeMap::new()) };
        let sql = "SELECT file, key FROM file_name
             WHERE repository = $1 AND key >= $2 AND key < $3 ORDER BY key, file LIMIT $4";
        let values: SqlValues<'_> = &[&self.repository.number, &from, &to, &MAX_NAME_ROWS];
        let row = |row: &Row| Ok((column(row, 0)?, column(row, 1)?));
        let files = name_matches(name, self.db.all::<_, Vec<_>>(sql, values, row).await?);
        Ok(if files.len() > MIN_CANDIDATE_POOL { BTreeMap::new() } else { files })
    }

    /// Returns the files with the nearest chunks, ties by number.
    async fn by_vector(&self) -> Result<NearestFiles> {
        let Some(near) = self.near else { return Ok(NearestFiles::default()) };
        // Groups by key prefix, which contains the file number. OFFSET 0 forces the distances to be computed before
        // the sort, because vectors are long.
        let sql = format!(
            "SELECT file, sum(known) OVER ()::bigint, distance IS NULL FROM (
                SELECT left(key, $7) AS file, count(*) AS known, min(distance) AS distance FROM (
                    {} AND v.key >= $5 AND v.key < $6 OFFSET 0
                ) near GROUP BY 1
             ) files ORDER BY distance NULLS LAST, file LIMIT $8",
            near.distances_or_none()
        );
        let [vector, corpus, model, dimension] = near.values();
        let (from, to, length) = self.item_range();
        let values: SqlValues<'_> = &[vector, corpus, model, dimension, &from, &to, &length, &self.pool];
        let mut nearest_files = NearestFiles::default();
        for row in &self.db.rows(&sql, values).await? {
            nearest_files.known = column(row, 1)?;
            let key: String = column(row, 0)?;
            if !column::<bool>(row, 2)? {
                nearest_files.files.extend(file_of_item(&key));
            }
        }
        Ok(nearest_files)
    }

    /// Returns the key range of the repository's items, and the characters of a key that name the file.
    fn item_range(&self) -> (String, String, i32) {
        let from = repository_prefix(self.repository.number);
        let length = item_key(self.repository.number, 0, "").len() as i32;
        let to = after_prefix(&from);
        (from, to, length)
    }

    /// Counts the documents that have chunks without a vector.
    async fn waiting(&self) -> Result<u32> {
        let (from, to, length) = self.item_range();
        let count_sql = "SELECT count(DISTINCT left(i.key, $4)) FROM item i
             WHERE i.corpus = $1 AND i.key >= $2 AND i.key < $3";
        let values: SqlValues<'_> = &[&CHUNKS, &from, &to, &length];
        let Some(near) = self.near else { return self.db.count(count_sql, values).await };
        let [_, _, model, dimension] = near.values();
        let sql = format!(
            "{count_sql} AND NOT EXISTS (SELECT 1 FROM item_vector v
                WHERE v.corpus = i.corpus AND v.key = i.key AND v.model = $5 AND v.dimension IN (0, $6))"
        );
        self.db.count(&sql, &[values, &[model, dimension]].concat()).await
    }

    /// Returns the similarity of each file and the lines of its nearest chunk.
    async fn nearest(&self, files: &[i64]) -> Result<HashMap<i64, (f32, LineRange)>> {
        let Some(near) = self.near else { return Ok(HashMap::new()) };
        let prefixes = files.iter().map(|file| item_key(self.repository.number, *file, ""));
        let (from, to): (Vec<String>, Vec<String>) =
            prefixes.map(|prefix| (prefix.clone(), after_prefix(&prefix))).unzip();
        let sql = format!(
            "SELECT asked.file, 1 - best.distance, best.first_line, best.last_line
             FROM unnest($5::bigint[], $6::text[], $7::text[]) AS asked (file, low, high),
                LATERAL (SELECT near.distance, c.first_line, c.last_line
                    FROM ({} AND v.key >= asked.low AND v.key < asked.high ORDER BY distance, v.key LIMIT 1) near
                    JOIN item i ON i.corpus = $2 AND i.key = near.key
                    JOIN chunk c ON c.file = asked.file AND c.item = i.number
                    ORDER BY c.position LIMIT 1) best",
            near.distances()
        );
        let [vector, corpus, model, dimension] = near.values();
        let nearest_chunk = |row: &Row| {
            let lines = LineRange { first: to_count(row, 2)?, last: to_count(row, 3)? };
            Ok((column(row, 0)?, (column::<f64>(row, 1)? as f32, lines)))
        };
        self.db.all(&sql, &[vector, corpus, model, dimension, &files, &from, &to], nearest_chunk).await
    }

    async fn load_candidates(
        &self,
        words: &DocumentQueryTerms,
        by_name: &BTreeMap<i64, NameMatch>,
        nearest: &HashMap<i64, (f32, LineRange)>,
        files: &[i64],
    ) -> Result<Vec<DocumentCandidate>> {
        let sql = format!(
            "{} SELECT t.number, t.path, t.tokens, x.abstract, {}
             FROM (
                SELECT f.number, f.path, f.tokens, f.length, w.terms || ''::tsvector AS terms
                FROM file f JOIN file_terms w ON w.file = f.number
                WHERE f.number = ANY($4) OFFSET 0
             ) t JOIN file_text x ON x.file = t.number",
            forms_cte(),
            total_score_sql()
        );
        let WeightedForms { forms, weights, .. } = &words.matching;
        let candidate = |row: &Row| {
            let number: i64 = column(row, 0)?;
            let nearest = nearest.get(&number);
            Ok(DocumentCandidate {
                scored: ScoredCandidate {
                    key: column(row, 1)?,
                    name: by_name.get(&number).copied().unwrap_or(NameMatch::No),
                    bm25: column(row, 4)?,
                    cosine: nearest.map(|(cosine, _)| *cosine),
                },
                tokens: to_count(row, 2)?,
                best: nearest.map(|(_, lines)| *lines),
                abstract_text: column(row, 3)?,
            })
        };
        self.db.all(&sql, &[forms, weights, &words.length, &files], candidate).await
    }
}
