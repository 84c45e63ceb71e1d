//! Word search: BM25 over a word index, and over an n-gram index for non-Latin scripts. Filters apply first.

use std::{borrow::Cow, collections::HashMap};

use gatehouse_core::search::{SearchQuery, script::ScriptRun};
use rusqlite::{Connection, types::Value};

use super::{
    error::StoreError,
    query::{any_of, any_piece, any_prefix, occurs, quote},
};
use crate::documents::PrefixQuery;

pub(super) struct WordIndex {
    pub(super) words: Cow<'static, str>,
    /// N-grams of words in non-Latin scripts. Rows without such words are omitted.
    pub(super) pieces: Cow<'static, str>,
    /// Formatted as the arguments of SQLite's `bm25`.
    pub(super) weights: &'static str,
}

/// A condition on `rowid` that starts with AND, and its value. Both are empty without filters.
#[derive(Default)]
pub(super) struct RowFilter {
    pub(super) condition: String,
    pub(super) value: Option<Value>,
}

pub(super) struct WordMatches {
    /// Rows with their scores. Higher is better.
    pub(super) scores: HashMap<i64, f64>,
    pub(super) unmatched: Vec<String>,
}

struct CountedWord {
    text: String,
    rows: i64,
}

/// Scores every row that contains a significant word. If fewer than `enough` rows match, scores every row that contains
/// any word. `total` is the number of all rows.
pub(super) fn search(
    db: &Connection,
    index: &WordIndex,
    query: &SearchQuery,
    narrowed: &RowFilter,
    total: i64,
    enough: usize,
) -> Result<WordMatches, StoreError> {
    let SearchQuery { words, joined, stretches } = query;
    let words = words.iter().map(|text| count_word(db, index, text)).collect::<Result<Vec<_>, _>>()?;
    let telling = significant_terms(&words, joined, total);
    let mut scores = HashMap::new();
    if let Some(expression) = &telling.expression {
        scores = matching_rows(db, &index.words, index.weights, expression, narrowed)?;
    }
    if !telling.all
        && scores.len() < enough
        && let Some(expression) = any_of(present(&words).map(|word| &word.text).chain(joined))
    {
        scores = matching_rows(db, &index.words, index.weights, &expression, narrowed)?;
    }
    if let Some(expression) = any_piece(stretches) {
        for (row, score) in matching_rows(db, &index.pieces, index.weights, &expression, narrowed)? {
            *scores.entry(row).or_default() += score;
        }
    }
    let mut unmatched: Vec<String> =
        words.into_iter().filter(|word| word.rows == 0).map(|word| word.text).collect();
    for stretch in stretches {
        if !stretch_occurs(db, index, stretch)? {
            unmatched.push(stretch.text.clone());
        }
    }
    Ok(WordMatches { scores, unmatched })
}

pub(super) fn search_prefixes(
    db: &Connection,
    index: &WordIndex,
    beginnings: &[PrefixQuery],
    narrowed: &RowFilter,
) -> Result<WordMatches, StoreError> {
    let scores = match any_prefix(beginnings) {
        Some(expression) => matching_rows(db, &index.words, index.weights, &expression, narrowed)?,
        None => HashMap::new(),
    };
    Ok(WordMatches { scores, unmatched: Vec::new() })
}

fn count_word(db: &Connection, index: &WordIndex, text: &str) -> Result<CountedWord, StoreError> {
    let index = &index.words;
    let mut statement = db.prepare_cached(&format!("SELECT count(*) FROM {index} WHERE {index} MATCH ?1"))?;
    let rows = statement.query_row([quote(text)], |row| row.get(0))?;
    Ok(CountedWord { text: text.to_owned(), rows })
}

fn stretch_occurs(db: &Connection, index: &WordIndex, stretch: &ScriptRun) -> Result<bool, StoreError> {
    let Some(expression) = occurs(stretch) else { return Ok(false) };
    let index = &index.pieces;
    let mut statement =
        db.prepare_cached(&format!("SELECT 1 FROM {index} WHERE {index} MATCH ?1 LIMIT 1"))?;
    Ok(statement.exists([expression])?)
}

fn present(words: &[CountedWord]) -> impl Iterator<Item = &CountedWord> {
    words.iter().filter(|word| word.rows > 0)
}

/// Words of a question that occur in at most half of the rows.
struct SignificantTerms {
    /// Query for any of these words. `None` if there are none.
    expression: Option<String>,
    /// True if every word that occurs is significant.
    all: bool,
}

/// Returns the significant words. A word in more than half of the rows adds almost nothing to SQLite's BM25, but makes
/// it score all those rows, so search uses it only if the others match too few.
fn significant_terms(words: &[CountedWord], joined: &[String], total: i64) -> SignificantTerms {
    let tells = |word: &&CountedWord| word.rows * 2 <= total;
    let telling = present(words).filter(tells).map(|word| &word.text);
    SignificantTerms {
        expression: any_of(telling.chain(joined)),
        all: present(words).all(|word| tells(&word)),
    }
}

/// Returns the statement with two parameters: the expression and the value of the filter.
pub(super) fn statement(index: &str, weights: &str, narrowed: &RowFilter) -> String {
    let condition = &narrowed.condition;
    format!("SELECT rowid, -bm25({index}, {weights}) FROM {index} WHERE {index} MATCH ?{condition}")
}

/// Returns all matching rows with their scores. Negates SQLite's BM25, in which lower is better.
fn matching_rows(
    db: &Connection,
    index: &str,
    weights: &str,
    expression: &str,
    narrowed: &RowFilter,
) -> Result<HashMap<i64, f64>, StoreError> {
    let mut values = vec![Value::from(expression.to_owned())];
    values.extend(narrowed.value.clone());
    let mut statement = db.prepare_cached(&statement(index, weights, narrowed))?;
    let rows =
        statement.query_map(rusqlite::params_from_iter(values), |row| Ok((row.get(0)?, row.get(1)?)))?;
    Ok(rows.collect::<Result<_, _>>()?)
}

pub(super) fn best(
    scores: &HashMap<i64, f64>,
    limit: usize,
    called: impl Fn(i64) -> Result<Option<String>, StoreError>,
) -> Result<Vec<i64>, StoreError> {
    let mut rows: Vec<(i64, f64)> = scores.iter().map(|(row, score)| (*row, *score)).collect();
    if limit < rows.len() {
        // Look up names only if they can decide a tie.
        let (_, (_, worst), _) = rows.select_nth_unstable_by(limit - 1, |a, b| b.1.total_cmp(&a.1));
        let worst = *worst;
        rows.retain(|(_, score)| *score >= worst);
    }
    if rows.len() > limit {
        let mut named = Vec::with_capacity(rows.len());
        for (row, score) in rows {
            named.push((score, called(row)?, row));
        }
        named.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        rows = named.into_iter().take(limit).map(|(score, _, row)| (row, score)).collect();
    }
    Ok(rows.into_iter().map(|(row, _)| row).collect())
}
