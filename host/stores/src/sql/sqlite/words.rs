//! Word search: BM25 over a word index, and over an n-gram index for non-Latin scripts. Filters apply first.

use std::{borrow::Cow, collections::HashMap};

use gatehouse_core::search::{SearchQuery, script::ScriptRun};
use rusqlite::{Connection, params_from_iter, types::Value};

use super::{
    error::Result,
    query::{any_of, any_piece, any_prefix, occurs, quote},
    statements::CachedStatements as _,
};
use crate::engine::PrefixQuery;

pub(crate) struct WordIndex {
    pub(crate) words: Cow<'static, str>,
    /// N-grams of words in non-Latin scripts. Rows without such words are omitted.
    pub(crate) pieces: Cow<'static, str>,
    /// Formatted as the arguments of SQLite's `bm25`.
    pub(crate) weights: &'static str,
}

impl WordIndex {
    /// Returns the index of one owner or repository, which has its own tables.
    pub(crate) fn numbered(number: i64, weights: &'static str) -> Self {
        Self {
            words: Cow::Owned(format!("words_{number}")),
            pieces: Cow::Owned(format!("pieces_{number}")),
            weights,
        }
    }

    pub(crate) fn create(&self, db: &Connection, columns: &str) -> Result<()> {
        let Self { words, pieces, .. } = self;
        let columns = format!("{columns}, content = '', contentless_delete = 1");
        db.execute_batch(&format!(
            "CREATE VIRTUAL TABLE {words} USING fts5 ({columns}, tokenize = 'porter unicode61');
             CREATE VIRTUAL TABLE {pieces} USING fts5 ({columns}, tokenize = 'ascii');"
        ))?;
        Ok(())
    }

    pub(crate) fn drop_tables(&self, db: &Connection) -> Result<()> {
        let Self { words, pieces, .. } = self;
        db.execute_batch(&format!("DROP TABLE IF EXISTS {words}; DROP TABLE IF EXISTS {pieces};"))?;
        Ok(())
    }

    pub(crate) fn remove(&self, db: &Connection, row: i64) -> Result<()> {
        for table in [&self.words, &self.pieces] {
            db.run(&format!("DELETE FROM {table} WHERE rowid = ?1"), [row])?;
        }
        Ok(())
    }
}

/// A condition on `rowid` that starts with AND, and its value. Both are empty without filters.
#[derive(Default)]
pub(crate) struct RowFilter {
    pub(crate) condition: String,
    pub(crate) value: Option<Value>,
}

pub(crate) struct WordMatches {
    /// Rows with their scores. Higher is better.
    pub(crate) scores: HashMap<i64, f64>,
    pub(crate) unmatched: Vec<String>,
}

struct CountedWord {
    text: String,
    rows: i64,
}

/// Scores every row that contains a significant word. If fewer than `min_rows` rows match, scores every row that contains
/// any word. `total` is the number of all rows.
pub(crate) fn search(
    db: &Connection,
    index: &WordIndex,
    query: &SearchQuery,
    filter: &RowFilter,
    total: i64,
    min_rows: usize,
) -> Result<WordMatches> {
    let SearchQuery { words, joined, stretches } = query;
    let words = words.iter().map(|text| count_word(db, index, text)).collect::<Result<Vec<_>, _>>()?;
    let significant = significant_terms(&words, joined, total);
    let mut scores = HashMap::new();
    if let Some(expression) = &significant.expression {
        scores = matching_rows(db, &index.words, index.weights, expression, filter)?;
    }
    if !significant.all
        && scores.len() < min_rows
        && let Some(expression) = any_of(present(&words).map(|word| &word.text).chain(joined))
    {
        scores = matching_rows(db, &index.words, index.weights, &expression, filter)?;
    }
    if let Some(expression) = any_piece(stretches) {
        for (row, score) in matching_rows(db, &index.pieces, index.weights, &expression, filter)? {
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

pub(crate) fn search_prefixes(
    db: &Connection,
    index: &WordIndex,
    prefixes: &[PrefixQuery],
    filter: &RowFilter,
) -> Result<WordMatches> {
    let scores = match any_prefix(prefixes) {
        Some(expression) => matching_rows(db, &index.words, index.weights, &expression, filter)?,
        None => HashMap::new(),
    };
    Ok(WordMatches { scores, unmatched: Vec::new() })
}

fn count_word(db: &Connection, index: &WordIndex, text: &str) -> Result<CountedWord> {
    let index = &index.words;
    let rows = db.value(&format!("SELECT count(*) FROM {index} WHERE {index} MATCH ?1"), [quote(text)])?;
    Ok(CountedWord { text: text.to_owned(), rows })
}

fn stretch_occurs(db: &Connection, index: &WordIndex, stretch: &ScriptRun) -> Result<bool> {
    let Some(expression) = occurs(stretch) else { return Ok(false) };
    let index = &index.pieces;
    let sql = format!("SELECT 1 FROM {index} WHERE {index} MATCH ?1 LIMIT 1");
    Ok(db.find::<i64>(&sql, [expression])?.is_some())
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
    let is_significant = |word: &&CountedWord| word.rows * 2 <= total;
    let significant = present(words).filter(is_significant).map(|word| &word.text);
    SignificantTerms {
        expression: any_of(significant.chain(joined)),
        all: present(words).all(|word| is_significant(&word)),
    }
}

/// Returns the statement with two parameters: the expression and the value of the filter.
pub(crate) fn match_sql(index: &str, weights: &str, filter: &RowFilter) -> String {
    let condition = &filter.condition;
    format!("SELECT rowid, -bm25({index}, {weights}) FROM {index} WHERE {index} MATCH ?{condition}")
}

/// Returns all matching rows with their scores. Negates SQLite's BM25, in which lower is better.
fn matching_rows(
    db: &Connection,
    index: &str,
    weights: &str,
    expression: &str,
    filter: &RowFilter,
) -> Result<HashMap<i64, f64>> {
    let mut values = vec![Value::from(expression.to_owned())];
    values.extend(filter.value.clone());
    db.all(&match_sql(index, weights, filter), params_from_iter(values), |row| row.try_into())
}

pub(crate) fn best(
    scores: &HashMap<i64, f64>,
    limit: usize,
    name_of: impl Fn(i64) -> Result<Option<String>>,
) -> Result<Vec<i64>> {
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
            named.push((score, name_of(row)?, row));
        }
        named.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(&b.1)));
        rows = named.into_iter().take(limit).map(|(score, _, row)| (row, score)).collect();
    }
    Ok(rows.into_iter().map(|(row, _)| row).collect())
}
