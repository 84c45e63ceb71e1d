//! What there is to tell of rows: of JSON, and of whatever else was read as nodes.

use super::{
    anomalies::{self, Anomaly},
    document::ParsedDocument,
    fit::DigestSection,
    overview,
    profile::{self, DocumentPlace},
    row_names::RowNames,
    rows,
    stats::PlaceStats,
    tables,
};

/// Findings are three to five where the budget allows.
const FINDING_COUNT: std::ops::RangeInclusive<usize> = 3..=5;

/// Characters of the longest finding.
const MAX_FINDING_CHARS: usize = 360;

/// See [`super::kind::TextKind::sections`].
pub(super) fn sections(document: &ParsedDocument<'_>, query: &str, budget: usize) -> Vec<DigestSection> {
    let places = profile::places(document);
    let stats: Vec<PlaceStats> =
        places.iter().map(|place| PlaceStats::from_values(document, &place.values)).collect();
    let look = DocumentAnalysis {
        document,
        names: RowNames::new(document, &places, &stats),
        largest: rows::largest(document, &places),
        places: &places,
        stats: &stats,
    };
    let odd = anomalies::find_anomalies(&look);
    let mut told: Vec<String> = odd.iter().map(|odd| sentence(&odd.text)).collect();
    let rest = told.split_off(told.len().min(FINDING_COUNT.end() - 1));
    let facts = overview::overview(&look);
    // What stands out comes first, and at least one sentence tells what it stands out from.
    let missing = (told.len() + 1).max(*FINDING_COUNT.start()) - told.len();
    told.extend(document.note.iter().chain(&facts).take(missing).map(|fact| sentence(fact)));
    look.sections(query, budget, told, rest, &odd)
}

/// The same for rows that are only a part of a text: nothing is said of the whole, which is no JSON.
pub(super) fn sections_of_parts(
    document: &ParsedDocument<'_>,
    query: &str,
    budget: usize,
) -> Vec<DigestSection> {
    let mut sections = sections(document, query, budget);
    let of_rows = |line: &String| !line.starts_with("$ is ") && !line.ends_with(" bytes.");
    if let Some(findings) = sections.first_mut() {
        findings.lines.retain(of_rows);
    }
    sections
}

/// What is known of a document before anything is told.
pub(super) struct DocumentAnalysis<'l, 'a> {
    pub(super) document: &'l ParsedDocument<'a>,
    pub(super) places: &'l [DocumentPlace],
    pub(super) stats: &'l [PlaceStats],
    pub(super) names: RowNames<'l, 'a>,
    /// The places of the largest tables.
    pub(super) largest: Vec<usize>,
}

impl DocumentAnalysis<'_, '_> {
    /// All that there is to tell, in the order of the digest.
    fn sections(
        &self,
        query: &str,
        budget: usize,
        findings: Vec<String>,
        rest: Vec<String>,
        odd: &[Anomaly],
    ) -> Vec<DigestSection> {
        let asked = !query.is_empty();
        let matches = if asked { rows::matching(self, query, budget * 40 / 100) } else { Vec::new() };
        let columns = if asked { 35 } else { 50 };
        let mut sections = vec![
            DigestSection { share: 30, ..DigestSection::with_lines(findings) },
            DigestSection::with_title("Rows that match the query:", 45, matches),
            DigestSection::with_title("Single values:", 10, overview::singles(self.document, self.places)),
        ];
        sections.extend(tables::tables(self, budget * columns / 100));
        sections.push(DigestSection::with_title("Also unusual:", 12, rest));
        sections.extend(rows::fill(self, odd, budget));
        sections
    }
}

/// A finding as a sentence of bounded length.
fn sentence(text: &str) -> String {
    match text.char_indices().nth(MAX_FINDING_CHARS) {
        Some((end, _)) => format!("{}….", &text[..end]),
        None => format!("{text}."),
    }
}
