//! What there is to tell of rows: of JSON, and of whatever else was read as nodes.

use super::{
    document::Parsed,
    fit::Section,
    naming::Names,
    overview,
    profile::{self, Place},
    rows,
    stats::Stats,
    tables,
    unusual::{self, Odd},
};

/// Findings are three to five where the budget allows.
const FINDINGS: std::ops::RangeInclusive<usize> = 3..=5;

/// Characters of the longest finding.
const LONGEST: usize = 360;

/// See [`super::kind::TextKind::sections`].
pub(super) fn sections(document: &Parsed<'_>, query: &str, budget: usize) -> Vec<Section> {
    let places = profile::places(document);
    let stats: Vec<Stats> = places.iter().map(|place| Stats::of(document, &place.values)).collect();
    let look = Look {
        document,
        names: Names::of(document, &places, &stats),
        largest: rows::largest(document, &places),
        places: &places,
        stats: &stats,
    };
    let odd = unusual::unusual(&look);
    let mut told: Vec<String> = odd.iter().map(|odd| sentence(&odd.text)).collect();
    let rest = told.split_off(told.len().min(FINDINGS.end() - 1));
    let facts = overview::overview(&look);
    // What stands out comes first, and at least one sentence tells what it stands out from.
    let missing = (told.len() + 1).max(*FINDINGS.start()) - told.len();
    told.extend(document.note.iter().chain(&facts).take(missing).map(|fact| sentence(fact)));
    look.sections(query, budget, told, rest, &odd)
}

/// The same for rows that are only a part of a text: nothing is said of the whole, which is no JSON.
pub(super) fn sections_of_parts(document: &Parsed<'_>, query: &str, budget: usize) -> Vec<Section> {
    let mut sections = sections(document, query, budget);
    let of_rows = |line: &String| !line.starts_with("$ is ") && !line.ends_with(" bytes.");
    if let Some(findings) = sections.first_mut() {
        findings.lines.retain(of_rows);
    }
    sections
}

/// What is known of a document before anything is told.
pub(super) struct Look<'l, 'a> {
    pub(super) document: &'l Parsed<'a>,
    pub(super) places: &'l [Place],
    pub(super) stats: &'l [Stats],
    pub(super) names: Names<'l, 'a>,
    /// The places of the largest tables.
    pub(super) largest: Vec<usize>,
}

impl Look<'_, '_> {
    /// All that there is to tell, in the order of the digest.
    fn sections(
        &self,
        query: &str,
        budget: usize,
        findings: Vec<String>,
        rest: Vec<String>,
        odd: &[Odd],
    ) -> Vec<Section> {
        let asked = !query.is_empty();
        let matches = if asked { rows::matching(self, query, budget * 40 / 100) } else { Vec::new() };
        let columns = if asked { 35 } else { 50 };
        let mut sections = vec![
            Section { share: 30, ..Section::list(findings) },
            Section::titled("Rows that match the query:", 45, matches),
            Section::titled("Single values:", 10, overview::singles(self.document, self.places)),
        ];
        sections.extend(tables::tables(self, budget * columns / 100));
        sections.push(Section::titled("Also unusual:", 12, rest));
        sections.extend(rows::fill(self, odd, budget));
        sections
    }
}

/// A finding as a sentence of bounded length.
fn sentence(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}….", &text[..end]),
        None => format!("{text}."),
    }
}
