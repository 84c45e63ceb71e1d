//! Values and keys as they stand in the compact form.

use std::borrow::Cow;

use crate::digest::{
    document::{NodeIndex, NodeKind, ParsedDocument},
    value::hidden,
};

/// Between the cells of a row.
pub(super) const SEPARATOR: char = '|';

/// JSON without the blanks between its parts; what is hidden in a string is escaped.
pub(super) fn minified(source: &str, out: &mut String) {
    let (mut inside, mut escaped) = (false, false);
    for c in source.chars() {
        if inside {
            (inside, escaped) = (escaped || c != '"', !escaped && c == '\\');
        } else if matches!(c, ' ' | '\n' | '\r' | '\t') {
            continue;
        } else {
            inside = c == '"';
        }
        if hidden(c) {
            // All that is hidden lies in the basic plane.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
}

/// A value in a cell: a string goes without its quotes where it can be taken for nothing else.
pub(super) fn cell(document: &ParsedDocument<'_>, id: NodeIndex) -> String {
    let mut out = String::new();
    match document.kind(id) {
        NodeKind::String => match text(document, id) {
            Some(text) => string(&text, &mut out),
            None => minified(document.source(id), &mut out),
        },
        _ => minified(document.source(id), &mut out),
    }
    out
}

/// What a string says; none where it has half of a surrogate pair, which no text can hold.
pub(super) fn text<'a>(document: &ParsedDocument<'a>, id: NodeIndex) -> Option<Cow<'a, str>> {
    let quoted = document.source(id).starts_with('"');
    match document.string(id) {
        Cow::Borrowed(text) if quoted && text.contains('\\') => None,
        text => Some(text),
    }
}

/// A string in a cell.
pub(super) fn string(text: &str, out: &mut String) {
    if is_bare(text) {
        return out.push_str(text);
    }
    let json = serde_json::Value::from(text).to_string();
    minified(&json, out);
}

/// A key in the line of keys.
pub(super) fn key(document: &ParsedDocument<'_>, id: NodeIndex, out: &mut String) {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '$' | '@' | '/' | ':' | ' ');
    match text(document, id) {
        Some(text) if is_bare(&text) && text.chars().all(plain) => out.push_str(&text),
        Some(text) => minified(&serde_json::Value::from(text.as_ref()).to_string(), out),
        None => minified(document.source(id), out),
    }
}

fn is_bare(text: &str) -> bool {
    let reserved = text.is_empty()
        || text.starts_with(['"', '[', '{', '#'])
        || matches!(text, "true" | "false" | "null")
        || text.trim() != text;
    !reserved && !text.contains(|c: char| c == SEPARATOR || c.is_control() || hidden(c)) && !is_number(text)
}

/// Whether a text is a number by the grammar of JSON.
fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && ParsedDocument::read(text)
            .is_ok_and(|document| document.kind(ParsedDocument::ROOT) == NodeKind::Number)
}
