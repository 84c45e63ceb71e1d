//! Finds candidate documents by words, name and chunk vectors, then scores them.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join3;
use gatehouse_core::{
    ports::documents::LineRange,
    search::{MIN_CANDIDATE_POOL, NameMatch, NameQuery, ScoredCandidate},
};
use tokio_postgres::Row;

use super::{
    super::super::{
        error::{StoreError, column, count},
        session::PostgresSession,
        vectors::PgvectorQuery,
        words::{QUESTION_FORMS, QueryForm, forms, prefix_forms, score_sql, weight},
    },
    nearest_chunks::{by_vector, nearest, waiting},
    read::{self, RepositoryKey},
};
use crate::{
    documents::{
        engine::{DocumentCandidate, DocumentCandidates, DocumentQuestion},
        unknown_repository,
    },
    engine::name_matches,
};

/// Returns the CTE `asked` with the queries of a question's forms. `$1` and `$2` are those of [`QUESTION_FORMS`].
fn forms_cte() -> String {
    format!(
        "WITH asked AS MATERIALIZED
            (SELECT to_tsquery('gatehouse.words', a.form) AS query, a.weight, a.place FROM {QUESTION_FORMS})"
    )
}

/// Returns SQL for the score of a document `t`. `$3` is the average length.
fn score() -> String {
    let share = score_sql("a.query", "t.length / $3::float8");
    format!("(SELECT coalesce(sum({share} ORDER BY a.place), 0) FROM asked a)")
}

/// Matching query forms and their weights.
struct DocumentQueryTerms {
    forms: Vec<String>,
    weights: Vec<f64>,
    /// Index queries to try in order: first without frequent words, then with all words.
    rounds: Vec<String>,
    length: f64,
    unmatched: Vec<String>,
}

/// Finds candidates for a question. `near` is `None` if the question has no vector, and `Some(None)` if no document has
/// one yet.
pub(super) async fn candidates(
    db: &PostgresSession,
    question: &DocumentQuestion,
    near: Option<Option<PgvectorQuery<'_>>>,
) -> Result<DocumentCandidates, StoreError> {
    let name = &question.repository;
    let repository = read::key(db, name).await?.ok_or_else(|| unknown_repository(name, &[]))?;
    let pool = i64::try_from(question.pool).unwrap_or(i64::MAX);
    let asked = match question.beginnings.as_slice() {
        [] => forms(&question.query),
        beginnings => prefix_forms(beginnings),
    };
    let words = weigh_terms(db, &repository, asked).await?;
    let (wants_vectors, near) = (near.is_some(), near.flatten());
    let (by_words, by_name, by_vector) = try_join3(
        by_words(db, &repository, &words, question.limit, pool),
        by_name(db, repository.number, &question.name),
        by_vector(db, &repository, near.as_ref(), pool),
    )
    .await?;
    let mut files = [by_words, by_name.keys().copied().collect(), by_vector.files].concat();
    files.sort_unstable();
    files.dedup();
    let mut without_vector = 0;
    if wants_vectors && by_vector.known < repository.items {
        without_vector = waiting(db, &repository, near.as_ref()).await? as usize;
    }
    let nearest = nearest(db, &repository, near.as_ref(), &files).await?;
    let candidates = load_candidates(db, &words, &by_name, &nearest, &files).await?;
    Ok(DocumentCandidates { candidates, unmatched_terms: words.unmatched, without_vector, notes: Vec::new() })
}

/// Returns the query for the repository's term, which no word of a question can match.
fn scope(repository: &RepositoryKey) -> String {
    format!("'/{}'", repository.number)
}

/// Weighs query forms by how many documents contain them. Forms without a match are dropped and reported.
async fn weigh_terms(
    db: &PostgresSession,
    repository: &RepositoryKey,
    forms: Vec<QueryForm>,
) -> Result<DocumentQueryTerms, StoreError> {
    let (all, words) = (repository.files as f64, repository.words as f64);
    let mut weighed = DocumentQueryTerms {
        forms: Vec::new(),
        weights: Vec::new(),
        rounds: Vec::new(),
        length: (words / all.max(1.0)).max(1.0),
        unmatched: Vec::new(),
    };
    let asked: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
    let sql = "SELECT (SELECT count(*) FROM gatehouse.file_terms t
                WHERE t.terms @@ ($2::text::tsquery && to_tsquery('gatehouse.words', form)))
         FROM unnest($1::text[]) WITH ORDINALITY AS asked (form, place) ORDER BY place";
    let rows =
        if asked.is_empty() { Vec::new() } else { db.rows(sql, &[&asked, &scope(repository)]).await? };
    let mut telling = Vec::new();
    for (row, QueryForm { form, written, counts }) in rows.iter().zip(&forms) {
        let holding = column::<i64>(row, 0)? as f64;
        if holding == 0.0 {
            weighed.unmatched.extend(written.clone());
        } else if *counts {
            if holding * 2.0 <= all {
                telling.push(form.clone());
            }
            weighed.forms.push(form.clone());
            weighed.weights.push(weight(holding, all));
        }
    }
    let every = weighed.forms.join(" | ");
    weighed.rounds.extend(Some(telling.join(" | ")).filter(|some| !some.is_empty() && *some != every));
    weighed.rounds.extend(Some(every).filter(|every| !every.is_empty()));
    Ok(weighed)
}

/// Returns the best documents by words, ties by path. Words that more than half of the documents contain are queried
/// only if the rest finds fewer than `wanted`: they match many rows and add little.
async fn by_words(
    db: &PostgresSession,
    repository: &RepositoryKey,
    words: &DocumentQueryTerms,
    wanted: usize,
    pool: i64,
) -> Result<Vec<i64>, StoreError> {
    // OFFSET 0 and `||` fetch the long terms once for all forms.
    let sql = format!(
        "{} SELECT t.number FROM (
            SELECT f.number, f.path, f.length, x.terms || ''::tsvector AS terms
            FROM gatehouse.file_terms x JOIN gatehouse.file f ON f.number = x.file
            WHERE x.terms @@ ($4::text::tsquery && to_tsquery('gatehouse.words', $5)) OFFSET 0
         ) t ORDER BY {} DESC, t.path LIMIT $6",
        forms_cte(),
        score()
    );
    let mut found = Vec::new();
    for round in &words.rounds {
        let DocumentQueryTerms { forms, weights, length, .. } = words;
        let rows = db.rows(&sql, &[forms, weights, length, &scope(repository), round, &pool]).await?;
        found = rows.iter().map(|row| column(row, 0)).collect::<Result<_, _>>()?;
        if found.len() >= wanted {
            break;
        }
    }
    Ok(found)
}

/// Returns documents whose name equals the question or begins with it. Names that match too many documents are ignored.
async fn by_name(
    db: &PostgresSession,
    repository: i64,
    name: &NameQuery,
) -> Result<BTreeMap<i64, NameMatch>, StoreError> {
    let Some((from, to)) = name.range() else { return Ok(BTreeMap::new()) };
    let sql = "SELECT file, key FROM gatehouse.file_name
         WHERE repository = $1 AND key >= $2 AND key < $3 ORDER BY key, file LIMIT $4";
    // The end of an exact-name range contains NUL, which PostgreSQL rejects.
    let to = to.replace('\0', "\u{1}");
    // Each file has at most three names.
    let limit = 3 * MIN_CANDIDATE_POOL as i64 + 1;
    let rows = db.rows(sql, &[&repository, &from, &to, &limit]).await?;
    let rows = rows.iter().map(|row| Ok((column(row, 0)?, column(row, 1)?)));
    let files = name_matches(name, rows.collect::<Result<Vec<_>, StoreError>>()?);
    Ok(if files.len() > MIN_CANDIDATE_POOL { BTreeMap::new() } else { files })
}

async fn load_candidates(
    db: &PostgresSession,
    words: &DocumentQueryTerms,
    by_name: &BTreeMap<i64, NameMatch>,
    nearest: &HashMap<i64, (f32, LineRange)>,
    files: &[i64],
) -> Result<Vec<DocumentCandidate>, StoreError> {
    let sql = format!(
        "{} SELECT t.number, t.path, t.tokens, x.abstract, {}
         FROM (
            SELECT f.number, f.path, f.tokens, f.length, w.terms || ''::tsvector AS terms
            FROM gatehouse.file f JOIN gatehouse.file_terms w ON w.file = f.number
            WHERE f.number = ANY($4) OFFSET 0
         ) t JOIN gatehouse.file_text x ON x.file = t.number",
        forms_cte(),
        score()
    );
    let rows = db.rows(&sql, &[&words.forms, &words.weights, &words.length, &files]).await?;
    let one = |row: &Row| {
        let number: i64 = column(row, 0)?;
        let nearest = nearest.get(&number);
        Ok(DocumentCandidate {
            scored: ScoredCandidate {
                key: column(row, 1)?,
                name: by_name.get(&number).copied().unwrap_or(NameMatch::No),
                bm25: column(row, 4)?,
                cosine: nearest.map(|(cosine, _)| *cosine),
            },
            tokens: count(row, 2)?,
            best: nearest.map(|(_, lines)| *lines),
            abstract_text: column(row, 3)?,
        })
    };
    rows.iter().map(one).collect()
}
