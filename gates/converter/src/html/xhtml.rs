//! XHTML, whose empty elements and literal text HTML reads differently.

use std::borrow::Cow;

use super::hidden::VOID;

/// Returns XHTML as HTML: empty elements such as `<script/>` get an end tag, and CDATA becomes text.
pub(super) fn as_html(page: &str) -> Cow<'_, str> {
    let head = &page[..page.floor_char_boundary(1_024)];
    let is_xhtml = head.trim_start().starts_with("<?xml") || head.contains("http://www.w3.org/1999/xhtml");
    if !is_xhtml || !page.contains("/>") && !page.contains("<![CDATA[") {
        return Cow::Borrowed(page);
    }
    let mut html = String::with_capacity(page.len());
    let mut rest = page;
    while let Some(at) = rest.find('<') {
        html.push_str(&rest[..at]);
        rest = &rest[at..];
        let length = match rest {
            _ if rest.starts_with("<!--") => rest.find("-->").map(|end| end + 3),
            _ if rest.starts_with("<![CDATA[") => {
                let text = rest["<![CDATA[".len()..].split("]]>").next().unwrap_or_default();
                html.push_str(&text.replace('&', "&amp;").replace('<', "&lt;"));
                rest = rest.get("<![CDATA[".len() + text.len() + "]]>".len()..).unwrap_or_default();
                continue;
            }
            _ => tag_length(rest),
        };
        let Some(length) = length else { break };
        let (tag, after) = rest.split_at(length);
        rest = after;
        let name =
            tag[1..].split(|c: char| c.is_whitespace() || c == '/' || c == '>').next().unwrap_or_default();
        match tag.strip_suffix("/>").filter(|_| !name.is_empty() && !VOID.contains(&name.as_bytes())) {
            Some(open) => html.push_str(&format!("{open}></{name}>")),
            None => html.push_str(tag),
        }
    }
    html.push_str(rest);
    Cow::Owned(html)
}

/// Returns the length of the tag at the start of a text. `>` in quotes does not end it.
fn tag_length(text: &str) -> Option<usize> {
    let mut quote = None;
    let end = text.char_indices().find(|(_, c)| match (quote, c) {
        (Some(open), c) if open == *c => {
            quote = None;
            false
        }
        (Some(_), _) => false,
        (None, '"' | '\'') => {
            quote = Some(*c);
            false
        }
        (None, c) => *c == '>',
    });
    end.map(|(at, _)| at + 1)
}
