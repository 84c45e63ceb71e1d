//! Re-encodes JSON and tables in fewer tokens without loss.
//!
//! JSON loses its whitespace, and each list (or map) of objects with similar keys becomes a [`table`]. Every value can
//! be restored exactly, but not the order of keys. The first line explains the notation.

mod table;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use gatehouse_core::ports::text::CompactText;

use crate::{
    digest::{
        document::{NodeIndex, NodeKind, ParsedDocument},
        kind::RecognizedText,
        value::hidden,
    },
    tokens,
};
use table::CompactTable;

/// Maximum input in bytes. Both forms have to be counted, and longer texts get a digest anyway.
const MAX_COMPACT_BYTES: usize = 256 << 10;

/// Maximum nesting depth for tables. Each level may read its content once more.
const MAX_TABLE_DEPTH: usize = 24;

pub(crate) fn compact(text: &str) -> Option<CompactText> {
    if text.len() > MAX_COMPACT_BYTES {
        return None;
    }
    let form = form(text)?;
    let tokens_in = tokens::count(text);
    let tokens_out = tokens::count_up_to(&form, tokens_in.checked_sub(1)?)?;
    Some(CompactText {
        text: form,
        tokens_in: u32::try_from(tokens_in).ok()?,
        tokens_out: u32::try_from(tokens_out).ok()?,
    })
}

/// Returns the compact form, which may be longer than the text.
fn form(text: &str) -> Option<String> {
    let RecognizedText::Rows(kind, document) = RecognizedText::from_text(text, "") else { return None };
    let whole = match kind {
        "JSON" => document.note.is_none(),
        // Lines that are not JSON are strings without quotes here, and quoted cells use different escapes.
        "JSON Lines" => {
            document.children(ParsedDocument::ROOT).all(|line| document.kind(line) != NodeKind::String)
        }
        _ => {
            !text.contains('"')
                && document.children(ParsedDocument::ROOT).all(|row| document.kind(row) == NodeKind::Object)
        }
    };
    if !whole {
        return None;
    }
    let mut writer = CompactWriter { document: &document, tables: Vec::new() };
    let mut skeleton = String::new();
    writer.value(ParsedDocument::ROOT, 0, &mut skeleton);
    // Only JSON is compact without a table: its syntax needs no explanation.
    if writer.tables.is_empty() {
        return (kind == "JSON").then_some(skeleton);
    }
    let mut out = explanation(kind, &writer.tables);
    out.push_str(&skeleton);
    for (number, table) in (1..).zip(&writer.tables) {
        out.push_str(&format!("\n#{number}{}", table.text));
    }
    Some(out)
}

struct CompactWriter<'d, 'a> {
    document: &'d ParsedDocument<'a>,
    tables: Vec<CompactTable>,
}

impl CompactWriter<'_, '_> {
    fn value(&mut self, id: NodeIndex, depth: usize, out: &mut String) {
        let (open, close) = match self.document.kind(id) {
            NodeKind::Array => ('[', ']'),
            NodeKind::Object => ('{', '}'),
            _ => return minified(self.document.source(id), out),
        };
        if depth >= MAX_TABLE_DEPTH {
            return minified(self.document.source(id), out);
        }
        if let Some(table) = CompactTable::from_node(self.document, id) {
            self.tables.push(table);
            out.push_str(&format!("#{}", self.tables.len()));
            return;
        }
        out.push(open);
        for (n, (key, value)) in self.document.members(id).enumerate() {
            out.push_str(if n > 0 { "," } else { "" });
            if let Some(key) = key {
                minified(self.document.source(key), out);
                out.push(':');
            }
            self.value(value, depth + 1, out);
        }
        out.push(close);
    }
}

fn explanation(kind: &str, tables: &[CompactTable]) -> String {
    let any = |has: fn(&CompactTable) -> bool| tables.iter().any(has);
    let mut out = format!(
        "{kind}, compacted without loss. `#1` means the rows under `#1:`, which start with their keys"
    );
    let mut say = |occurs: bool, what: &str| out.push_str(if occurs { what } else { "" });
    say(any(|t| t.keyed), "; under `#1{}:` each row starts with its own key");
    say(any(|t| t.nested), "; `a.b` is b in a");
    say(any(|t| t.same), "; `k=v` applies to all rows");
    say(any(|t| t.prefixed), "; `k^=v`: all start with v");
    say(any(|t| t.lists), "; `k[a,b]`: lists of objects with these keys");
    say(any(|t| t.missing), "; an empty cell means no key");
    out + "; bare words are strings.\n"
}

const SEPARATOR: char = '|';

/// Appends JSON without whitespace between tokens. Hidden characters in strings are escaped.
fn minified(source: &str, out: &mut String) {
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
fn cell(document: &ParsedDocument<'_>, id: NodeIndex) -> String {
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
fn text<'a>(document: &ParsedDocument<'a>, id: NodeIndex) -> Option<Cow<'a, str>> {
    let quoted = document.source(id).starts_with('"');
    match document.string(id) {
        Cow::Borrowed(text) if quoted && text.contains('\\') => None,
        text => Some(text),
    }
}

fn string(text: &str, out: &mut String) {
    if is_bare(text) {
        return out.push_str(text);
    }
    let json = serde_json::Value::from(text).to_string();
    minified(&json, out);
}

fn key(document: &ParsedDocument<'_>, id: NodeIndex, out: &mut String) {
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
