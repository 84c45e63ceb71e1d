//! Full-text queries and BM25 scores from the server's ranks.

use gatehouse_core::search::{MIN_CANDIDATE_POOL, NameQuery, SearchQuery, script::ScriptRun};

use super::terms::{index_form, index_pieces, occurs};
use crate::engine::PrefixQuery;

/// Weights of the index labels D, C, B and A as fractions of [`MAX_WEIGHT`]. PostgreSQL allows at most 1.
const WEIGHTS: &str = "'{0.166666667, 0.333333333, 0.5, 1}'::real[]";

const MAX_WEIGHT: f64 = 6.0;

/// BM25 constants with the values of SQLite: `K1` limits the effect of repeated words, `B` normalizes by text length.
const K1: f64 = 1.2;
const B: f64 = 0.75;

const MAX_PIECES: usize = 128;

/// One full-text query term or expression.
#[derive(Debug)]
pub(crate) struct QueryForm {
    pub(crate) form: String,
    /// Word as the user wrote it, to report if nothing matches. `None` for derived forms.
    pub(crate) original: Option<String>,
    /// True if a match adds to the score.
    pub(crate) scored: bool,
}

/// Converts a query to index expressions. Operators come only from this function, never from the query.
pub(crate) fn forms(query: &SearchQuery) -> Vec<QueryForm> {
    let word = |word: &String| {
        Some(QueryForm { form: index_form(word)?, original: Some(word.clone()), scored: true })
    };
    let stretch =
        |s: &ScriptRun| QueryForm { form: occurs(s), original: Some(s.text.clone()), scored: false };
    let further = |form: String| QueryForm { form, original: None, scored: true };
    let pieces = query.stretches.iter().flat_map(index_pieces).take(MAX_PIECES);
    let mut forms: Vec<QueryForm> = query.words.iter().filter_map(word).collect();
    forms.extend(query.stretches.iter().map(stretch).filter(|form| !form.form.is_empty()));
    forms.extend(query.joined.iter().filter_map(|word| index_form(word)).chain(pieces).map(further));
    forms
}

/// Converts prefix queries, whose words are alphanumeric, to index expressions.
pub(crate) fn prefix_forms(prefixes: &[PrefixQuery]) -> Vec<QueryForm> {
    let form = |beginning: &PrefixQuery| {
        let words = beginning.words.iter().map(|word| format!("'{word}'"));
        let forms: Vec<String> = std::iter::once(format!("'{}':*", beginning.prefix)).chain(words).collect();
        QueryForm { form: forms.join(" | "), original: None, scored: true }
    };
    prefixes.iter().map(form).collect()
}

/// Matching query forms and their weights.
#[derive(Default)]
pub(crate) struct WeightedForms {
    pub(crate) forms: Vec<String>,
    pub(crate) weights: Vec<f64>,
    /// Forms in at most half of the texts.
    pub(crate) selective: Vec<String>,
    pub(crate) unmatched: Vec<String>,
}

impl WeightedForms {
    /// Weighs forms by how many of `all` texts contain each. Drops and reports those without a match.
    pub(crate) fn new(forms: &[QueryForm], frequencies: &[i64], all: i64) -> Self {
        let mut weighted = Self::default();
        for (QueryForm { form, original, scored }, frequency) in forms.iter().zip(frequencies) {
            if *frequency == 0 {
                weighted.unmatched.extend(original.clone());
            } else if *scored {
                if frequency * 2 <= all {
                    weighted.selective.push(form.clone());
                }
                weighted.forms.push(form.clone());
                weighted.weights.push(inverse_document_frequency(*frequency as f64, all as f64));
            }
        }
        weighted
    }
}

/// Returns the inverse document frequency of a word that `holding` of `all` texts contain. It is always positive.
pub(crate) fn inverse_document_frequency(holding: f64, all: f64) -> f64 {
    (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
}

/// SQL for rows `a` of forms and weights from `$1` and `$2`.
pub(crate) const WEIGHTED_FORMS_SQL: &str =
    "unnest($1::text[], $2::float8[]) WITH ORDINALITY AS a (form, weight, place)";

/// Returns the CTE `asked` with the queries of a question's forms. `$1` and `$2` are those of [`WEIGHTED_FORMS_SQL`].
pub(crate) fn forms_cte() -> String {
    format!(
        "WITH asked AS MATERIALIZED
            (SELECT to_tsquery('gatehouse.words', a.form) AS query, a.weight, a.place FROM {WEIGHTED_FORMS_SQL})"
    )
}

/// Returns SQL for the score of a text `t` by the queries of [`forms_cte`]. `$3` is the average length.
pub(crate) fn total_score_sql() -> String {
    let share = score_sql("a.query", "t.length / $3::float8");
    format!("(SELECT coalesce(sum({share} ORDER BY a.place), 0) FROM asked a)")
}

/// Rows of names to read. Each page or document has at most three names.
pub(crate) const MAX_NAME_ROWS: i64 = 3 * MIN_CANDIDATE_POOL as i64 + 1;

/// Returns the first key and the exclusive end of the names that match a question.
pub(crate) fn name_range(name: &NameQuery) -> Option<(&str, String)> {
    let (from, to) = name.range()?;
    // The end of an exact-name range contains NUL, which PostgreSQL rejects.
    Some((from, to.replace('\0', "\u{1}")))
}

/// Returns SQL for [`bm25`] of one form `a` in a text with the terms `t.terms`. `form` is SQL for the query, and
/// `length` for the text length relative to the average.
pub(crate) fn score_sql(form: &str, length: &str) -> String {
    let places = occurrences_sql(form);
    let long = format!("{K1}::float8 * ({} + {B}::float8 * {length})", 1.0 - B);
    // f / (f + long), rewritten to evaluate f once.
    format!("a.weight * {} * (1 - {long} / ({places} + {long}))", K1 + 1.0)
}

/// Returns SQL for the weighted number of occurrences of a form in `t.terms`. For a single word, the cover density rank
/// is the sum of the weights of its positions.
pub(crate) fn occurrences_sql(form: &str) -> String {
    format!("{MAX_WEIGHT} * ts_rank_cd({WEIGHTS}, t.terms, {form})")
}

/// Returns the BM25 score of a word with `places` weighted occurrences. `length` is the text length relative to the
/// average.
pub(crate) fn bm25(weight: f64, places: f64, length: f64) -> f64 {
    let long = K1 * (1.0 - B + B * length);
    weight * (K1 + 1.0) * (1.0 - long / (places + long))
}
