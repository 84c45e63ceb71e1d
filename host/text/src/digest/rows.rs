//! Rows that are shown whole: those that match the caller's query, and samples of the largest tables.

use std::borrow::Cow;

use gatehouse_core::ports::{TokenCounter, text::Encoding};

use super::{
    document::{Id, Kind, Parsed},
    profile::Place,
    value::show,
};
use crate::{Tokens, bm25};

/// Bytes of the largest row; what is larger is looked into.
const ROW: usize = 4000;

/// Rows that match the query and are shown.
const MATCHES: usize = 4;

/// Tables that samples are shown of, and samples of each.
const TABLES: usize = 2;
const SAMPLES: usize = 2;

/// Characters to which the strings of a row are cut, until it fits: those that leave it readable, and
/// those that leave its shape.
const READABLE: &[usize] = &[400, 160, 80];
const SHORT: &[usize] = &[40, 16];

/// How far a row is narrowed to the part that matches.
const DEEPEST: usize = 8;

/// One line for each of the rows that match the query best, at most `tokens` in all.
pub(super) fn matching(document: &Parsed<'_>, query: &str, tokens: usize) -> Vec<String> {
    let best = best(document, candidates(document), query, MATCHES);
    let share = tokens / best.len().max(1);
    best.into_iter()
        .filter_map(|id| {
            let id = narrow(document, id, query, share);
            line(document, id, share)
        })
        .collect()
}

/// Those that match, the best first.
fn best(document: &Parsed<'_>, rows: Vec<Id>, query: &str, most: usize) -> Vec<Id> {
    let texts: Vec<Cow<'_, str>> = rows.iter().map(|id| plain(document, *id)).collect();
    let scores = bm25::scores(&texts, query);
    let mut best: Vec<usize> = (0..rows.len()).filter(|i| scores[*i] > 0.0).collect();
    best.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]));
    best.into_iter().take(most).map(|i| rows[i]).collect()
}

/// The part of a row that matches best, where the whole would have to be cut much.
fn narrow(document: &Parsed<'_>, mut id: Id, query: &str, tokens: usize) -> Id {
    for _ in 0..DEEPEST {
        if cut(document, id, tokens, READABLE).is_some() {
            break;
        }
        match best(document, document.children(id).collect(), query, 1).first() {
            Some(child) => id = *child,
            None => break,
        }
    }
    id
}

/// One line for each of two rows of the largest tables, at most `tokens` in all.
pub(super) fn samples(document: &Parsed<'_>, places: &[Place], tokens: usize) -> Vec<String> {
    let tables = largest(document, places);
    let share = tokens / (tables.len() * SAMPLES).max(1);
    let rows = tables.iter().flat_map(|table| {
        let values = &places[*table].values;
        // The first, and one from the middle, which is less likely to be a special case than the last.
        [values.first(), values.get(values.len() / 2).filter(|_| values.len() > 1)].into_iter().flatten()
    });
    rows.filter_map(|id| line(document, *id, share)).collect()
}

/// The places of the largest rows that are not inside one another, the largest first.
pub(super) fn largest(document: &Parsed<'_>, places: &[Place]) -> Vec<usize> {
    let mut tables: Vec<(usize, usize)> = places
        .iter()
        .enumerate()
        .skip(1)
        .filter(|(_, place)| place.is_row && place.values.len() > 1)
        .map(|(index, place)| (place.values.iter().map(|id| document.size(*id)).sum(), index))
        .collect();
    tables.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
    let inside = |mut at: usize, outer: usize| {
        while at > outer {
            at = places[at].parent;
        }
        at == outer
    };
    let mut chosen: Vec<usize> = Vec::new();
    for (_, index) in tables {
        if chosen.len() < TABLES && !chosen.iter().any(|c| inside(index, *c) || inside(*c, index)) {
            chosen.push(index);
        }
    }
    chosen
}

/// A row with its path, its strings cut to the most characters of `cuts` with which it fits.
fn cut(document: &Parsed<'_>, id: Id, tokens: usize, cuts: &[usize]) -> Option<String> {
    let path = document.path(id);
    let line = |cut: &usize| format!("{path}: {}", show(document, id, *cut));
    cuts.iter().map(line).find(|line| Tokens.count_up_to(line, tokens, Encoding::O200k).is_some())
}

/// A row with its path, its strings and at last its end cut until it costs no more than `tokens`.
fn line(document: &Parsed<'_>, id: Id, tokens: usize) -> Option<String> {
    if let Some(line) = cut(document, id, tokens, READABLE).or_else(|| cut(document, id, tokens, SHORT)) {
        return Some(line);
    }
    let path = document.path(id);
    let line = format!("{path}: {}", show(document, id, SHORT[SHORT.len() - 1]));
    // Four characters for a token, then three, then two: rows of names and digits cost more than prose.
    (2..=4).rev().map(|per_token| cut_to(&line, tokens * per_token)).find(|line| {
        // A path alone tells nothing.
        line.len() > path.len() + 8 && Tokens.count_up_to(line, tokens, Encoding::O200k).is_some()
    })
}

fn cut_to(line: &str, characters: usize) -> String {
    line.char_indices().nth(characters).map_or(line.to_owned(), |(end, _)| format!("{}…", &line[..end]))
}

/// The outermost values that are small enough to be shown.
fn candidates(document: &Parsed<'_>) -> Vec<Id> {
    let mut rows = Vec::new();
    let mut open = vec![Parsed::ROOT];
    while let Some(id) = open.pop() {
        let container = matches!(document.kind(id), Kind::Array | Kind::Object);
        if container && (id == Parsed::ROOT || document.size(id) > ROW) {
            open.extend(document.children(id));
        } else {
            rows.push(id);
        }
    }
    rows.sort_unstable();
    rows
}

/// The text of a row, and its key, for finding words: escapes are blanks, or `\n` would begin words.
fn plain<'a>(document: &Parsed<'a>, id: Id) -> Cow<'a, str> {
    let source = document.keyed_source(id);
    if source.contains('\\') {
        Cow::Owned(source.replace("\\n", " ").replace("\\t", " ").replace("\\r", " "))
    } else {
        Cow::Borrowed(source)
    }
}

#[cfg(test)]
mod tests {
    use super::{super::profile::places, *};

    fn text() -> String {
        let row = |i: usize| format!("{{\"id\": {i}, \"note\": \"row\\nnumber {i}\"}}");
        let rows: Vec<String> = (0..300).map(row).collect();
        format!("{{\"rows\": [{}], \"capital\": \"Paris\"}}", rows.join(","))
    }

    #[test]
    fn the_rows_that_match_come_best_first() {
        let text = text();
        let document = Parsed::read(&text).unwrap();
        let found = matching(&document, "number 217", 400);
        assert_eq!(found[0], "$.rows[217]: {id: 217, note: \"row\\nnumber 217\"}");
        assert_eq!(found.len(), 4);
        assert_eq!(matching(&document, "the capital", 400), ["$.capital: \"Paris\""]);
        assert!(matching(&document, "absent", 400).is_empty());
    }

    #[test]
    fn samples_are_of_the_outermost_tables_and_fit() {
        let text = text();
        let document = Parsed::read(&text).unwrap();
        let found = samples(&document, &places(&document), 100);
        assert_eq!(found.len(), 2);
        assert!(found[0].starts_with("$.rows[0]: ") && found[1].starts_with("$.rows[150]: "));
        assert!(samples(&document, &places(&document), 4).is_empty());
    }
}
