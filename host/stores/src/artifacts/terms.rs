//! Search terms and vectors of artifacts on PostgreSQL. Word frequencies count only the artifacts of one owner.

use std::collections::{BTreeSet, HashMap};

use super::{
    engine::{ArtifactQuestion, item_number, item_prefix},
    read::LIVE,
    row::StoredArtifact,
    words::{ArtifactScores, CHANGES},
};
use crate::{
    sql::postgres::{
        IndexTerms, PgvectorQuery, PostgresSession, SqlValues, VectorSearch, WeightedForms, column, forms,
        forms_cte, total_score_sql, with_variants,
    },
    sql::{Result, Session, SqlValue, values},
};

/// Estimated bytes of an artifact's row without its summary and subject: columns, indexes and a vector of a few hundred
/// numbers.
const ROW_BYTES: i64 = 4_096;

/// Stored copies of a summary or subject: original, lowercase, terms and index.
const TEXT_COPIES: i64 = 4;

/// Stores the changeable columns of an artifact, and its terms.
pub(super) async fn store(db: Session<'_>, artifact: &StoredArtifact, values: &[SqlValue<'_>]) -> Result<()> {
    let (row, owner) = (&artifact.row, item_prefix(&artifact.owner));
    let body = row.body();
    let weight = ROW_BYTES + TEXT_COPIES * body.len() as i64;
    let terms = IndexTerms::new(&row.id, [&with_variants(&row.heading()), &with_variants(&body)]);
    let IndexTerms { texts: [heading, body], length } = terms;
    let length = i64::from(length);
    let values = [values, values![weight, length, owner, heading, body]].concat();
    let sql = format!(
        "UPDATE artifact SET {CHANGES}, weight = ?10, length = ?11, terms = array_to_tsvector(ARRAY[?12::text])
            || setweight(to_tsvector('gatehouse.words', ?13), 'B') || to_tsvector('gatehouse.words', ?14)
         WHERE number = ?1"
    );
    db.run(&sql, &values).await.map(drop)
}

/// Finds the best artifacts by words and by vector.
pub(super) async fn best_artifacts(
    db: &PostgresSession,
    question: &ArtifactQuestion,
    vectors: &VectorSearch<'_>,
) -> Result<ArtifactScores> {
    let words = term_scores(db, question).await?;
    let (distances, without_vector) = match vectors {
        VectorSearch::Query(query) => {
            tokio::try_join!(biased; by_vector(db, question, query), without_vector(db, question, query))?
        }
        VectorSearch::NoVectors => (HashMap::new(), 1),
        VectorSearch::WordsOnly(_) => (HashMap::new(), 0),
    };
    let mut ranked: Vec<(f64, i64)> = words.iter().map(|(number, score)| (-score, *number)).collect();
    ranked.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let mut numbers: BTreeSet<i64> =
        ranked.into_iter().take(question.pool).map(|(_, number)| number).collect();
    numbers.extend(distances.keys());
    numbers.extend(question.near.iter().map(|item| item_number(&item.key)));
    Ok(ArtifactScores {
        numbers,
        words,
        cosines: distances.into_iter().map(|(number, distance)| (number, (1.0 - distance) as f32)).collect(),
        without_vector,
        words_only_reason: vectors.words_only_reason().cloned(),
    })
}

/// Returns the query for the owner's term, which no word of a question can match.
fn scope(owner: &str) -> String {
    format!("'{}'", item_prefix(owner))
}

/// Returns the scores of the artifacts that contain words of the question.
async fn term_scores(db: &PostgresSession, question: &ArtifactQuestion) -> Result<HashMap<i64, f64>> {
    let (owner, now) = (&question.scope.owner, &question.scope.now);
    let live = LIVE.replace('?', "$");
    let totals_sql = format!("SELECT count(*), coalesce(sum(length), 0) FROM artifact a WHERE {live}");
    let row = db.one(&totals_sql, &[owner, now]).await?;
    let (total, length): (i64, i64) = (column(&row, 0)?, column(&row, 1)?);
    let length = (length as f64 / total.max(1) as f64).max(1.0);
    let forms = forms(&question.query);
    let form_texts: Vec<&str> = forms.iter().map(|form| form.form.as_str()).collect();
    if form_texts.is_empty() {
        return Ok(HashMap::new());
    }
    let frequencies = format!(
        "SELECT (SELECT count(*) FROM artifact a
                WHERE a.terms @@ ($4::text::tsquery && to_tsquery('gatehouse.words', form)) AND {live})
         FROM unnest($3::text[]) WITH ORDINALITY AS asked (form, place) ORDER BY place"
    );
    let frequencies: Vec<i64> = db.column(&frequencies, &[owner, now, &form_texts, &scope(owner)]).await?;
    let WeightedForms { forms, weights, .. } = WeightedForms::new(&forms, &frequencies, total);
    if forms.is_empty() {
        return Ok(HashMap::new());
    }
    let live = LIVE.replace("?1", "$6").replace("?2", "$7");
    let sql = format!(
        "{} SELECT t.number, {} FROM (
            SELECT a.number, a.length, a.terms || ''::tsvector AS terms FROM artifact a
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
         ) near WHERE number NOT IN (SELECT number FROM artifact WHERE owner = $6 AND expires <= $7)
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
    let sql = "SELECT count(*) FROM item i WHERE i.corpus = $1 AND i.key >= $2 AND i.key < $3
            AND NOT EXISTS (SELECT 1 FROM item_vector v
                WHERE v.corpus = i.corpus AND v.key = i.key AND v.model = $4 AND v.dimension IN (0, $5))";
    Ok(db.count(sql, &[corpus, &from, &to, model, dimension]).await? as usize)
}

/// Returns the key range of an owner's items: first key and exclusive end.
fn item_range(owner: &str) -> (String, String) {
    let from = item_prefix(owner);
    let to = format!("{}0", from.trim_end_matches('/'));
    (from, to)
}
