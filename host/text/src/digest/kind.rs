//! Detects the kind of a text, which determines its digest.
//!
//! JSON, JSON Lines and tables are read as nodes ([`super::rows`]). Each other kind has its own file with a
//! [`TextKind`] and an entry in [`KINDS`]. Detection reads only the start and the end of a text, except that JSON is
//! parsed whole.

use super::{
    code, diff, document::ParsedDocument, fit::DigestSection, html, json, listing, log, markdown, scan,
    settings, sql, table,
};

const MAX_SAMPLE_BYTES: usize = 64 << 10;

const MAX_SAMPLE_LINES: usize = 400;
const MAX_END_BYTES: usize = 8 << 10;
const MAX_SAMPLE_LINE_BYTES: usize = 2000;

pub(crate) struct TextKind {
    pub(super) name: &'static str,
    pub(super) is: fn(&TextSample<'_>) -> bool,
    /// Returns the sections of a digest, for a text, a trimmed query (may be empty) and a budget in tokens.
    ///
    /// The first section has the findings and no title. The others follow, the most important first. They may exceed
    /// the budget up to a few times.
    pub(super) sections: fn(&str, &str, usize) -> Vec<DigestSection>,
}

/// In order of precedence. The last one accepts any text.
const KINDS: [TextKind; 11] = [
    sql::KIND,
    diff::KIND,
    html::KIND,
    log::KIND,
    log::OUTPUT,
    settings::KIND,
    code::KIND,
    listing::KIND,
    markdown::KIND,
    log::LINES,
    markdown::PROSE,
];

pub(super) struct TextSample<'a> {
    /// Its first lines without line ends, each with a limited length. The sample's end cuts no line unless it is the
    /// only one.
    pub(super) lines: Vec<&'a str>,
    /// Its last lines, in the same form.
    pub(super) end: Vec<&'a str>,
    pub(super) text: &'a str,
    /// True if the text is longer than the sample.
    pub(super) cut: bool,
}

impl<'a> TextSample<'a> {
    pub(crate) fn from_text(text: &'a str) -> Self {
        let head = &text[..text.floor_char_boundary(MAX_SAMPLE_BYTES)];
        let whole = match head.rfind('\n') {
            Some(end) if head.len() < text.len() => &head[..end],
            _ => head,
        };
        let cut = |line: &'a str| &line[..line.floor_char_boundary(MAX_SAMPLE_LINE_BYTES)];
        let end = &text[text.ceil_char_boundary(text.len().saturating_sub(MAX_END_BYTES))..];
        Self {
            end: end.lines().map(cut).collect(),
            lines: whole.lines().take(MAX_SAMPLE_LINES).map(cut).collect(),
            text: whole,
            cut: whole.len() < text.len(),
        }
    }
}

pub(crate) enum RecognizedText<'a> {
    /// Text with rows, and the name of its kind.
    Rows(&'static str, ParsedDocument<'a>),
    Text(&'static TextKind),
}

impl<'a> RecognizedText<'a> {
    /// Recognizes a text. The query selects rows of a very large one.
    pub(crate) fn from_text(text: &'a str, query: &str) -> Self {
        let sample = TextSample::from_text(text);
        if let Some(rows) = recognize_json(text, query, &sample) {
            return rows;
        }
        // Comma-separated values in SQL statements belong to several tables, so check for SQL first.
        if (sql::KIND.is)(&sample) {
            return Self::Text(&KINDS[0]);
        }
        if let Some(rows) = table::read(text, query, &sample) {
            return Self::Rows("table", rows);
        }
        let last = &KINDS[KINDS.len() - 1];
        Self::Text(KINDS.iter().find(|kind| (kind.is)(&sample)).unwrap_or(last))
    }

    /// Returns the name of the kind, and the sections of a digest ([`TextKind::sections`]).
    pub(super) fn sections(
        &self,
        text: &str,
        query: &str,
        budget: usize,
    ) -> (&'static str, Vec<DigestSection>) {
        match self {
            Self::Rows(name, document) => (name, json::sections(document, query, budget)),
            Self::Text(kind) => (kind.name, (kind.sections)(text, query, budget)),
        }
    }
}

fn recognize_json<'a>(text: &'a str, query: &str, sample: &TextSample<'a>) -> Option<RecognizedText<'a>> {
    if let Ok(document) = scan::rows(text, query) {
        return Some(RecognizedText::Rows("JSON", document));
    }
    if !text.trim_ascii_start().starts_with(['{', '[']) {
        return None;
    }
    if is_json_lines(sample) {
        return Some(RecognizedText::Rows("JSON Lines", scan::lines(text, query)?));
    }
    Some(RecognizedText::Rows("JSON", scan::truncated(text, query)?))
}

/// Returns whether four of five lines are JSON objects or arrays.
pub(super) fn is_json_lines(sample: &TextSample<'_>) -> bool {
    let filled: Vec<&&str> = sample.lines.iter().filter(|line| !line.trim_ascii().is_empty()).collect();
    let value = |line: &&&str| {
        line.trim_ascii_start().starts_with(['{', '['])
            && (line.len() >= MAX_SAMPLE_LINE_BYTES || ParsedDocument::read(line).is_ok())
    };
    let values = filled.iter().filter(|line| value(line)).count();
    filled.len() > 1 && values * 10 >= filled.len() * 8
}
