//! Finds candidate pages by name, by words and by vector. The best of each are scored in all ways.

use std::{borrow::Cow, collections::BTreeMap};

use gatehouse_core::search::{MIN_CANDIDATE_POOL, NameMatch, NameQuery, ScoredCandidate};
use rusqlite::{Connection, types::Value};

use super::{filter::PageFilter, read};
use crate::{
    engine::{PageCandidates, PageQuestion, name_matches},
    sqlite::{
        error::StoreError,
        vector_cache::VectorCache,
        vectors,
        words::{self, WordIndex},
    },
};

/// Weights of title, overview, domains and content.
const INDEX: WordIndex = WordIndex {
    words: Cow::Borrowed("page_text"),
    pieces: Cow::Borrowed("page_grams"),
    weights: "6.0, 3.0, 2.0, 1.0",
};

pub(super) fn candidates(
    db: &Connection,
    cache: &VectorCache,
    question: &PageQuestion,
) -> Result<PageCandidates, StoreError> {
    let pool = question.pool();
    let total: i64 = db.query_row("SELECT count(*) FROM page", [], |row| row.get(0))?;
    let filter = PageFilter::new(db, &question.types, &question.domains)?;
    let words = words::search(db, &INDEX, &question.query, &filter.rows(), total, question.limit)?;
    let mut pages = by_name(db, &question.name, &filter)?;
    for page in words::best(&words.scores, pool, |page| read::id(db, page))? {
        pages.entry(page).or_insert(NameMatch::No);
    }
    let (mut cached, mut without_vector) = (None, 0);
    if let Some(vector) = &question.vector {
        cached = cache.load(db, vector)?.map(|cached| (cached, &vector.values));
        let known = cached.as_ref().map_or(0, |(cached, _)| cached.items());
        without_vector = usize::try_from(total).unwrap_or(0).saturating_sub(known);
    }
    if let Some((cached, values)) = &cached {
        let close = |cosine: f32| vectors::may_be_near(cosine, !words.scores.is_empty());
        let near = cached.nearest(values, filter.pages(), pool).into_iter();
        for (page, _) in near.filter(|(_, cosine)| close(*cosine)) {
            pages.entry(page).or_insert(NameMatch::No);
        }
    }
    let mut scored = Vec::with_capacity(pages.len());
    for (page, name) in pages {
        // Skip a page that was removed after the vectors were loaded.
        let Some(key) = read::id(db, page)? else { continue };
        let bm25 = words.scores.get(&page).copied().unwrap_or(0.0);
        let cosine = match &cached {
            Some((cached, values)) => vectors::cosine(db, cached.model(), page, values)?,
            None => None,
        };
        scored.push(ScoredCandidate { key, name, bm25, cosine });
    }
    Ok(PageCandidates { scored, unmatched_terms: words.unmatched, without_vector, notes: Vec::new() })
}

/// Returns the pages with a name that starts with the question. Names are the title, the id, and the id without its
/// type.
fn by_name(
    db: &Connection,
    query: &NameQuery,
    filter: &PageFilter,
) -> Result<BTreeMap<i64, NameMatch>, StoreError> {
    let Some((from, to)) = query.range() else { return Ok(BTreeMap::new()) };
    let conditions = filter.condition("page");
    let sql = format!(
        "SELECT page, key FROM page_name WHERE key >= ? AND key < ?{conditions} ORDER BY key LIMIT ?"
    );
    let mut values: Vec<Value> = vec![from.to_owned().into(), to.into()];
    values.extend(filter.value());
    // A page has up to three names.
    values.push((3 * MIN_CANDIDATE_POOL as i64 + 1).into());
    let mut statement = db.prepare_cached(&sql)?;
    let rows =
        statement.query_map(rusqlite::params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(name_matches(query, rows.collect::<Result<Vec<_>, _>>()?))
}

#[cfg(test)]
mod tests {
    use gatehouse_core::ports::knowledge::PageType;

    use super::*;
    use crate::sqlite::{functions, migrations};

    fn plan(db: &Connection, index: &str, types: &[PageType], domains: &[String]) -> Vec<String> {
        let filter = PageFilter::new(db, types, domains).unwrap().rows();
        let sql = format!("EXPLAIN QUERY PLAN {}", words::match_sql(index, INDEX.weights, &filter));
        let mut values = vec![Value::from("word".to_owned())];
        values.extend(filter.value);
        let mut statement = db.prepare(&sql).unwrap();
        let lines =
            statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        lines.map(Result::unwrap).filter(|line| line.contains(index)).collect()
    }

    #[test]
    fn filters_never_query_an_index_page_by_page() {
        let mut db = Connection::open_in_memory().unwrap();
        functions::register(&db).unwrap();
        migrations::migrate(&mut db, migrations::KNOWLEDGE).unwrap();
        // The plan must not depend on statistics.
        for analysed in [false, true] {
            for index in ["page_text", "page_grams"] {
                let plain = plan(&db, index, &[], &[]);
                assert_eq!(plain.len(), 1, "{plain:?}");
                let types = [PageType::Principle, PageType::Heuristic];
                let domains = ["a".to_owned(), "b".to_owned()];
                for (types, domains) in [(&types[..], &[][..]), (&[], &domains), (&types, &domains)] {
                    let filter = plan(&db, index, types, domains);
                    assert_eq!(filter, plain, "{types:?}, {domains:?}, analysed: {analysed}");
                }
            }
            db.execute_batch("ANALYZE").unwrap();
        }
    }
}
