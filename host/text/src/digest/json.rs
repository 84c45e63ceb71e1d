//! Digests documents of nodes: JSON, and other text that was read as rows.

use super::{
    anomalies,
    document::{NodeKind, ParsedDocument},
    fit::DigestSection,
    profile::{self, DocumentPlace},
    row_names::RowNames,
    rows,
    stats::{MeasureScale, PlaceStats},
    tables,
    value::show,
};

const FINDING_COUNT: std::ops::RangeInclusive<usize> = 3..=5;

const MAX_FINDING_CHARS: usize = 360;

const MAX_VALUE_CHARS: usize = 40;

pub(super) fn sections(document: &ParsedDocument<'_>, query: &str, budget: usize) -> Vec<DigestSection> {
    let places = profile::places(document);
    let stats: Vec<PlaceStats> =
        places.iter().map(|place| PlaceStats::from_values(document, &place.values)).collect();
    let analysis = DocumentAnalysis {
        document,
        names: RowNames::new(document, &places, &stats),
        largest: rows::largest(document, &places),
        places: &places,
        stats: &stats,
    };
    let anomalies = anomalies::find_anomalies(&analysis);
    let mut findings: Vec<String> = anomalies.iter().map(|anomaly| sentence(&anomaly.text)).collect();
    let rest = findings.split_off(findings.len().min(FINDING_COUNT.end() - 1));
    let facts = overview(&analysis);
    // Anomalies come first, then at least one fact for context.
    let missing = (findings.len() + 1).max(*FINDING_COUNT.start()) - findings.len();
    findings.extend(document.note.iter().chain(&facts).take(missing).map(|fact| sentence(fact)));
    let has_query = !query.is_empty();
    let matches = if has_query { rows::matching(&analysis, query, budget * 40 / 100) } else { Vec::new() };
    let columns = if has_query { 35 } else { 50 };
    let singles = singles(document, &places);
    // A long cursor is of use only as a whole.
    let share = if singles.iter().any(|line| line.len() > 6 * MAX_VALUE_CHARS) { 85 } else { 10 };
    let mut sections = vec![
        DigestSection { share: 30, ..DigestSection::with_lines(findings) },
        DigestSection::with_title("Rows that match the query:", 45, matches),
        DigestSection::with_title("Single values:", share, singles),
    ];
    sections.extend(tables::tables(&analysis, budget * columns / 100));
    sections.push(DigestSection::with_title("Also unusual:", 12, rest));
    sections.extend(rows::fill(&analysis, &anomalies, budget));
    sections
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

fn sentence(text: &str) -> String {
    match text.char_indices().nth(MAX_FINDING_CHARS) {
        Some((end, _)) => format!("{}….", &text[..end]),
        None => format!("{text}."),
    }
}

/// Maximum characters of a cursor or a URL, which is of no use in part.
const MAX_REFERENCE_CHARS: usize = 2_000;

/// Whether a single value is a cursor, an id or a URL, which an agent passes on.
fn is_reference(name: &str, value: &str) -> bool {
    const KEYS: [&str; 12] = [
        "cursor", "next", "prev", "token", "continue", "page", "after", "before", "link", "url", "uri", "id",
    ];
    let name = name.rsplit(['.', '[']).next().unwrap_or_default().to_lowercase();
    let is_url = value.starts_with("https://") || value.starts_with("http://");
    !value.contains(char::is_whitespace) && (is_url || KEYS.iter().any(|key| name.contains(key)))
}

fn singles(document: &ParsedDocument<'_>, places: &[DocumentPlace]) -> Vec<String> {
    let single = |place: &&DocumentPlace| place.table == 0 && place.rows == 1;
    places
        .iter()
        .filter(single)
        .filter_map(|place| {
            let id = *place.values.first()?;
            let scalar =
                !matches!(document.kind(id), NodeKind::Array | NodeKind::Object) || document.len(id) == 0;
            let max_chars = if is_reference(&place.name, &document.string(id)) {
                MAX_REFERENCE_CHARS
            } else {
                2 * MAX_VALUE_CHARS
            };
            scalar.then(|| format!("{}: {}", place.name, show(document, id, max_chars)))
        })
        .collect()
}

/// Returns facts about a document as a whole, for documents with few anomalies.
fn overview(analysis: &DocumentAnalysis<'_, '_>) -> Vec<String> {
    let DocumentAnalysis { document, places, stats, largest, .. } = analysis;
    let mut facts = vec![root(analysis)];
    let of_main = |p: &&usize| largest.contains(&places[**p].table) && places[**p].rows > 1;
    let order: Vec<usize> = (0..places.len()).collect();
    let share = |p: &usize| {
        let (times, id) = *stats[*p].scalars.first()?;
        let rows = places[*p].rows;
        let telling = times * 2 >= rows && times > 1 && stats[*p].scalars.len() > 1;
        telling.then(|| {
            let value = show(document, id, MAX_VALUE_CHARS);
            format!("{} is {value} in {times} of {rows} rows", places[*p].name)
        })
    };
    let ranges = |p: &usize| {
        stats[*p].spread.as_ref().filter(|s| s.scale != MeasureScale::Length && s.mad > 0.0)?;
        Some(format!("{} ranges from {}", places[*p].name, tables::range(analysis, *p)?))
    };
    facts.extend(order.iter().filter(of_main).filter_map(share).take(2));
    facts.extend(order.iter().filter(of_main).filter_map(ranges).take(2));
    let heavy = |p: &usize| {
        let id = *places[*p].values.first()?;
        let size = document.size(id);
        let total = document.size(ParsedDocument::ROOT);
        (places[*p].rows == 1 && *p > 0 && size * 4 > total)
            .then(|| format!("{} takes {size} of the {total} bytes", places[*p].name))
    };
    facts.extend(order.iter().filter_map(heavy).take(1));
    facts.extend(singles(document, places).into_iter().map(|s| s.replacen(": ", " is ", 1)).take(3));
    facts
}

fn root(analysis: &DocumentAnalysis<'_, '_>) -> String {
    let DocumentAnalysis { document, places, largest, .. } = analysis;
    let id = ParsedDocument::ROOT;
    let description = match document.kind(id) {
        NodeKind::Object => format!("an object of {} keys", document.len(id)),
        NodeKind::Array => format!("a list of {} elements", document.len(id)),
        kind => kind.with_article().to_owned(),
    };
    let table = largest.first().map(|t| (&places[*t], &places[places[*t].parent])).map(|(t, parent)| {
        format!("; the largest table is {} with {}", t.name, t.row_counts(document, parent))
    });
    format!("$ is {description} in {} bytes{}", document.size(id), table.unwrap_or_default())
}
