//! Finds pages: by name, by words and by meaning, put together by the search library of the house.
//!
//! Filters count before every limit. The best by words and the best by meaning are looked at closely; each of
//! them is judged by both.

use std::collections::{BTreeMap, HashMap};

use gatehouse_core::{
    ports::knowledge::{Filters, Hit, SearchResult},
    search::{Judge, NameQuery, Named, POOL, Query, Ranked, Scored, answering, dense, fuse, near_enough},
};
use rusqlite::Connection;

use super::{
    filter::Narrowed,
    meaning::{Held, Meaning},
    read, vectors, words,
};
use crate::sqlite::error::StoreError;

/// The question as a vector, and the model that made it.
pub(super) struct Asked {
    /// The name under which the model's vectors are stored.
    pub(super) model: String,
    /// Of unit length.
    pub(super) vector: Vec<f32>,
}

/// What was found.
pub(super) struct Outcome {
    pub(super) result: SearchResult,
    /// Pages that have no vector of the model, where one was asked.
    pub(super) waiting: usize,
}

/// Runs a search.
pub(super) fn search(
    db: &Connection,
    meaning: &Meaning,
    text: &str,
    asked: Option<&Asked>,
    filters: &Filters,
    limit: usize,
) -> Result<Outcome, StoreError> {
    let pool = limit.max(POOL);
    let total: i64 = db.query_row("SELECT count(*) FROM page", [], |row| row.get(0))?;
    let narrowed = Narrowed::of(db, filters)?;
    let words = words::search(db, Query::of(text), &narrowed, total, limit)?;
    let held = match asked {
        Some(asked) => meaning.held(db, &asked.model, asked.vector.len())?,
        None => None,
    };
    let mut pages: BTreeMap<i64, Named> = named(db, text, &narrowed)?;
    for page in best(db, &words.scores, pool)? {
        pages.entry(page).or_insert(Named::No);
    }
    if let (Some(asked), Some(held)) = (asked, &held) {
        let near = held.nearest(&asked.vector, narrowed.pages(), pool);
        // What is too far by its bytes, give or take their error, is not looked at closely.
        let close = |cosine: f32| near_enough(cosine + 0.01, !words.scores.is_empty());
        for (page, _) in near.into_iter().filter(|(_, cosine)| close(*cosine)) {
            pages.entry(page).or_insert(Named::No);
        }
    }
    let mut scored = Vec::with_capacity(pages.len());
    for (page, name) in pages {
        // A page that has gone since the vectors were read has no id any more.
        let Some(id) = read::id(db, page)? else { continue };
        let bm25 = words.scores.get(&page).copied().unwrap_or(0.0);
        let cosine = match (asked, &held) {
            (Some(asked), Some(held)) => cosine(db, held, page, &asked.vector)?,
            _ => None,
        };
        scored.push(Scored { key: (id, page), name, bm25, cosine });
    }
    let ranked = fuse(answering(scored));
    let hits = found(db, &Judge::of(text), ranked, filters.min_score.unwrap_or(0.0), limit)?;
    let waiting = match asked {
        Some(_) => usize::try_from(total).unwrap_or(0).saturating_sub(held.map_or(0, |held| held.pages())),
        None => 0,
    };
    Ok(Outcome {
        result: SearchResult { hits, unmatched_terms: words.unmatched, ..SearchResult::default() },
        waiting,
    })
}

/// The pages that the question names, or whose names begin with it: title, id, and id without its type. A
/// beginning that more than [`POOL`] names have tells nothing.
fn named(db: &Connection, text: &str, narrowed: &Narrowed) -> Result<BTreeMap<i64, Named>, StoreError> {
    let query = NameQuery::of(text);
    let Some((from, to)) = query.range() else { return Ok(BTreeMap::new()) };
    let conditions = narrowed.condition("page");
    let sql = format!(
        "SELECT key, page FROM page_name WHERE key >= ? AND key < ?{conditions} ORDER BY key LIMIT ?"
    );
    let mut values: Vec<rusqlite::types::Value> = vec![from.to_owned().into(), to.into()];
    values.extend(narrowed.value());
    values.push((3 * POOL as i64 + 1).into());
    let mut statement = db.prepare_cached(&sql)?;
    let rows = statement.query_map(rusqlite::params_from_iter(values), |row| {
        Ok((query.matches_key(&row.get::<_, String>(0)?), row.get(1)?))
    })?;
    let mut pages = BTreeMap::new();
    for row in rows {
        let (name, page): (Named, i64) = row?;
        let best = pages.entry(page).or_insert(name);
        *best = name.min(*best);
    }
    if pages.len() > POOL {
        pages.retain(|_, name| *name == Named::Exact);
    }
    Ok(pages)
}

/// The pages with the highest scores, ties by id.
fn best(db: &Connection, scores: &HashMap<i64, f64>, limit: usize) -> Result<Vec<i64>, StoreError> {
    let mut rows: Vec<(i64, f64)> = scores.iter().map(|(page, score)| (*page, *score)).collect();
    if limit < rows.len() {
        // Ids are looked up only where they can decide: not for what is worse than the last one wanted.
        let (_, (_, worst), _) = rows.select_nth_unstable_by(limit - 1, |a, b| b.1.total_cmp(&a.1));
        let worst = *worst;
        rows.retain(|(_, score)| *score >= worst);
    }
    if rows.len() > limit {
        let mut named = Vec::with_capacity(rows.len());
        for (page, score) in rows {
            named.push((score, read::id(db, page)?, page));
        }
        named.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        rows = named.into_iter().take(limit).map(|(score, _, page)| (page, score)).collect();
    }
    Ok(rows.into_iter().map(|(page, _)| page).collect())
}

fn cosine(db: &Connection, held: &Held, page: i64, query: &[f32]) -> Result<Option<f32>, StoreError> {
    let vector = vectors::of(db, held.model(), page)?;
    Ok(vector.and_then(|vector| dense::cosine(&vector, query)))
}

/// The first of these with at least this score, as pages.
fn found(
    db: &Connection,
    judge: &Judge,
    ranked: Vec<Ranked<(String, i64)>>,
    min_score: f64,
    limit: usize,
) -> Result<Vec<Hit>, StoreError> {
    let mut hits = Vec::new();
    for Ranked { key: (_, number), score, name, cosine } in ranked.into_iter().take(limit) {
        if score < min_score {
            break;
        }
        if let Some(stored) = read::numbered(db, number)? {
            let page = read::page(db, stored)?;
            hits.push(Hit { fit: judge.fit(name, cosine, &page), page, score });
        }
    }
    Ok(hits)
}
