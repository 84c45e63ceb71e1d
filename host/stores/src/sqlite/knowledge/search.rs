//! Finds pages by the words of a query: the candidates, then their scores, then the pages themselves.
//!
//! Filters count before the limit. A second way of scoring would give candidates of its own and be fused
//! with these ahead of [`found`].

use gatehouse_core::ports::knowledge::{Filters, Hit, SearchResult};
use rusqlite::{Connection, types::Value};

use super::{
    query::{Query, any_of, quote},
    read,
};
use crate::{sqlite::error::StoreError, wiki::ids};

/// How much a word counts in title, overview, domains and content.
const WEIGHTS: &str = "6.0, 3.0, 2.0, 1.0";

/// A page that matches.
#[derive(Debug, Clone, PartialEq)]
struct Candidate {
    number: i64,
    /// 0 to 1; the best of one search has 1.
    score: f64,
}

/// A word of the query and in how many pages it occurs.
struct Word {
    text: String,
    pages: i64,
}

/// Runs a search.
pub(super) fn search(
    db: &Connection,
    text: &str,
    filters: &Filters,
    limit: usize,
) -> Result<SearchResult, StoreError> {
    let Query { words, joined } = Query::of(text);
    let words = words.into_iter().map(|text| counted(db, text)).collect::<Result<Vec<_>, _>>()?;
    let candidates = by_words(db, &words, &joined, filters, limit)?;
    let hits = found(db, candidates, filters.min_score.unwrap_or(0.0))?;
    let unmatched_terms = words.into_iter().filter(|word| word.pages == 0).map(|word| word.text).collect();
    Ok(SearchResult { hits, unmatched_terms, waiting: 0 })
}

fn counted(db: &Connection, text: String) -> Result<Word, StoreError> {
    let mut statement = db.prepare_cached("SELECT count(*) FROM page_text WHERE page_text MATCH ?1")?;
    let pages = statement.query_row([quote(&text)], |row| row.get(0))?;
    Ok(Word { text, pages })
}

/// Candidates by BM25 over the words, best first, ties by id.
///
/// A word that more than half of the pages hold counts (almost) nothing in SQLite's BM25, and makes it
/// score all of them. So the others are asked first, and all of them where that gives too few.
fn by_words(
    db: &Connection,
    words: &[Word],
    joined: &[String],
    filters: &Filters,
    limit: usize,
) -> Result<Vec<Candidate>, StoreError> {
    let total: i64 = db.query_row("SELECT count(*) FROM page", [], |row| row.get(0))?;
    let present = || words.iter().filter(|word| word.pages > 0);
    let telling: Vec<&String> =
        present().filter(|word| word.pages * 2 <= total).map(|word| &word.text).collect();
    let all_tell = telling.len() == present().count();
    if !all_tell && let Some(expression) = any_of(telling.into_iter().chain(joined)) {
        let ranked = ranked(db, &expression, filters, limit)?;
        if ranked.len() == limit {
            return Ok(scored(ranked));
        }
    }
    match any_of(present().map(|word| &word.text).chain(joined)) {
        Some(expression) => Ok(scored(ranked(db, &expression, filters, limit)?)),
        None => Ok(Vec::new()),
    }
}

/// Numbers and ranks of the pages that answer, best first, ties by id.
fn ranked(
    db: &Connection,
    expression: &str,
    filters: &Filters,
    limit: usize,
) -> Result<Vec<(i64, f64)>, StoreError> {
    let mut rows = answers(db, expression, filters)?;
    if limit < rows.len() {
        // Ids are looked up only where they can decide: not for what is worse than the last one wanted.
        let (_, (_, worst), _) = rows.select_nth_unstable_by(limit - 1, |a, b| a.1.total_cmp(&b.1));
        let worst = *worst;
        rows.retain(|(_, rank)| *rank <= worst);
    }
    let mut named = Vec::with_capacity(rows.len());
    let mut statement = db.prepare_cached("SELECT id FROM page WHERE number = ?1")?;
    for (number, rank) in rows {
        named.push((rank, statement.query_row([number], |row| row.get::<_, String>(0))?, number));
    }
    named.sort_by(|a, b| a.0.total_cmp(&b.0).then_with(|| a.1.cmp(&b.1)));
    Ok(named.into_iter().take(limit).map(|(rank, _, number)| (number, rank)).collect())
}

/// Numbers and ranks of all pages that answer, in no order.
fn answers(db: &Connection, expression: &str, filters: &Filters) -> Result<Vec<(i64, f64)>, StoreError> {
    // Lists travel as JSON: they have any length, and the statement stays the same.
    let mut values = vec![Value::from(expression.to_owned())];
    let mut conditions = String::new();
    if !filters.page_types.is_empty() {
        values.push(list(filters.page_types.iter().map(|kind| kind.as_str().to_owned())));
        conditions.push_str(
            " AND rowid IN (SELECT number FROM page WHERE type IN (SELECT value FROM json_each(?)))",
        );
    }
    if !filters.domains.is_empty() {
        values.push(list(filters.domains.iter().map(|domain| ids::domain_key(domain))));
        conditions.push_str(
            " AND rowid IN (SELECT page FROM domain WHERE key IN (SELECT value FROM json_each(?)))",
        );
    }
    let sql = format!(
        "SELECT rowid, bm25(page_text, {WEIGHTS}) FROM page_text WHERE page_text MATCH ?{conditions}"
    );
    let mut statement = db.prepare_cached(&sql)?;
    let rows =
        statement.query_map(rusqlite::params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

/// A list as one value of a statement.
fn list(items: impl Iterator<Item = String>) -> Value {
    Value::from(serde_json::Value::from_iter(items).to_string())
}

/// SQLite's BM25 is negative, lower is better, and has no scale; as a share of the best one it has.
fn scored(ranked: Vec<(i64, f64)>) -> Vec<Candidate> {
    let best = ranked.first().map_or(0.0, |(_, rank)| *rank);
    let share = |rank: f64| if best < 0.0 { (rank / best).clamp(0.0, 1.0) } else { 1.0 };
    ranked.into_iter().map(|(number, rank)| Candidate { number, score: share(rank) }).collect()
}

/// The candidates with at least this score, as pages.
fn found(db: &Connection, candidates: Vec<Candidate>, min_score: f64) -> Result<Vec<Hit>, StoreError> {
    let mut hits = Vec::new();
    for Candidate { number, score } in candidates.into_iter().filter(|candidate| candidate.score >= min_score)
    {
        if let Some(stored) = read::numbered(db, number)? {
            hits.push(Hit { page: read::page(db, stored)?, score });
        }
    }
    Ok(hits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_hit_has_the_score_one() {
        let scores: Vec<f64> = scored(vec![(1, -4.0), (2, -1.0)]).iter().map(|c| c.score).collect();
        assert_eq!(scores, [1.0, 0.25]);
        assert_eq!(scored(vec![(1, 0.0)])[0].score, 1.0);
    }
}
