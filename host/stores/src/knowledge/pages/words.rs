//! Word indexes of pages on SQLite, and the best pages by name, by words and by vector, scored in all ways.

use std::{borrow::Cow, collections::BTreeMap};

use gatehouse_core::{
    ports::knowledge::PageType,
    search::{MIN_CANDIDATE_POOL, NameMatch, NameQuery, ScoredCandidate, script},
};
use rusqlite::{Connection, params, params_from_iter, types::Value};

#[cfg(feature = "postgres")]
use super::terms;
use super::write::{COLUMNS, PageColumns, VALUES};
use crate::{
    engine::{NEAREST_PAGES, PageCandidates, PageQuestion, name_matches},
    sql::sqlite::{
        CachedStatements as _, RowFilter, VectorCache, WordIndex, best, list, search_words, separated,
        vectors, with_variants,
    },
    sql::{Result, Session, StoreError, values, vectors::Vectors},
    wiki::record::PageRecord,
};

/// Weights of title, overview, domains and content.
const INDEX: WordIndex = WordIndex {
    words: Cow::Borrowed("page_text"),
    pieces: Cow::Borrowed("page_grams"),
    weights: "6.0, 3.0, 2.0, 1.0",
};

pub(super) async fn candidates(
    db: Session<'_>,
    vectors: &Vectors,
    question: &PageQuestion,
) -> Result<PageCandidates> {
    match (db, vectors) {
        (Session::Sqlite(db), Vectors::Sqlite { cache, .. }) => by_index(&db.connection(), cache, question),
        #[cfg(feature = "postgres")]
        (Session::Postgres(db), Vectors::Postgres(vectors)) => {
            terms::candidates(db, question, &vectors.search(db, question.vector.as_ref()).await?).await
        }
        #[cfg(feature = "postgres")]
        _ => Err(StoreError::invalid("the vectors belong to another engine")),
    }
}

/// Removes the words of the pages with these keys.
pub(super) async fn remove(db: Session<'_>, keys: &[String]) -> Result<()> {
    match db {
        Session::Sqlite(sqlite) => {
            let sql = "SELECT number FROM page WHERE key IN @texts(?1)";
            let numbers: Vec<i64> = db.column(sql, values![keys]).await?;
            numbers.into_iter().try_for_each(|number| INDEX.remove(&sqlite.connection(), number))
        }
        // Deleting a page deletes its terms.
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => Ok(()),
    }
}

/// Inserts pages with their texts and words.
pub(super) async fn put(db: Session<'_>, pages: &[PageColumns<'_>]) -> Result<()> {
    match db {
        Session::Sqlite(sqlite) => {
            let rows: Vec<_> = pages.iter().map(PageColumns::values).collect();
            db.run_each(&format!("INSERT INTO page ({COLUMNS}) VALUES ({VALUES})"), &rows).await?;
            let bodies =
                pages.iter().map(|row| values![row.number, row.page.overview, row.page.content].to_vec());
            let sql = "INSERT INTO page_body (page, overview, content) VALUES (?1, ?2, ?3)";
            db.run_each(sql, &bodies.collect::<Vec<_>>()).await?;
            let sqlite = sqlite.connection();
            pages.iter().try_for_each(|columns| put_words(&sqlite, columns.number, columns.page))
        }
        #[cfg(feature = "postgres")]
        Session::Postgres(_) => terms::put(db, pages).await,
    }
}

/// Indexes a page by its words and the n-grams of words in other scripts.
fn put_words(db: &Connection, number: i64, record: &PageRecord) -> Result<()> {
    let domains = record.domains.join(", ");
    let (title, overview) = (with_variants(&record.title), with_variants(&record.overview));
    let columns = "(rowid, title, overview, domains, content) VALUES (?1, ?2, ?3, ?4, ?5)";
    let texts = params![number, title, overview, separated(&domains), separated(&record.content)];
    db.run(&format!("INSERT INTO page_text {columns}"), texts)?;
    let grams = [&record.title, &record.overview, &domains, &record.content].map(|text| script::grams(text));
    if grams.iter().any(|text| !text.is_empty()) {
        let [title, overview, domains, content] = grams;
        let sql = format!("INSERT INTO page_grams {columns}");
        db.run(&sql, params![number, title, overview, domains, content])?;
    }
    Ok(())
}

fn id(db: &Connection, number: i64) -> Result<Option<String>> {
    db.find("SELECT id FROM page WHERE number = ?1", [number])
}

fn by_index(db: &Connection, cache: &VectorCache, question: &PageQuestion) -> Result<PageCandidates> {
    let pool = question.pool();
    let total: i64 = db.value("SELECT count(*) FROM page", [])?;
    let filter = PageFilter::new(db, &question.types, &question.domains)?;
    let words = search_words(db, &INDEX, &question.query, &filter.rows(), total, question.limit)?;
    let mut pages = by_name(db, &question.name, &filter)?;
    for page in best(&words.scores, pool, |page| id(db, page))? {
        pages.entry(page).or_insert(NameMatch::No);
    }
    let (mut cached, mut without_vector) = (None, 0);
    if let Some(vector) = &question.vector {
        cached = cache.load(db, vector)?.map(|cached| (cached, &vector.values));
        let cached_items = cached.as_ref().map_or(0, |(cached, _)| cached.items());
        without_vector = usize::try_from(total).unwrap_or(0).saturating_sub(cached_items);
    }
    if let Some((cached, values)) = &cached {
        let close = |cosine: f32| vectors::may_be_near(cosine, !words.scores.is_empty());
        let nearest = cached.nearest(values, filter.pages(), pool).into_iter().enumerate();
        for (_, (page, _)) in nearest.filter(|(place, (_, cosine))| *place < NEAREST_PAGES || close(*cosine))
        {
            pages.entry(page).or_insert(NameMatch::No);
        }
    }
    let mut scored = Vec::with_capacity(pages.len());
    for (page, name) in pages {
        // Skip a page that was removed after the vectors were loaded.
        let Some(key) = id(db, page)? else { continue };
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
fn by_name(db: &Connection, query: &NameQuery, filter: &PageFilter) -> Result<BTreeMap<i64, NameMatch>> {
    let Some((from, to)) = query.range() else { return Ok(BTreeMap::new()) };
    let conditions = filter.condition("page");
    let sql = format!(
        "SELECT page, key FROM page_name WHERE key >= ? AND key < ?{conditions} ORDER BY key LIMIT ?"
    );
    let mut values: Vec<Value> = vec![from.to_owned().into(), to.into()];
    values.extend(filter.value());
    // A page has up to three names.
    values.push((3 * MIN_CANDIDATE_POOL as i64 + 1).into());
    let rows: Vec<(i64, String)> = db.all(&sql, params_from_iter(values), |row| row.try_into())?;
    Ok(name_matches(query, rows))
}

/// Pages that match the filters, computed once, because every statement of a search uses them. `None` if there are no
/// filters.
struct PageFilter(Option<FilteredPages>);

struct FilteredPages {
    /// Sorted page numbers.
    pages: Vec<i64>,
    list: Value,
}

impl PageFilter {
    fn new(db: &Connection, types: &[PageType], domains: &[String]) -> Result<Self> {
        let types = types.iter().map(|kind| kind.as_str().to_owned());
        let domains = domains.iter().cloned();
        let of_types = pages_with_any(db, "SELECT number FROM page WHERE type", types)?;
        let of_domains = pages_with_any(db, "SELECT page FROM domain WHERE key", domains)?;
        let pages = match (of_types, of_domains) {
            (None, None) => return Ok(Self(None)),
            (Some(pages), None) | (None, Some(pages)) => pages,
            (Some(mut pages), Some(others)) => {
                pages.retain(|page| others.binary_search(page).is_ok());
                pages
            }
        };
        let list = list(pages.iter().copied());
        Ok(Self(Some(FilteredPages { pages, list })))
    }

    /// Returns a condition on `column`, a page number, that starts with AND. Empty if there are no filters.
    ///
    /// The plus keeps SQLite from using the column in the plan. Without it, SQLite queries the full-text index once per
    /// matching page, and each query goes through all pages that contain the words, so the time grows quadratically.
    fn condition(&self, column: &str) -> String {
        match self.0 {
            Some(_) => format!(" AND +{column} IN (SELECT value FROM json_each(?))"),
            None => String::new(),
        }
    }

    fn rows(&self) -> RowFilter {
        RowFilter { condition: self.condition("rowid"), value: self.value() }
    }

    fn value(&self) -> Option<Value> {
        self.0.as_ref().map(|passing| passing.list.clone())
    }

    fn pages(&self) -> Option<&[i64]> {
        self.0.as_ref().map(|passing| &*passing.pages)
    }
}

/// Returns the sorted pages with any of these values. `None` if there are no values.
fn pages_with_any(
    db: &Connection,
    of: &str,
    values: impl ExactSizeIterator<Item = String>,
) -> Result<Option<Vec<i64>>> {
    if values.len() == 0 {
        return Ok(None);
    }
    let sql = format!("{of} IN (SELECT value FROM json_each(?))");
    let mut pages: Vec<i64> = db.column(&sql, [list(values)])?;
    pages.sort_unstable();
    pages.dedup();
    Ok(Some(pages))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{knowledge::pages::schema::SCHEMA, sql::sqlite::migrate};

    fn plan(db: &Connection, index: &str, types: &[PageType], domains: &[String]) -> Vec<String> {
        let filter = PageFilter::new(db, types, domains).unwrap().rows();
        let sql =
            format!("EXPLAIN QUERY PLAN {}", crate::sql::sqlite::match_sql(index, INDEX.weights, &filter));
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
        migrate(&mut db, SCHEMA).unwrap();
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
