//! What a text is, so that it is told as its kind asks.
//!
//! JSON, JSON Lines and tables have rows, which [`super::rows`] and its neighbours tell alike once they are read as
//! nodes. Every other kind has a file of its own with a [`TextKind`], and a line in [`KINDS`]. What a text is taken for
//! is decided from its beginning alone, so it costs the same however long the text is.

use super::{
    code, diff, document::ParsedDocument, fit::DigestSection, html, json, listing, log, markdown, prose,
    settings, sql, table,
};

/// Bytes of a text that are looked at.
const MAX_SAMPLE_BYTES: usize = 64 << 10;

/// Lines of it, and bytes of a line.
const MAX_SAMPLE_LINES: usize = 400;
const MAX_SAMPLE_LINE_BYTES: usize = 2000;

/// A kind of text that is read line by line.
pub(crate) struct TextKind {
    /// The word that a reader sees: `log`.
    pub(super) name: &'static str,
    /// Whether a text is of this kind.
    pub(super) is: fn(&TextSample<'_>) -> bool,
    /// What there is to tell of a text, for a query (which may be empty, and is trimmed) and a budget in tokens: the
    /// findings first, as a section without a title, one line each without a mark; then the rest, the most important
    /// first. More than fits is left out, so sections may hold more than the budget, but no more than a few times it.
    pub(super) sections: fn(&str, &str, usize) -> Vec<DigestSection>,
}

/// In this order; the last one is what nothing else is.
const KINDS: [TextKind; 10] = [
    sql::KIND,
    diff::KIND,
    html::KIND,
    log::KIND,
    settings::KIND,
    code::KIND,
    listing::KIND,
    markdown::KIND,
    log::LINES,
    prose::KIND,
];

/// The beginning of a text.
pub(super) struct TextSample<'a> {
    /// Its first lines, without their ends, each cut to a bounded length; no line that was cut off by the end of
    /// what is looked at, unless it is the only one.
    pub(super) lines: Vec<&'a str>,
    /// What is looked at, whole lines where there are several.
    pub(super) text: &'a str,
    /// Whether the text goes on after it.
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
        Self {
            lines: whole.lines().take(MAX_SAMPLE_LINES).map(cut).collect(),
            text: whole,
            cut: whole.len() < text.len(),
        }
    }
}

/// What a text was taken for.
pub(crate) enum RecognizedText<'a> {
    /// It has rows; what it is called comes with it.
    Rows(&'static str, ParsedDocument<'a>),
    Text(&'static TextKind),
}

impl<'a> RecognizedText<'a> {
    pub(crate) fn from_text(text: &'a str) -> Self {
        let sample = TextSample::from_text(text);
        if let Some(rows) = recognize_json(text, &sample) {
            return rows;
        }
        // Statements with values between commas are rows of more than one table.
        if (sql::KIND.is)(&sample) {
            return Self::Text(&KINDS[0]);
        }
        if let Some(rows) = table::read(text, &sample) {
            return Self::Rows("table", rows);
        }
        let last = &KINDS[KINDS.len() - 1];
        Self::Text(KINDS.iter().find(|kind| (kind.is)(&sample)).unwrap_or(last))
    }

    pub(super) fn name(&self) -> &'static str {
        match self {
            Self::Rows(name, _) => name,
            Self::Text(kind) => kind.name,
        }
    }

    /// See [`TextKind::sections`].
    pub(super) fn sections(&self, text: &str, query: &str, budget: usize) -> Vec<DigestSection> {
        match self {
            Self::Rows(_, document) => json::sections(document, query, budget),
            Self::Text(kind) => (kind.sections)(text, query, budget),
        }
    }
}

/// JSON, a JSON value a line, or JSON whose end is missing.
fn recognize_json<'a>(text: &'a str, sample: &TextSample<'a>) -> Option<RecognizedText<'a>> {
    if let Ok(document) = ParsedDocument::read(text) {
        return Some(RecognizedText::Rows("JSON", document));
    }
    if !text.trim_ascii_start().starts_with(['{', '[']) {
        return None;
    }
    let filled: Vec<&&str> = sample.lines.iter().filter(|line| !line.trim_ascii().is_empty()).collect();
    let value = |line: &&&str| {
        line.trim_ascii_start().starts_with(['{', '['])
            && (line.len() >= MAX_SAMPLE_LINE_BYTES || ParsedDocument::read(line).is_ok())
    };
    let values = filled.iter().filter(|line| value(line)).count();
    if filled.len() > 1 && values * 10 >= filled.len() * 8 {
        return Some(RecognizedText::Rows("JSON Lines", ParsedDocument::read_json_lines(text)?));
    }
    Some(RecognizedText::Rows("JSON", ParsedDocument::read_truncated(text)?))
}
