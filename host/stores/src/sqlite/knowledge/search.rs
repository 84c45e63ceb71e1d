//! Finds candidates: by name, by words and by vector. The best by words and the best by vector are looked at closely;
//! each of them is scored in both ways.

use std::collections::{BTreeMap, HashMap};

use gatehouse_core::search::{NameMatch, NameQuery, POOL, Scored, dense, near_enough};
use rusqlite::{Connection, types::Value};

use super::{filter::PageFilter, read, words};
use crate::{
    engine::{Candidates, Question, named},
    sqlite::{error::StoreError, vector_cache::VectorCache, vectors},
};

/// What may answer a question.
pub(super) fn candidates(
    db: &Connection,
    cache: &VectorCache,
    question: &Question,
) -> Result<Candidates, StoreError> {
    let pool = question.pool();
    let total: i64 = db.query_row("SELECT count(*) FROM page", [], |row| row.get(0))?;
    let narrowed = PageFilter::of(db, &question.types, &question.domains)?;
    let words = words::search(db, &question.query, &narrowed, total, question.limit)?;
    let mut pages = by_name(db, &question.name, &narrowed)?;
    for page in best(db, &words.scores, pool)? {
        pages.entry(page).or_insert(NameMatch::No);
    }
    let (mut held, mut without_vector) = (None, 0);
    if let Some(vector) = &question.vector {
        held = cache.held(db, &vector.model, vector.values.len())?.map(|held| (held, &vector.values));
        let known = held.as_ref().map_or(0, |(held, _)| held.items());
        without_vector = usize::try_from(total).unwrap_or(0).saturating_sub(known);
    }
    if let Some((held, values)) = &held {
        // What is too far by its bytes, give or take their error, is not looked at closely.
        let close = |cosine: f32| near_enough(cosine + 0.01, !words.scores.is_empty());
        let near = held.nearest(values, narrowed.pages(), pool).into_iter();
        for (page, _) in near.filter(|(_, cosine)| close(*cosine)) {
            pages.entry(page).or_insert(NameMatch::No);
        }
    }
    let mut scored = Vec::with_capacity(pages.len());
    for (page, name) in pages {
        // A page that has gone since the vectors were read has no id any more.
        let Some(key) = read::id(db, page)? else { continue };
        let bm25 = words.scores.get(&page).copied().unwrap_or(0.0);
        let cosine = match &held {
            Some((held, values)) => {
                vectors::of(db, held.model(), page)?.and_then(|vector| dense::cosine(&vector, values))
            }
            None => None,
        };
        scored.push(Scored { key, name, bm25, cosine });
    }
    Ok(Candidates { scored, unmatched_terms: words.unmatched, without_vector, notes: Vec::new() })
}

/// The pages that the question names, or whose names begin with it: title, id, and id without its type.
fn by_name(
    db: &Connection,
    query: &NameQuery,
    narrowed: &PageFilter,
) -> Result<BTreeMap<i64, NameMatch>, StoreError> {
    let Some((from, to)) = query.range() else { return Ok(BTreeMap::new()) };
    let conditions = narrowed.condition("page");
    let sql = format!(
        "SELECT page, key FROM page_name WHERE key >= ? AND key < ?{conditions} ORDER BY key LIMIT ?"
    );
    let mut values: Vec<Value> = vec![from.to_owned().into(), to.into()];
    values.extend(narrowed.value());
    // Each page has three names at most.
    values.push((3 * POOL as i64 + 1).into());
    let mut statement = db.prepare_cached(&sql)?;
    let rows =
        statement.query_map(rusqlite::params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(named(query, rows.collect::<Result<Vec<_>, _>>()?))
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
