//! Digests an HTML page by its text, without scripts, styles and menus.
//!
//! Tags are found in one pass without a tree, so any page takes linear time. The output is never parsed as HTML again.

use super::{
    fit::DigestSection,
    kind::{TextKind, TextSample},
    markdown,
};
use crate::split_list;

pub(super) const KIND: TextKind = TextKind { name: "HTML", is, sections };

const HIDDEN_ELEMENTS: [&str; 9] =
    ["script", "style", "svg", "nav", "head", "template", "noscript", "button", "rustdoc-toolbar"];

const BLOCK_ELEMENTS: [&str; 22] = split_list(
    "p|div|br|tr|table|ul|ol|section|article|pre|blockquote|dl|dt|dd|hr|header|footer|main|details|\
    summary|form|figure",
);

const MAX_TAG_BYTES: usize = 1_024;
const MAX_ENTITY_BYTES: usize = 12;

fn is(sample: &TextSample<'_>) -> bool {
    let begins = |line: &&str| line.trim_start().starts_with(['<', '\u{feff}']);
    let first = sample.lines.iter().take(40).collect::<Vec<_>>();
    let lower: String =
        first.iter().flat_map(|line| line.chars().take(600)).collect::<String>().to_ascii_lowercase();
    first.iter().find(|line| !line.trim().is_empty()).is_some_and(|line| begins(line))
        && (lower.contains("<!doctype html")
            || lower.contains("<html")
            || (lower.contains("<body") && lower.contains("</")))
}

fn sections(html: &str, query: &str, budget: usize) -> Vec<DigestSection> {
    let text = text(html);
    let mut sections = markdown::outline_sections(&text, query, budget, false);
    if let Some(findings) = sections.first_mut() {
        let title = title(html);
        if !title.is_empty() {
            findings.lines.insert(0, format!("The page title is: {}.", super::lines::shown(&title, 160)));
        }
        findings.lines.push("Lines are counted in its text without tags.".to_owned());
    }
    sections
}

fn title(html: &str) -> String {
    let lower = &html[..html.floor_char_boundary(64 << 10)];
    let between = lower.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    between.map(|(title, _)| decode_entities(title)).unwrap_or_default()
}

/// Returns the text of a page, with `#` for headings and `-` for list items.
pub(super) fn text(html: &str) -> String {
    let mut out = String::with_capacity(html.len() / 2);
    let mut rest = html;
    // Depth of `pre` elements, which preserve whitespace.
    let mut verbatim = 0_usize;
    while let Some(at) = rest.find('<') {
        push(&mut out, &rest[..at], verbatim > 0);
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.split_once("-->").map_or("", |(_, after)| after);
            continue;
        }
        let Some((name, closes, after)) = tag(rest) else {
            push(&mut out, "<", verbatim > 0);
            rest = &rest[1..];
            continue;
        };
        rest = after;
        if !closes && HIDDEN_ELEMENTS.contains(&name.as_str()) {
            rest = after_element(rest, &name);
            continue;
        }
        match name.as_bytes() {
            [b'h', level @ b'1'..=b'6'] => {
                line_end(&mut out);
                if !closes {
                    out.push_str(&"#".repeat(usize::from(level - b'0')));
                    out.push(' ');
                }
            }
            b"li" if !closes => {
                line_end(&mut out);
                out.push_str("- ");
            }
            b"td" | b"th" if !closes => out.push_str(if out.ends_with('\n') { "" } else { " | " }),
            _ if BLOCK_ELEMENTS.contains(&name.as_str()) => {
                line_end(&mut out);
                if matches!(name.as_str(), "p" | "pre") && !out.is_empty() && !out.ends_with("\n\n") {
                    out.push('\n');
                }
                if name == "pre" {
                    verbatim = if closes { verbatim.saturating_sub(1) } else { verbatim + 1 };
                }
            }
            _ => {}
        }
    }
    push(&mut out, rest, verbatim > 0);
    out
}

/// Returns the tag name at the start of `text`, whether it is a closing tag, and the text after it.
fn tag(text: &str) -> Option<(String, bool, &str)> {
    let inner = text.strip_prefix('<')?;
    let closes = inner.starts_with('/');
    let name = inner.trim_start_matches('/');
    if !name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '!' || c == '?') {
        return None;
    }
    let head = &name[..name.floor_char_boundary(MAX_TAG_BYTES)];
    let (mut quote, mut end) = (None, None);
    for (at, byte) in head.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => {
                end = Some(at);
                break;
            }
            (None, b'"' | b'\'') => quote = Some(byte),
            (Some(open), _) if open == byte => quote = None,
            _ => {}
        }
    }
    // With an unclosed quote, the tag ends at the first `>`.
    let end = end.or_else(|| head.find('>'))?;
    let name_end = head.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(end).min(end);
    Some((head[..name_end].to_ascii_lowercase(), closes, &name[end + 1..]))
}

fn after_element<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        let same = rest.get(..name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name));
        if same {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

fn push(out: &mut String, text: &str, verbatim: bool) {
    let text = decode_entities(text);
    if verbatim {
        out.push_str(&text);
        return;
    }
    for c in text.chars() {
        if !c.is_whitespace() {
            out.push(c);
        } else if !out.ends_with([' ', '\n']) && !out.is_empty() {
            out.push(' ');
        }
    }
}

fn line_end(out: &mut String) {
    while out.ends_with(' ') {
        out.pop();
    }
    if !out.is_empty() && !out.ends_with('\n') {
        out.push('\n');
    }
}

/// Decodes the most common entities. Others stay as they are.
fn decode_entities(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('&') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let name = rest[1..rest.floor_char_boundary(MAX_ENTITY_BYTES)].split_once(';').map(|(name, _)| name);
        match name.and_then(|name| Some((name, entity(name)?))) {
            Some((name, c)) => {
                out.push(c);
                rest = &rest[name.len() + 2..];
            }
            None => {
                out.push('&');
                rest = &rest[1..];
            }
        }
    }
    out + rest
}

fn entity(name: &str) -> Option<char> {
    let known = [
        ("amp", '&'),
        ("lt", '<'),
        ("gt", '>'),
        ("quot", '"'),
        ("apos", '\''),
        ("nbsp", ' '),
        ("ndash", '–'),
        ("mdash", '—'),
        ("hellip", '…'),
        ("lsquo", '‘'),
        ("rsquo", '’'),
        ("ldquo", '“'),
        ("rdquo", '”'),
        ("copy", '©'),
        ("sect", '§'),
        ("times", '×'),
    ];
    if let Some(number) = name.strip_prefix('#') {
        let hex = number.strip_prefix(['x', 'X']);
        let code = hex.map_or_else(|| number.parse(), |hex| u32::from_str_radix(hex, 16)).ok()?;
        return char::from_u32(code).filter(|c| !c.is_control());
    }
    known.iter().find(|(known, _)| *known == name).map(|(_, c)| *c)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_is_its_text() {
        let html = "<!DOCTYPE html><html><head><title>A &amp; B</title><style>x{}</style></head><body><nav>menu</nav>\
            <h1 id=\"a>b\">One</h1><p>Some <b>bold</b>\n text&hellip; 1 < 2</p><ul><li>first</li><li>second</li></ul>\
            <pre>fn x() {\n    1\n}</pre><!-- <p>no</p> --><script>var a = '<p>';</script><table><tr><td>a</td><td>b</td></tr></table>";
        let expected = "# One\n\nSome bold text… 1 < 2\n\n- first\n- second\n\nfn x() {\n    1\n}\n\na | b\n";
        assert_eq!(text(html), expected);
        assert_eq!(title(html), "A & B");
    }
}
