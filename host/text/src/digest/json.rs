//! Digests documents of nodes: JSON, and other text that was read as rows.

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

const FINDING_COUNT: std::ops::RangeInclusive<usize> = 3..=5;

const MAX_FINDING_CHARS: usize = 360;

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
    // Anomalies come first, then at least one fact for context.
    let missing = (told.len() + 1).max(*FINDING_COUNT.start()) - told.len();
    told.extend(document.note.iter().chain(&facts).take(missing).map(|fact| sentence(fact)));
    look.sections(query, budget, told, rest, &odd)
}

/// Like [`sections`], for rows that are only part of a text. Omits facts about the whole document.
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

pub(super) struct DocumentAnalysis<'l, 'a> {
    pub(super) document: &'l ParsedDocument<'a>,
    pub(super) places: &'l [DocumentPlace],
    pub(super) stats: &'l [PlaceStats],
    pub(super) names: RowNames<'l, 'a>,
    pub(super) largest: Vec<usize>,
}

impl DocumentAnalysis<'_, '_> {
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

fn sentence(text: &str) -> String {
    match text.char_indices().nth(MAX_FINDING_CHARS) {
        Some((end, _)) => format!("{}….", &text[..end]),
        None => format!("{text}."),
    }
}
