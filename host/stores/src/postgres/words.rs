//! How a question is put to an index of words, and what its words count: BM25, made of the server's own ranks.

use gatehouse_core::search::{SearchQuery, script::ScriptRun};

use super::terms::{index_form, index_pieces, occurs};
use crate::documents::PrefixQuery;

/// How much a word counts in the parts D, C, B and A of an index, as shares of [`MAX_WEIGHT`]: the server wants them
/// at most 1.
const WEIGHTS: &str = "'{0.166666667, 0.333333333, 0.5, 1}'::real[]";

/// How much it counts in part A.
const MAX_WEIGHT: f64 = 6.0;

/// The constants of BM25 as SQLite has them: how soon further places of a word count less, and how much more a
/// long text has to hold.
const K1: f64 = 1.2;
/// See [`K1`].
const B: f64 = 0.75;

/// Pieces of words in other scripts that one question asks for at most.
const MAX_PIECES: usize = 128;

/// One thing that the index is asked for.
#[derive(Debug)]
pub(super) struct QueryForm {
    /// As the index is asked.
    pub(super) form: String,
    /// What the caller wrote, where it is to be named if it occurs nowhere.
    pub(super) written: Option<String>,
    /// Whether finding it counts.
    pub(super) counts: bool,
}

/// What the index is asked for by a question: nothing of it is an operator but what is put there here.
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

/// What the index is asked for by beginnings of words, which are letters and digits alone.
pub(super) fn prefix_forms(beginnings: &[PrefixQuery]) -> Vec<QueryForm> {
    let form = |beginning: &PrefixQuery| {
        let words = beginning.words.iter().map(|word| format!("'{word}'"));
        let forms: Vec<String> = std::iter::once(format!("'{}':*", beginning.prefix)).chain(words).collect();
        QueryForm { form: forms.join(" | "), written: None, counts: true }
    };
    beginnings.iter().map(form).collect()
}

/// How much finding a word says that `holding` of `all` texts hold: rare words say more, and one that every text
/// holds still says something.
pub(super) fn weight(holding: f64, all: f64) -> f64 {
    (1.0 + (all - holding + 0.5) / (holding + 0.5)).ln()
}

/// Forms and their weights, `$1` and `$2`, as rows `a`.
pub(super) const QUESTION_FORMS: &str =
    "unnest($1::text[], $2::float8[]) WITH ORDINALITY AS a (form, weight, place)";

/// What one row `a` of forms adds to the score of a text with the terms `t.terms`: [`bm25`] in SQL. `form` is the SQL of
/// its query, `length` that of the text's length as a share of the average.
pub(super) fn score_sql(form: &str, length: &str) -> String {
    let places = occurrences_sql(form);
    let long = format!("{K1}::float8 * ({} + {B}::float8 * {length})", 1.0 - B);
    // f / (f + long), with f read once.
    format!("a.weight * {} * (1 - {long} / ({places} + {long}))", K1 + 1.0)
}

/// How often a form is in `t.terms`, every place counted by the part of the text that it is in. For one word alone, the
/// server's rank by cover density is the sum of the weights of its places.
pub(super) fn occurrences_sql(form: &str) -> String {
    format!("{MAX_WEIGHT} * ts_rank_cd({WEIGHTS}, t.terms, {form})")
}

/// What a word adds to the score of a text that holds it in so many `places`: BM25. `length` is that of the text, as a
/// share of the average.
pub(super) fn bm25(weight: f64, places: f64, length: f64) -> f64 {
    let long = K1 * (1.0 - B + B * length);
    weight * (K1 + 1.0) * (1.0 - long / (places + long))
}
