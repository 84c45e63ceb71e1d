//! Search terms of pages on PostgreSQL. Finds candidates by words, name and vector, then scores them. Each search applies
//! filters before its limit.

use std::collections::{BTreeMap, HashMap};

use futures_util::future::try_join3;
use gatehouse_core::search::{NameMatch, ScoredCandidate};
use tokio_postgres::Row;

use super::write::{COLUMNS, PageColumns, VALUES};
use crate::{
    embedding::words_only_note,
    engine::{PageCandidates, PageQuestion, name_matches},
    sql::postgres::{
        IndexTerms, MAX_NAME_ROWS, PgvectorQuery, PostgresSession, QueryForm, SqlValues, VectorSearch,
        WEIGHTED_FORMS_SQL, WeightedForms, column, forms, name_range, score_sql, with_variants,
    },
    sql::{Result, Session, SqlValue, value::storable},
    wiki::record::PageRecord,
};

/// Pages whose terms are computed together.
const MAX_TOGETHER: usize = 16;

/// Query of one row of [`WEIGHTED_FORMS_SQL`].
const FORM: &str = "to_tsquery('gatehouse.words', a.form)";

/// Length of a page `p` relative to the average, `$3`.
const LENGTH: &str = "p.length / $3::float8";

/// A question in the form of SQL parameters.
struct SqlQuestion<'a> {
    question: &'a PageQuestion,
    forms: Vec<QueryForm>,
    types: Option<Vec<&'static str>>,
    domains: Option<Vec<String>>,
    pool: i64,
}

impl<'a> SqlQuestion<'a> {
    fn new(question: &'a PageQuestion) -> Self {
        let types: Vec<_> = question.types.iter().map(|kind| kind.as_str()).collect();
        let domains: Vec<_> = question.domains.iter().map(|domain| storable(domain).into_owned()).collect();
        Self {
            question,
            forms: forms(&question.query),
            types: Some(types).filter(|types| !types.is_empty()),
            domains: Some(domains).filter(|domains| !domains.is_empty()),
            pool: i64::try_from(question.pool()).unwrap_or(i64::MAX),
        }
    }
}

/// Inserts pages with their texts and terms.
pub(super) async fn put(db: Session<'_>, pages: &[PageColumns<'_>]) -> Result<()> {
    let sql = format!(
        "WITH own AS (INSERT INTO page ({COLUMNS}, length) VALUES ({VALUES}, ?13)),
            body AS (INSERT INTO page_body (page, overview, content) VALUES (?1, ?18, ?19))
         INSERT INTO page_text (page, terms) VALUES (?1, setweight(to_tsvector('gatehouse.words', ?14), 'A')
            || setweight(to_tsvector('gatehouse.words', ?15), 'B')
            || setweight(to_tsvector('gatehouse.words', ?16), 'C') || to_tsvector('gatehouse.words', ?17))"
    );
    // Terms take a millisecond a page, and other tasks of the thread wait for them.
    for pages in pages.chunks(MAX_TOGETHER) {
        let terms: Vec<IndexTerms<4>> = pages.iter().map(|columns| index_terms(columns.page)).collect();
        let rows: Vec<_> =
            pages.iter().zip(&terms).map(|(columns, terms)| values_of(columns, terms)).collect();
        db.run_each(&sql, &rows).await?;
    }
    Ok(())
}

fn values_of<'a>(columns: &'a PageColumns<'_>, terms: &'a IndexTerms<4>) -> Vec<SqlValue<'a>> {
    let mut values = columns.values();
    values.push(SqlValue::Integer(terms.length.into()));
    values.extend(terms.texts.iter().map(|text| SqlValue::Text(text)));
    values.extend([&columns.page.overview, &columns.page.content].map(|text| SqlValue::Text(text)));
    values
}

fn index_terms(page: &PageRecord) -> IndexTerms<4> {
    let (title, overview) = (with_variants(&page.title), with_variants(&page.overview));
    IndexTerms::new(&page.id, [&title, &overview, &page.domains.join(", "), &page.content])
}

struct PageQueryTerms {
    matching: WeightedForms,
    /// Average length of a page.
    length: f64,
    total: usize,
}

pub(super) async fn candidates(
    db: &PostgresSession,
    question: &PageQuestion,
    vectors: &VectorSearch<'_>,
) -> Result<PageCandidates> {
    let sql_question = SqlQuestion::new(question);
    let words = weigh_terms(db, &sql_question).await?;
    let vector_query = vectors.query();
    let (by_words, by_name, by_vector) = try_join3(
        by_words(db, &sql_question, &words),
        by_name(db, &sql_question),
        by_vector(db, &sql_question, vector_query),
    )
    .await?;
    let mut numbers = [by_words, by_name.keys().copied().collect(), by_vector].concat();
    numbers.sort_unstable();
    numbers.dedup();
    let without_vector = match vectors {
        VectorSearch::Query(vector_query) => {
            words.total.saturating_sub(vector_query.count_known(db).await? as usize)
        }
        VectorSearch::NoVectors => words.total,
        VectorSearch::WordsOnly(_) => 0,
    };
    Ok(PageCandidates {
        scored: score_candidates(db, &words, &by_name, vector_query, &numbers).await?,
        without_vector,
        unmatched_terms: words.matching.unmatched,
        notes: vectors.words_only_reason().map(|reason| words_only_note(reason)).into_iter().collect(),
    })
}

/// Weighs query forms by how many pages contain them. Forms without a match are dropped and reported.
async fn weigh_terms(db: &PostgresSession, sql_question: &SqlQuestion<'_>) -> Result<PageQueryTerms> {
    let forms: Vec<&str> = sql_question.forms.iter().map(|form| form.form.as_str()).collect();
    let sql =
        "SELECT (SELECT count(*) FROM page_text t WHERE t.terms @@ to_tsquery('gatehouse.words', form)),
            (SELECT count(*) FROM page),
            (SELECT coalesce(avg(length), 0)::float8 FROM page)
         FROM unnest($1::text[]) WITH ORDINALITY AS asked (form, place) ORDER BY place";
    let rows = db.rows(sql, &[&forms]).await?;
    let frequencies = rows.iter().map(|row| column(row, 0)).collect::<Result<Vec<i64>, _>>()?;
    let (total, length) = match rows.first() {
        Some(row) => (column(row, 1)?, column(row, 2)?),
        None => (db.value("SELECT count(*) FROM page", &[]).await?, 1.0),
    };
    Ok(PageQueryTerms {
        matching: WeightedForms::new(&sql_question.forms, &frequencies, total),
        length: f64::max(length, 1.0),
        total: usize::try_from(total).unwrap_or(0),
    })
}

/// Returns the filter condition on a page `p`. The arguments are the numbers of the SQL parameters.
fn filtered(types: usize, domains: usize) -> String {
    format!(
        "(${types}::text[] IS NULL OR p.type = ANY(${types}))
         AND (${domains}::text[] IS NULL OR p.number IN (SELECT d.page FROM domain d WHERE d.key = ANY(${domains})))"
    )
}

/// Returns the best pages by words, ties by id.
async fn by_words(
    db: &PostgresSession,
    sql_question: &SqlQuestion<'_>,
    words: &PageQueryTerms,
) -> Result<Vec<i64>> {
    if words.matching.forms.is_empty() {
        return Ok(Vec::new());
    }
    // Query the index once per form, so a form without matches costs little. OFFSET 0 forces the scores to be computed
    // before the sort, because terms are long.
    let sql = format!(
        "SELECT number FROM (
            SELECT p.number, p.id, a.place, {} AS share FROM {WEIGHTED_FORMS_SQL}
                JOIN page_text t ON t.terms @@ to_tsquery('gatehouse.words', a.form)
                JOIN page p ON p.number = t.page
            WHERE {} OFFSET 0
         ) held GROUP BY number, id ORDER BY sum(share ORDER BY place) DESC, id LIMIT $6",
        score_sql(FORM, LENGTH),
        filtered(4, 5)
    );
    let SqlQuestion { types, domains, pool, .. } = sql_question;
    let WeightedForms { forms, weights, .. } = &words.matching;
    db.column(&sql, &[forms, weights, &words.length, types, domains, pool]).await
}

/// Returns pages whose name equals the question or begins with it.
async fn by_name(db: &PostgresSession, sql_question: &SqlQuestion<'_>) -> Result<BTreeMap<i64, NameMatch>> {
    let Some((from, to)) = name_range(&sql_question.question.name) else { return Ok(BTreeMap::new()) };
    let sql = format!(
        "SELECT p.number, n.key FROM page_name n JOIN page p ON p.number = n.page
         WHERE n.key >= $1 AND n.key < $2 AND {} ORDER BY n.key, p.id LIMIT $5",
        filtered(3, 4)
    );
    let values: SqlValues<'_> = &[&from, &to, &sql_question.types, &sql_question.domains, &MAX_NAME_ROWS];
    let rows: Vec<(i64, String)> = db.all(&sql, values, |row| Ok((column(row, 0)?, column(row, 1)?))).await?;
    Ok(name_matches(&sql_question.question.name, rows))
}

/// Returns the nearest pages, ties by id. Scans every vector, so it is exact even with filters.
async fn by_vector(
    db: &PostgresSession,
    sql_question: &SqlQuestion<'_>,
    vector_query: Option<&PgvectorQuery<'_>>,
) -> Result<Vec<i64>> {
    let Some(vector_query) = vector_query else { return Ok(Vec::new()) };
    // Look up pages only for filters and ties, not for every vector.
    let page_filter = if sql_question.types.is_none() && sql_question.domains.is_none() {
        "$5::text[] IS NULL AND $6::text[] IS NULL".to_owned()
    } else {
        format!("v.key IN (SELECT p.key FROM page p WHERE {})", filtered(5, 6))
    };
    let sql = format!(
        "SELECT p.number FROM ({} AND {page_filter} ORDER BY distance FETCH FIRST $7 ROWS WITH TIES) near
         JOIN page p ON p.key = near.key ORDER BY near.distance, p.id LIMIT $7",
        vector_query.distances()
    );
    let [vector, corpus, model, dimension] = vector_query.values();
    let SqlQuestion { types, domains, pool, .. } = sql_question;
    db.column(&sql, &[vector, corpus, model, dimension, types, domains, pool]).await
}

async fn score_candidates(
    db: &PostgresSession,
    words: &PageQueryTerms,
    by_name: &BTreeMap<i64, NameMatch>,
    vector_query: Option<&PgvectorQuery<'_>>,
    numbers: &[i64],
) -> Result<Vec<ScoredCandidate<String>>> {
    let mut cosines: HashMap<i64, f32> = HashMap::new();
    if let Some(vector_query) = vector_query {
        let sql = format!(
            "SELECT p.number, 1 - near.distance FROM ({}) near JOIN page p ON p.key = near.key
             WHERE p.number = ANY($5)",
            vector_query.distances()
        );
        let [vector, corpus, model, dimension] = vector_query.values();
        let cosine = |row: &Row| Ok((column(row, 0)?, column::<f64>(row, 1)? as f32));
        cosines = db.all(&sql, &[vector, corpus, model, dimension, &numbers], cosine).await?;
    }
    let sql = format!(
        "SELECT p.id, p.number, (SELECT coalesce(sum({} ORDER BY a.place), 0) FROM {WEIGHTED_FORMS_SQL})
         FROM page p JOIN page_text t ON t.page = p.number WHERE p.number = ANY($4)",
        score_sql(FORM, LENGTH)
    );
    let WeightedForms { forms, weights, .. } = &words.matching;
    let candidate = |row: &Row| {
        let number: i64 = column(row, 1)?;
        Ok(ScoredCandidate {
            key: column(row, 0)?,
            name: by_name.get(&number).copied().unwrap_or(NameMatch::No),
            bm25: column(row, 2)?,
            cosine: cosines.get(&number).copied(),
        })
    };
    db.all(&sql, &[forms, weights, &words.length, &numbers], candidate).await
}
