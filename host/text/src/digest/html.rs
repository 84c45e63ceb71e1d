//! Digests an HTML page by its text, without scripts, styles and menus.
//!
//! Tags are found in one pass without a tree, so any page takes linear time. The output is never parsed as HTML again.

mod page_text;

use self::page_text::PageText;
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
    let PageText { text, lines } = PageText::from_html(html);
    let on_page = |line: usize| line.checked_sub(1).and_then(|at| lines.get(at)).copied().unwrap_or(line);
    let mut sections = markdown::outline_sections(&text, query, budget, Some(&on_page));
    if let Some(findings) = sections.first_mut() {
        let title = title(html);
        if !title.is_empty() {
            findings.lines.insert(0, format!("The page title is: {}.", super::lines::shown(&title, 160)));
        }
    }
    sections
}

fn title(html: &str) -> String {
    let lower = &html[..html.floor_char_boundary(64 << 10)];
    let between = lower.split_once("<title>").and_then(|(_, rest)| rest.split_once("</title>"));
    between.map(|(title, _)| decode_entities(title)).unwrap_or_default()
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
        let same = rest.get(..name.len()).is_some_and(|tag| tag.eq_ignore_ascii_case(name));
        if same {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
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
    let entities = [
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
    entities.iter().find(|(entity, _)| *entity == name).map(|(_, c)| *c)
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
        assert_eq!(PageText::from_html(html).text, expected);
        assert_eq!(title(html), "A & B");
    }

    #[test]
    fn lines_are_those_of_the_page() {
        let html =
            "<html>\n<head>\n</head>\n<h1>One</h1>\n<p>a\nb</p>\n<pre>\nx\n\ny</pre>\n<ul>\n<li>\nlast</ul>";
        let page = PageText::from_html(html);
        let lines: Vec<&str> = html.lines().collect();
        for (text, line) in page.text.lines().zip(&page.lines).filter(|(text, _)| !text.is_empty()) {
            let word = text.trim_start_matches(['#', '-', ' ']).split(' ').next().unwrap_or_default();
            let near = lines[line - 1..].iter().take(2).any(|line| line.contains(word));
            assert!(near, "{text:?} is not on line {line}");
        }
        assert_eq!(page.lines.len(), page.text.matches('\n').count() + 1);
        let sections = sections(&format!("{html}{}", "<p>word and more words</p>\n".repeat(400)), "", 300);
        let shown: Vec<&String> = sections.iter().flat_map(|section| &section.lines).collect();
        assert!(shown.iter().any(|line| line.contains("One (4)")), "{shown:?}");
        assert!(shown.iter().any(|line| line.contains("[… lines ") && !line.contains("-1,2")), "{shown:?}");
    }
}
