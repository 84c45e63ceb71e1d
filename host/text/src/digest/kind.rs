//! What a text is, so that it is told as its kind asks.
//!
//! JSON, JSON Lines and tables have rows, which [`super::rows`] and its neighbours tell alike once they are read as
//! nodes. Every other kind has a file of its own with a [`TextKind`], and a line in [`KINDS`]. What a text is taken for
//! is decided from its beginning alone, so it costs the same however long the text is.

use super::{
    code, diff, document::Parsed, fit::Section, html, json, listing, log, markdown, prose, settings, sql,
    table,
};

/// Bytes of a text that are looked at.
const LOOKED_AT: usize = 64 << 10;

/// Lines of it, and bytes of a line.
const LINES: usize = 400;
const LINE: usize = 2000;

/// A kind of text that is read line by line.
pub(crate) struct TextKind {
    /// The word that a reader sees: `log`.
    pub(super) name: &'static str,
    /// Whether a text is of this kind.
    pub(super) is: fn(&Sample<'_>) -> bool,
    /// What there is to tell of a text, for a query (which may be empty, and is trimmed) and a budget in tokens: the
    /// findings first, as a section without a title, one line each without a mark; then the rest, the most important
    /// first. More than fits is left out, so sections may hold more than the budget, but no more than a few times it.
    pub(super) sections: fn(&str, &str, usize) -> Vec<Section>,
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
pub(super) struct Sample<'a> {
    /// Its first lines, without their ends, each cut to a bounded length; no line that was cut off by the end of
    /// what is looked at, unless it is the only one.
    pub(super) lines: Vec<&'a str>,
    /// What is looked at, whole lines where there are several.
    pub(super) text: &'a str,
    /// Whether the text goes on after it.
    pub(super) cut: bool,
}

impl<'a> Sample<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let head = &text[..text.floor_char_boundary(LOOKED_AT)];
        let whole = match head.rfind('\n') {
            Some(end) if head.len() < text.len() => &head[..end],
            _ => head,
        };
        let cut = |line: &'a str| &line[..line.floor_char_boundary(LINE)];
        Self {
            lines: whole.lines().take(LINES).map(cut).collect(),
            text: whole,
            cut: whole.len() < text.len(),
        }
    }
}

/// What a text was taken for.
pub(crate) enum Recognised<'a> {
    /// It has rows; what it is called comes with it.
    Rows(&'static str, Parsed<'a>),
    Text(&'static TextKind),
}

impl<'a> Recognised<'a> {
    pub(crate) fn of(text: &'a str) -> Self {
        let sample = Sample::of(text);
        if let Some(rows) = json_of(text, &sample) {
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
    pub(super) fn sections(&self, text: &str, query: &str, budget: usize) -> Vec<Section> {
        match self {
            Self::Rows(_, document) => json::sections(document, query, budget),
            Self::Text(kind) => (kind.sections)(text, query, budget),
        }
    }
}

/// JSON, a JSON value a line, or JSON whose end is missing.
fn json_of<'a>(text: &'a str, sample: &Sample<'a>) -> Option<Recognised<'a>> {
    if let Ok(document) = Parsed::read(text) {
        return Some(Recognised::Rows("JSON", document));
    }
    if !text.trim_ascii_start().starts_with(['{', '[']) {
        return None;
    }
    let filled: Vec<&&str> = sample.lines.iter().filter(|line| !line.trim_ascii().is_empty()).collect();
    let value = |line: &&&str| {
        line.trim_ascii_start().starts_with(['{', '[']) && (line.len() >= LINE || Parsed::read(line).is_ok())
    };
    let values = filled.iter().filter(|line| value(line)).count();
    if filled.len() > 1 && values * 10 >= filled.len() * 8 {
        return Some(Recognised::Rows("JSON Lines", Parsed::lines(text)?));
    }
    Some(Recognised::Rows("JSON", Parsed::before_the_end(text)?))
}
