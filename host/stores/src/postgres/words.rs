//! Full-text queries and BM25 scores from the server's ranks.

use gatehouse_core::search::{SearchQuery, script::ScriptRun};

use super::terms::{index_form, index_pieces, occurs};
use crate::documents::PrefixQuery;

/// Weights of the index labels D, C, B and A as fractions of [`MAX_WEIGHT`]. PostgreSQL allows at most 1.
const WEIGHTS: &str = "'{0.166666667, 0.333333333, 0.5, 1}'::real[]";

const MAX_WEIGHT: f64 = 6.0;

/// BM25 constants with the values of SQLite: `K1` limits the effect of repeated words, `B` normalizes by text length.
const K1: f64 = 1.2;
const B: f64 = 0.75;

const MAX_PIECES: usize = 128;

/// One full-text query term or expression.
#[derive(Debug)]
pub(super) struct QueryForm {
    pub(super) form: String,
    /// Word as the user wrote it, to report if nothing matches. `None` for derived forms.
    pub(super) written: Option<String>,
    /// True if a match adds to the score.
    pub(super) counts: bool,
}

/// Converts a query to index expressions. Operators come only from this function, never from the query.
pub(super) fn forms(query: &SearchQuery) -> Vec<QueryForm> {
    let word = |word: &String| {
        Some(QueryForm { form: index_form(word)?, written: Some(word.clone()), counts: true })
    };
    let stretch = |s: &ScriptRun| QueryForm { form: occurs(s), written: Some(s.text.clone()), counts: false };
    let further = |form: String| QueryForm { form, written: None, counts: true };
    let pieces = query.stretches.iter().flat_map(index_pieces).take(MAX_PIECES);
    let mut forms: Vec<QueryForm> = query.words.iter().filter_map(word).collect();
    forms.extend(query.stretches.iter().map(stretch).filter(|form| !form.form.is_empty()));
    forms.extend(query.joined.iter().filter_map(|word| index_form(word)).chain(pieces).map(further));
    forms
}

/// Converts prefix queries, whose words are alphanumeric, to index expressions.
pub(super) fn prefix_forms(beginnings: &[PrefixQuery]) -> Vec<QueryForm> {
    let form = |beginning: &PrefixQuery| {
        let words = beginning.words.iter().map(|word| format!("'{word}'"));
        let forms: Vec<String> = std::iter::once(format!("'{}':*", beginning.prefix)).chain(words).collect();
        QueryForm { form: forms.join(" | "), written: None, counts: true }
    };
    beginnings.iter().map(form).collect()
}

/// Returns the inverse document frequency of a word that `holding` of `all` texts contain. It is always positive.
pub(super) fn weight(holding: f64, all: f64) -> f64 {
    (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
}

/// SQL for rows `a` of forms and weights from `$1` and `$2`.
pub(super) const QUESTION_FORMS: &str =
    "unnest($1::text[], $2::float8[]) WITH ORDINALITY AS a (form, weight, place)";

/// Returns SQL for [`bm25`] of one form `a` in a text with the terms `t.terms`. `form` is SQL for the query, and
/// `length` for the text length relative to the average.
pub(super) fn score_sql(form: &str, length: &str) -> String {
    let places = occurrences_sql(form);
    let long = format!("{K1}::float8 * ({} + {B}::float8 * {length})", 1.0 - B);
    // f / (f + long), rewritten to evaluate f once.
    format!("a.weight * {} * (1 - {long} / ({places} + {long}))", K1 + 1.0)
}

/// Returns SQL for the weighted number of occurrences of a form in `t.terms`. For a single word, the cover density rank
/// is the sum of the weights of its positions.
pub(super) fn occurrences_sql(form: &str) -> String {
    format!("{MAX_WEIGHT} * ts_rank_cd({WEIGHTS}, t.terms, {form})")
}

/// Returns the BM25 score of a word with `places` weighted occurrences. `length` is the text length relative to the
/// average.
pub(super) fn bm25(weight: f64, places: f64, length: f64) -> f64 {
    let long = K1 * (1.0 - B + B * length);
    weight * (K1 + 1.0) * (1.0 - long / (places + long))
}
