//! Formats values for display: on one line, shortened, and unable to forge a line of the digest.

use super::document::{NodeIndex, NodeKind, ParsedDocument, step};

const MAX_DEPTH: usize = 4;

const MAX_MEMBERS: usize = 24;

const MAX_DIGITS: usize = 40;

/// Returns whether a character is invisible, or reorders or breaks lines.
pub(crate) fn hidden(c: char) -> bool {
    let marks = matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{FEFF}');
    marks || c.is_control() || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Quotes the first `most` characters. Escapes hidden characters, so that a document cannot write lines into its own
/// digest.
pub(super) fn quoted(text: &str, most: usize) -> String {
    let mut out = String::from("\"");
    for (n, c) in text.chars().enumerate() {
        if n == most {
            out.push('…');
            break;
        }
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            c if hidden(c) => {
                out.push_str(&format!("\\u{{{:x}}}", u32::from(c)));
            }
            c => out.push(c),
        }
    }
    out.push('"');
    out
}

/// Formats a value on one line, each string cut to `most` characters and each container to its first members.
pub(super) fn show(document: &ParsedDocument<'_>, id: NodeIndex, most: usize) -> String {
    let mut out = String::new();
    write(document, id, most, MAX_DEPTH, &mut out);
    out
}

/// Formats a value for a cell. A plain word has no quotes.
pub(super) fn bare(document: &ParsedDocument<'_>, id: NodeIndex, most: usize) -> String {
    let raw = document.raw(id);
    let plain =
        |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.' | '/' | '@' | '+' | ':' | ' ' | '#');
    let word = document.kind(id) == NodeKind::String
        && raw.starts_with(|c: char| c.is_alphabetic() || matches!(c, '/' | '.' | '_'))
        && raw.len() <= most
        && !raw.ends_with(' ')
        && !matches!(raw, "true" | "false" | "null")
        && raw.chars().all(plain);
    if word { raw.to_owned() } else { show(document, id, most) }
}

pub(super) fn key(document: &ParsedDocument<'_>, key: NodeIndex) -> String {
    let step = step(&document.string(key));
    step.strip_prefix('.').map_or_else(|| quoted(&document.string(key), 60), str::to_owned)
}

fn write(document: &ParsedDocument<'_>, id: NodeIndex, most: usize, depth: usize, out: &mut String) {
    match document.kind(id) {
        NodeKind::String => out.push_str(&quoted(&document.string(id), most)),
        NodeKind::Array | NodeKind::Object => members(document, id, most, depth, out),
        NodeKind::Null | NodeKind::Bool | NodeKind::Number => {
            let source = document.source(id);
            // A JSON number is ASCII, so each byte is a boundary.
            match source.get(..MAX_DIGITS) {
                Some(head) if source.len() > MAX_DIGITS => {
                    out.push_str(&format!("{head}… ({} characters)", source.len()));
                }
                _ => out.push_str(source),
            }
        }
    }
}

fn members(document: &ParsedDocument<'_>, id: NodeIndex, most: usize, depth: usize, out: &mut String) {
    let (open, close) = if document.kind(id) == NodeKind::Object { ('{', '}') } else { ('[', ']') };
    let len = document.len(id);
    out.push(open);
    let max_members = if depth == 0 { 0 } else { MAX_MEMBERS };
    for (n, (name, value)) in document.members(id).take(max_members).enumerate() {
        out.push_str(if n > 0 { ", " } else { "" });
        if let Some(name) = name {
            out.push_str(&key(document, name));
            out.push_str(": ");
        }
        write(document, value, most, depth - 1, out);
    }
    if len > max_members {
        out.push_str(if max_members > 0 { ", " } else { "" });
        out.push_str(&format!("… {} more", len - max_members));
    }
    out.push(close);
}

pub(super) fn number(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    // About four significant digits if there is a fraction.
    let digits = if value.abs() >= 1000.0 { 0 } else { 3 };
    let text = format!("{value:.digits$}");
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_stay_on_one_line_and_are_cut() {
        let text = r#"{"a b": "line\nline\u202e", "n": 123456789012345678901234567890123456789012345678901, "l": [[[[[1]]]]], "e": {}}"#;
        let document = ParsedDocument::read(text).unwrap();
        assert_eq!(
            show(&document, ParsedDocument::ROOT, 7),
            "{\"a b\": \"line\\nli…\", n: 1234567890123456789012345678901234567890… (51 characters), \
             l: [[[[… 1 more]]]], e: {}}"
        );
        assert_eq!(quoted("a\u{202e}b\u{7}", 9), "\"a\\u{202e}b\\u{7}\"");
    }

    #[test]
    fn numbers_are_short() {
        let shown: Vec<String> = [0.0, 2.5, 1234.56, 1e20, -0.00001, 100.0].map(number).into();
        assert_eq!(shown, ["0", "2.5", "1235", "1.000e20", "-1.000e-5", "100"]);
    }
}
