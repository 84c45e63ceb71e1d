//! Search by words: BM25 over the word index, and over the index of pieces where the question has letters of
//! other scripts. Filters count before anything else.

use std::collections::HashMap;

use gatehouse_core::search::{Query, script::ScriptRun};
use rusqlite::{Connection, types::Value};

use super::{
    filter::PageFilter,
    query::{any_of, any_piece, occurs, quote},
};
use crate::sqlite::error::StoreError;

/// How much a word counts in title, overview, domains and content.
const WEIGHTS: &str = "6.0, 3.0, 2.0, 1.0";

/// What the words of a question find.
pub(super) struct ByWords {
    /// Pages with their scores; more is better.
    pub(super) scores: HashMap<i64, f64>,
    /// Words that occur in no page.
    pub(super) unmatched: Vec<String>,
}

/// A word of the query and in how many pages it occurs.
struct Word {
    text: String,
    pages: i64,
}

/// Scores every page in which a telling word occurs; where those are fewer than `enough`, every page in which
/// any does. `total` is how many pages there are.
pub(super) fn search(
    db: &Connection,
    query: &Query,
    narrowed: &PageFilter,
    total: i64,
    enough: usize,
) -> Result<ByWords, StoreError> {
    let Query { words, joined, stretches } = query;
    let words = words.iter().map(|text| counted(db, text)).collect::<Result<Vec<_>, _>>()?;
    let mut scores = by_words(db, &words, joined, narrowed, total, enough)?;
    if let Some(expression) = any_piece(stretches) {
        for (page, score) in answers(db, "page_grams", &expression, narrowed)? {
            *scores.entry(page).or_default() += score;
        }
    }
    let mut unmatched: Vec<String> =
        words.into_iter().filter(|word| word.pages == 0).map(|word| word.text).collect();
    for stretch in stretches {
        if !stretch_occurs(db, stretch)? {
            unmatched.push(stretch.text.clone());
        }
    }
    Ok(ByWords { scores, unmatched })
}

fn counted(db: &Connection, text: &str) -> Result<Word, StoreError> {
    let mut statement = db.prepare_cached("SELECT count(*) FROM page_text WHERE page_text MATCH ?1")?;
    let pages = statement.query_row([quote(text)], |row| row.get(0))?;
    Ok(Word { text: text.to_owned(), pages })
}

fn stretch_occurs(db: &Connection, stretch: &ScriptRun) -> Result<bool, StoreError> {
    let Some(expression) = occurs(stretch) else { return Ok(false) };
    let mut statement = db.prepare_cached("SELECT 1 FROM page_grams WHERE page_grams MATCH ?1 LIMIT 1")?;
    Ok(statement.exists([expression])?)
}

/// A word that more than half of the pages hold counts (almost) nothing in SQLite's BM25, and makes it score
/// all of them. So the others are asked first, and all of them where that gives too few.
fn by_words(
    db: &Connection,
    words: &[Word],
    joined: &[String],
    narrowed: &PageFilter,
    total: i64,
    enough: usize,
) -> Result<HashMap<i64, f64>, StoreError> {
    let present = || words.iter().filter(|word| word.pages > 0);
    let telling: Vec<&String> =
        present().filter(|word| word.pages * 2 <= total).map(|word| &word.text).collect();
    let all_tell = telling.len() == present().count();
    if !all_tell && let Some(expression) = any_of(telling.into_iter().chain(joined)) {
        let scores = answers(db, "page_text", &expression, narrowed)?;
        if scores.len() >= enough {
            return Ok(scores);
        }
    }
    match any_of(present().map(|word| &word.text).chain(joined)) {
        Some(expression) => answers(db, "page_text", &expression, narrowed),
        None => Ok(HashMap::new()),
    }
}

/// The statement that asks an index: the expression comes first, then the value of the filters.
fn statement(index: &str, narrowed: &PageFilter) -> String {
    let conditions = narrowed.condition("rowid");
    format!("SELECT rowid, -bm25({index}, {WEIGHTS}) FROM {index} WHERE {index} MATCH ?{conditions}")
}

/// All pages that answer. SQLite's BM25 is negative, lower is better; here more is.
fn answers(
    db: &Connection,
    index: &'static str,
    expression: &str,
    narrowed: &PageFilter,
) -> Result<HashMap<i64, f64>, StoreError> {
    let mut values = vec![Value::from(expression.to_owned())];
    values.extend(narrowed.value());
    let mut statement = db.prepare_cached(&statement(index, narrowed))?;
    let rows =
        statement.query_map(rusqlite::params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

#[cfg(test)]
mod tests {
    use gatehouse_core::ports::knowledge::PageType;

    use super::*;
    use crate::sqlite::{functions, migrations};

    /// How SQLite goes through an index.
    fn plan(db: &Connection, index: &str, types: &[PageType], domains: &[String]) -> Vec<String> {
        let narrowed = PageFilter::of(db, types, domains).unwrap();
        let sql = format!("EXPLAIN QUERY PLAN {}", statement(index, &narrowed));
        let mut values = vec![Value::from("word".to_owned())];
        values.extend(narrowed.value());
        let mut statement = db.prepare(&sql).unwrap();
        let lines =
            statement.query_map(rusqlite::params_from_iter(values), |row| row.get::<_, String>(3)).unwrap();
        lines.map(Result::unwrap).filter(|line| line.contains(index)).collect()
    }

    #[test]
    fn filters_never_have_an_index_asked_page_by_page() {
        let mut db = Connection::open_in_memory().unwrap();
        functions::register(&db).unwrap();
        migrations::migrate(&mut db, migrations::KNOWLEDGE).unwrap();
        // With statistics, and without.
        for analysed in [false, true] {
            for index in ["page_text", "page_grams"] {
                let plain = plan(&db, index, &[], &[]);
                assert_eq!(plain.len(), 1, "{plain:?}");
                let types = [PageType::Principle, PageType::Heuristic];
                let domains = ["a".to_owned(), "b".to_owned()];
                for (types, domains) in [(&types[..], &[][..]), (&[], &domains), (&types, &domains)] {
                    let narrowed = plan(&db, index, types, domains);
                    assert_eq!(narrowed, plain, "{types:?}, {domains:?}, analysed: {analysed}");
                }
            }
            db.execute_batch("ANALYZE").unwrap();
        }
    }
}
