//! Finds artifacts of one owner by words and by summary vectors, then scores the candidates. Word frequencies count
//! only the artifacts of that owner.

use std::collections::HashMap;

use gatehouse_core::search::{NameMatch, ScoredCandidate};

use super::{
    super::{
        error::{Result, column},
        session::{PostgresSession, SqlValues},
        vectors::{PgvectorQuery, VectorSearch},
        words::{WeightedForms, forms, forms_cte, total_score_sql},
    },
    read::{self, NOT_EXPIRED, from_row},
};
use crate::artifacts::engine::{
    ArtifactCandidate, ArtifactCandidates, ArtifactQuestion, NearestItem, item_number, item_prefix,
};

pub(super) async fn candidates(
    db: &PostgresSession,
    question: &ArtifactQuestion,
    vectors: &VectorSearch<'_>,
) -> Result<ArtifactCandidates> {
    let vector_query = vectors.query();
    let scores = by_words(db, question).await?;
    let distances = match vector_query {
        Some(vector_query) => by_vector(db, question, vector_query).await?,
        None => HashMap::new(),
    };
    let pool = question.pool;
    let mut numbers = best(&scores, pool, |score| -score);
    numbers.extend(best(&distances, pool, |distance| *distance));
    let foreign: HashMap<i64, &NearestItem> =
        question.near.iter().map(|item| (item_number(&item.key), item)).collect();
    numbers.extend(foreign.keys());
    numbers.sort_unstable();
    numbers.dedup();
    let sql = format!("{} WHERE {NOT_EXPIRED} AND a.number = ANY($3)", read::SELECT_ARTIFACT);
    let rows = db.rows(&sql, &[&question.scope.owner, &question.scope.now, &numbers]).await?;
    let mut candidates = Vec::with_capacity(rows.len());
    for row in &rows {
        let stored_artifact = from_row(row)?;
        let bm25 = scores.get(&stored_artifact.number).copied().unwrap_or(0.0);
        let own_cosine = distances.get(&stored_artifact.number).map(|distance| (1.0 - distance) as f32);
        let foreign = || foreign.get(&stored_artifact.number)?.cosine_if_current(&stored_artifact.row);
        let cosine = own_cosine.or_else(foreign);
        let (body, artifact) = (stored_artifact.row.body(), stored_artifact.artifact());
        let scored = ScoredCandidate { key: artifact.id.clone(), name: NameMatch::No, bm25, cosine };
        candidates.push(ArtifactCandidate { scored, artifact, body });
    }
    let without_vector = match vectors {
        VectorSearch::Query(vector_query) => without_vector(db, question, vector_query).await?,
        VectorSearch::NoVectors => candidates.len().max(1),
        VectorSearch::WordsOnly(_) => 0,
    };
    Ok(ArtifactCandidates {
        candidates,
        without_vector,
        words_only_reason: vectors.words_only_reason().cloned(),
    })
}

/// Returns the numbers with the lowest `place`, ties by number.
fn best(all: &HashMap<i64, f64>, limit: usize, place: impl Fn(&f64) -> f64) -> Vec<i64> {
    let mut placed: Vec<(f64, i64)> = all.iter().map(|(number, value)| (place(value), *number)).collect();
    placed.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    placed.into_iter().take(limit).map(|(_, number)| number).collect()
}

/// Returns the query for the owner's term, which no word of a question can match.
fn scope(owner: &str) -> String {
    format!("'{}'", item_prefix(owner))
}

/// Returns the scores of the artifacts that contain words of the question.
async fn by_words(db: &PostgresSession, question: &ArtifactQuestion) -> Result<HashMap<i64, f64>> {
    let (owner, now) = (&question.scope.owner, &question.scope.now);
    let totals_sql =
        format!("SELECT count(*), coalesce(sum(length), 0) FROM gatehouse.artifact a WHERE {NOT_EXPIRED}");
    let row = db.one(&totals_sql, &[owner, now]).await?;
    let (total, length): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
    let length = (length as f64 / total.max(1) as f64).max(1.0);
    let forms = forms(&question.query);
    let form_texts: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
    if form_texts.is_empty() {
        return Ok(HashMap::new());
    }
    let frequencies = format!(
        "SELECT (SELECT count(*) FROM gatehouse.artifact a
                WHERE a.terms @@ ($4::text::tsquery && to_tsquery('gatehouse.words', form)) AND {NOT_EXPIRED})
         FROM unnest($3::text[]) WITH ORDINALITY AS asked (form, place) ORDER BY place"
    );
    let frequencies: Vec<i64> = db.column(&frequencies, &[owner, now, &form_texts, &scope(owner)]).await?;
    let WeightedForms { forms, weights, .. } = WeightedForms::new(&forms, &frequencies, total);
    if forms.is_empty() {
        return Ok(HashMap::new());
    }
    let live = NOT_EXPIRED.replace("$1", "$6").replace("$2", "$7");
    let sql = format!(
        "{} SELECT t.number, {} FROM (
            SELECT a.number, a.length, a.terms || ''::tsvector AS terms FROM gatehouse.artifact a
            WHERE a.terms @@ ($4::text::tsquery && to_tsquery('gatehouse.words', $5)) AND {live} OFFSET 0
         ) t",
        forms_cte(),
        total_score_sql()
    );
    let any = forms.join(" | ");
    let values: SqlValues<'_> = &[&forms, &weights, &length, &scope(owner), &any, owner, now];
    db.all(&sql, values, |row| Ok((column(row, 0)?, column(row, 1)?))).await
}

async fn by_vector(
    db: &PostgresSession,
    question: &ArtifactQuestion,
    vector_query: &PgvectorQuery<'_>,
) -> Result<HashMap<i64, f64>> {
    // Expired artifacts are excluded as a set: a join per row would take quadratic time.
    let sql = format!(
        "SELECT number, distance FROM (
            SELECT substr(near.key, $9)::bigint AS number, near.distance
            FROM ({} AND v.key >= $5 AND v.key < $8 OFFSET 0) near
         ) near WHERE number NOT IN (SELECT number FROM gatehouse.artifact WHERE owner = $6 AND expires <= $7)
         ORDER BY distance, number LIMIT $10",
        vector_query.distances()
    );
    let [vector, corpus, model, dimension] = vector_query.values();
    let (owner, now) = (&question.scope.owner, &question.scope.now);
    let (from, to) = item_range(owner);
    let length = i32::try_from(from.len() + 1).unwrap_or(i32::MAX);
    let pool = i64::try_from(question.pool).unwrap_or(i64::MAX);
    let values: SqlValues<'_> = &[vector, corpus, model, dimension, &from, owner, now, &to, &length, &pool];
    db.all(&sql, values, |row| Ok((column(row, 0)?, column(row, 1)?))).await
}

async fn without_vector(
    db: &PostgresSession,
    question: &ArtifactQuestion,
    vector_query: &PgvectorQuery<'_>,
) -> Result<usize> {
    let [_, corpus, model, dimension] = vector_query.values();
    let (from, to) = item_range(&question.scope.owner);
    let sql = "SELECT count(*) FROM gatehouse.item i WHERE i.corpus = $1 AND i.key >= $2 AND i.key < $3
            AND NOT EXISTS (SELECT 1 FROM gatehouse.item_vector v
                WHERE v.corpus = i.corpus AND v.key = i.key AND v.model = $4 AND v.dimension IN (0, $5))";
    Ok(db.count(sql, &[corpus, &from, &to, model, dimension]).await? as usize)
}

/// Returns the key range of an owner's items: first key and exclusive end.
fn item_range(owner: &str) -> (String, String) {
    let from = item_prefix(owner);
    let to = format!("{}0", from.trim_end_matches('/'));
    (from, to)
}
