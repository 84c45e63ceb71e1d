//! Values and keys in the compact form.

use std::borrow::Cow;

use crate::digest::{
    document::{NodeIndex, NodeKind, ParsedDocument},
    value::hidden,
};

pub(super) const SEPARATOR: char = '|';

/// Appends JSON without whitespace between tokens. Hidden characters in strings are escaped.
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
            // All hidden characters are in the Basic Multilingual Plane.
            out.push_str(&format!("\\u{:04x}", u32::from(c)));
        } else {
            out.push(c);
        }
    }
}

/// Returns a value as a cell. A string has no quotes unless it would be ambiguous.
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

/// Returns the value of a string, `None` if it has an unpaired surrogate.
pub(super) fn text<'a>(document: &ParsedDocument<'a>, id: NodeIndex) -> Option<Cow<'a, str>> {
    let quoted = document.source(id).starts_with('"');
    match document.string(id) {
        Cow::Borrowed(text) if quoted && text.contains('\\') => None,
        text => Some(text),
    }
}

pub(super) fn string(text: &str, out: &mut String) {
    if is_bare(text) {
        return out.push_str(text);
    }
    let json = serde_json::Value::from(text).to_string();
    minified(&json, out);
}

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

fn is_number(text: &str) -> bool {
    text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && ParsedDocument::read(text)
            .is_ok_and(|document| document.kind(ParsedDocument::ROOT) == NodeKind::Number)
}
