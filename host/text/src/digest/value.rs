//! Values as a reader is shown them: on one line, in few characters, with no way to forge a line.

use super::document::{NodeIndex, NodeKind, ParsedDocument, step};

/// Containers inside a shown value that are opened.
const MAX_DEPTH: usize = 4;

/// Elements of a container that are shown.
const MAX_MEMBERS: usize = 24;

/// A number of more digits is cut.
const MAX_DIGITS: usize = 40;

/// What a reader does not see, and what reorders or breaks lines: controls, line and paragraph separators, marks of
/// direction, and the mark of a byte order.
pub(crate) fn hidden(c: char) -> bool {
    let marks = matches!(c, '\u{200E}' | '\u{200F}' | '\u{061C}' | '\u{FEFF}');
    marks || c.is_control() || matches!(c, '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Text in quotes, with at most `most` characters of it. Control characters and what reorders text are
/// escaped: a document must not write lines of its own into its digest.
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

/// A value on one line; each string in it is cut to `most` characters, and containers to their first
/// members.
pub(super) fn show(document: &ParsedDocument<'_>, id: NodeIndex, most: usize) -> String {
    let mut out = String::new();
    write(document, id, most, MAX_DEPTH, &mut out);
    out
}

/// A value as a cell among others: a plain word goes without its quotes.
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

/// A key as it is shown before a value.
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
            // A number is ASCII, so any byte is a boundary.
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
    let shown = if depth == 0 { 0 } else { MAX_MEMBERS };
    for (n, (name, value)) in document.members(id).take(shown).enumerate() {
        out.push_str(if n > 0 { ", " } else { "" });
        if let Some(name) = name {
            out.push_str(&key(document, name));
            out.push_str(": ");
        }
        write(document, value, most, depth - 1, out);
    }
    if len > shown {
        out.push_str(if shown > 0 { ", " } else { "" });
        out.push_str(&format!("… {} more", len - shown));
    }
    out.push(close);
}

/// A measured or computed number, in few digits.
pub(super) fn number(value: f64) -> String {
    if value != 0.0 && !(1e-4..1e15).contains(&value.abs()) {
        return format!("{value:.3e}");
    }
    // Rounded to about four significant digits where there is a fraction.
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
