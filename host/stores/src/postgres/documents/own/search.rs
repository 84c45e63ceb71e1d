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
        session::{PostgresSession, SqlValues},
        vectors::VectorSearch,
        words::{
            MAX_NAME_ROWS, QueryForm, WeightedForms, forms, forms_cte, name_range, prefix_forms,
            total_score_sql,
        },
    },
    nearest_chunks::{by_vector, nearest, waiting},
    read::{self, RepositoryKey},
};
use crate::{
    documents::{
        engine::{DocumentCandidate, DocumentCandidates, DocumentQuestion},
        unknown_repository,
    },
    embedding::words_only_note,
    engine::name_matches,
};

struct DocumentQueryTerms {
    matching: WeightedForms,
    /// Index queries to try in order: first without frequent words, then with all words.
    rounds: Vec<String>,
    /// Average length of a document.
    length: f64,
}

pub(super) async fn candidates(
    db: &PostgresSession,
    question: &DocumentQuestion,
    vectors: &VectorSearch<'_>,
) -> Result<DocumentCandidates, StoreError> {
    let name = &question.repository;
    let repository = read::key(db, name).await?.ok_or_else(|| unknown_repository(name, &[]))?;
    let pool = i64::try_from(question.pool).unwrap_or(i64::MAX);
    let asked = match question.prefixes.as_slice() {
        [] => forms(&question.query),
        prefixes => prefix_forms(prefixes),
    };
    let words = weigh_terms(db, &repository, asked).await?;
    let near = vectors.query();
    let (by_words, by_name, by_vector) = try_join3(
        by_words(db, &repository, &words, question.limit, pool),
        by_name(db, repository.number, &question.name),
        by_vector(db, &repository, near, pool),
    )
    .await?;
    let mut files = [by_words, by_name.keys().copied().collect(), by_vector.files].concat();
    files.sort_unstable();
    files.dedup();
    let without_vector = match vectors {
        VectorSearch::Query(_) | VectorSearch::NoVectors if by_vector.known < repository.items => {
            waiting(db, &repository, near).await? as usize
        }
        _ => 0,
    };
    let nearest = nearest(db, &repository, near, &files).await?;
    let candidates = load_candidates(db, &words, &by_name, &nearest, &files).await?;
    let notes = vectors.words_only_reason().map(|why| words_only_note(why)).into_iter().collect();
    Ok(DocumentCandidates { candidates, unmatched_terms: words.matching.unmatched, without_vector, notes })
}

/// Returns the query for the repository's term, which no word of a question can match.
fn scope(repository: &RepositoryKey) -> String {
    format!("'/{}'", repository.number)
}

/// Weighs query forms by how many documents contain them.
async fn weigh_terms(
    db: &PostgresSession,
    repository: &RepositoryKey,
    forms: Vec<QueryForm>,
) -> Result<DocumentQueryTerms, StoreError> {
    let (all, words) = (repository.files as f64, repository.words as f64);
    let asked: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
    let sql = "SELECT (SELECT count(*) FROM gatehouse.file_terms t
                WHERE t.terms @@ ($2::text::tsquery && to_tsquery('gatehouse.words', form)))
         FROM unnest($1::text[]) WITH ORDINALITY AS asked (form, place) ORDER BY place";
    let rows =
        if asked.is_empty() { Vec::new() } else { db.rows(sql, &[&asked, &scope(repository)]).await? };
    let frequencies = rows.iter().map(|row| column(row, 0)).collect::<Result<Vec<i64>, _>>()?;
    let matching = WeightedForms::new(&forms, &frequencies, repository.files);
    let mut rounds = vec![matching.selective.join(" | "), matching.forms.join(" | ")];
    rounds.dedup();
    rounds.retain(|round| !round.is_empty());
    Ok(DocumentQueryTerms { matching, rounds, length: (words / all.max(1.0)).max(1.0) })
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
        total_score_sql()
    );
    let WeightedForms { forms, weights, .. } = &words.matching;
    let mut found = Vec::new();
    for round in &words.rounds {
        let values: SqlValues<'_> = &[forms, weights, &words.length, &scope(repository), round, &pool];
        let rows = db.rows(&sql, values).await?;
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
    let Some((from, to)) = name_range(name) else { return Ok(BTreeMap::new()) };
    let sql = "SELECT file, key FROM gatehouse.file_name
         WHERE repository = $1 AND key >= $2 AND key < $3 ORDER BY key, file LIMIT $4";
    let rows = db.rows(sql, &[&repository, &from, &to, &MAX_NAME_ROWS]).await?;
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
        total_score_sql()
    );
    let WeightedForms { forms, weights, .. } = &words.matching;
    let rows = db.rows(&sql, &[forms, weights, &words.length, &files]).await?;
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
