//! What there is to tell of rows: of JSON, and of whatever else was read as nodes.

use super::{
    columns,
    document::Parsed,
    fit::Section,
    profile::{self, Place},
    rows,
    stats::Stats,
    unusual::{self, Odd},
};

/// Findings are three to five where the budget allows.
const FINDINGS: std::ops::RangeInclusive<usize> = 3..=5;

/// Characters of the longest finding.
const LONGEST: usize = 360;

/// See [`super::kind::TextKind::sections`].
pub(super) fn sections(document: &Parsed<'_>, query: &str, budget: usize) -> Vec<Section> {
    let look = Look::at(document);
    let mut told: Vec<String> = look.odd.iter().map(|odd| sentence(&odd.text)).collect();
    let rest = told.split_off(told.len().min(FINDINGS.end() - 1));
    let facts = columns::overview(document, &look.places, &look.stats, &look.largest);
    let facts = document.note.iter().chain(&facts);
    // What stands out comes first, and at least one sentence tells what it stands out from.
    let missing = (told.len() + 1).max(*FINDINGS.start()) - told.len();
    told.extend(facts.take(missing).map(|fact| sentence(fact)));
    look.sections(document, query, budget, told, rest)
}

/// What is known of a document before anything is told.
struct Look {
    places: Vec<Place>,
    stats: Vec<Stats>,
    /// The places of the largest tables.
    largest: Vec<usize>,
    odd: Vec<Odd>,
}

impl Look {
    fn at(document: &Parsed<'_>) -> Self {
        let places = profile::places(document);
        let stats: Vec<Stats> = places.iter().map(|place| Stats::of(document, &place.values)).collect();
        let largest = rows::largest(document, &places);
        let odd = unusual::unusual(document, &places, &stats);
        Self { places, stats, largest, odd }
    }

    /// All that there is to tell, in the order of the digest.
    fn sections(
        &self,
        document: &Parsed<'_>,
        query: &str,
        goal: usize,
        findings: Vec<String>,
        rest: Vec<String>,
    ) -> Vec<Section> {
        let Self { places, stats, largest, .. } = self;
        let matches =
            if query.is_empty() { Vec::new() } else { rows::matching(document, query, goal * 35 / 100) };
        let columns = columns::columns(document, places, stats, largest);
        let samples = rows::samples(document, places, goal * 18 / 100);
        vec![
            Section::list(findings),
            Section::titled("Rows that match the query:", 40, matches),
            Section::titled("Tables:", 20, columns::tables(places)),
            Section::titled("Single values:", 10, columns::singles(document, places)),
            Section::titled("Columns:", 25, columns),
            Section::titled("Also unusual:", 15, rest),
            Section::titled("Sample rows:", 20, samples),
        ]
    }
}

/// A finding as a sentence of bounded length.
fn sentence(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}….", &text[..end]),
        None => format!("{text}."),
    }
}
