//! Parses the text of a page: title, overview, content, domains, sources, date and links.
//!
//! Every text is a valid page. Values are trimmed and use `\n` line endings.

use std::{collections::HashSet, hash::Hash};

use gatehouse_core::ports::knowledge::{EDGES, PageLink, PageSource, PageType};

use super::{
    ids,
    layout::{PageLayout, WikiTag},
    overview::Overview,
};

/// Tags that are never links, regardless of their value.
const NON_LINK_TAGS: [&str; 4] = ["source", "domain", "last_updated", "github_url"];

/// Edge that replaces unknown edges.
const RELATED: &str = "related";

#[derive(Debug, Clone, Default, PartialEq)]
pub struct ParsedPage {
    /// Heading without the page type. `None` if the page has no heading.
    pub title: Option<String>,
    pub page_type: Option<PageType>,
    /// Text under `== Overview ==` or `== Definition ==`; else the first prose of the description; else the first prose
    /// of the page. Empty if the page has no prose.
    pub overview: String,
    /// True if the overview is under its own heading.
    pub own_overview: bool,
    pub content: String,
    /// Distinct domains in order, with spaces for `_`.
    pub domains: Vec<String>,
    pub sources: Vec<PageSource>,
    pub last_updated: Option<String>,
    /// Declared links in order, including duplicates. Unknown edges are replaced by `related`.
    pub links: Vec<PageLink>,
    pub unknown_edges: Vec<String>,
}

pub fn parse(text: &str) -> ParsedPage {
    read(text, &PageLayout::parse(text))
}

/// Parses a page whose layout is known.
pub(crate) fn read(text: &str, layout: &PageLayout) -> ParsedPage {
    let (page_type, title) = layout.title.as_deref().map_or((None, None), split_heading);
    let overview = Overview::from_layout(text, layout);
    let before_table = layout.table.as_ref().map_or("", |table| &text[layout.heading_end..table.start]);
    let after_header = &text[layout.body_start()..];
    let content = match before_table.trim() {
        "" => plain(after_header),
        _ => plain(&format!("{before_table}{after_header}")),
    };
    ParsedPage {
        title,
        page_type,
        overview: overview.text,
        own_overview: overview.own,
        content,
        domains: distinct(
            layout.tags_named("domain").map(|tag| ids::key(&tag.value)).filter(|domain| !domain.is_empty()),
            String::clone,
        ),
        sources: distinct(
            layout
                .tags_named("source")
                .map(|tag| source(&tag.value))
                .filter(|source| !source.title.is_empty() || !source.url.is_empty()),
            |source| (source.kind.clone(), source.title.clone(), source.url.clone()),
        ),
        last_updated: layout
            .tags_named("last_updated")
            .map(|tag| tag.value.clone())
            .find(|value| !value.is_empty()),
        links: layout.tags.iter().filter_map(link).collect(),
        unknown_edges: layout
            .tags
            .iter()
            .filter(|tag| !is_edge(&tag.name) && link(tag).is_some())
            .map(|tag| tag.name.clone())
            .collect(),
    }
}

/// Returns the link that a tag declares. `None` if the tag is not a link.
pub(crate) fn link(tag: &WikiTag) -> Option<PageLink> {
    if NON_LINK_TAGS.contains(&tag.name.as_str()) {
        return None;
    }
    // Text after `|` is the display text. A colon before the type makes a link of MediaWiki out of an inclusion.
    let target = tag.value.split('|').next().unwrap_or_default().trim().trim_start_matches(':');
    let edge = if is_edge(&tag.name) { &tag.name } else { RELATED };
    let target = match ids::split_loose(target) {
        Some((page_type, name)) => ids::join(page_type, &without_anchor(name).replace("&amp;", "&")),
        // As written, so that it is reported as unresolved.
        None if is_edge(&tag.name) && !target.is_empty() && !target.contains("://") => target.to_owned(),
        None => return None,
    };
    Some(PageLink { edge: edge.to_owned(), target })
}

/// Returns a name without the anchor of a section, which belongs to the reader. `C#` and `Q#1` are names.
fn without_anchor(name: &str) -> &str {
    match name.split_once('#') {
        Some((page, anchor)) if !page.is_empty() && anchor.starts_with(char::is_alphabetic) => page.trim(),
        _ => name,
    }
}

fn is_edge(name: &str) -> bool {
    EDGES.contains(&name)
}

/// Normalizes a value: `\n` line endings, trimmed.
pub(crate) fn plain(text: &str) -> String {
    text.replace("\r\n", "\n").trim().to_owned()
}

fn split_heading(heading: &str) -> (Option<PageType>, Option<String>) {
    let heading = heading.replace("**", "");
    let typed = heading.split_once(':').and_then(|(kind, rest)| Some((kind.trim().parse().ok()?, rest)));
    let (page_type, title) = match typed {
        Some((page_type, rest)) => (Some(page_type), rest.trim()),
        None => (None, heading.trim()),
    };
    (page_type, (!title.is_empty()).then(|| title.to_owned()))
}

/// Parses `Kind|Title|URL`. Tolerates missing parts.
fn source(value: &str) -> PageSource {
    let parts: Vec<&str> = value.splitn(3, '|').map(str::trim).collect();
    let (kind, title, url) = match parts.as_slice() {
        [kind, title, url] => (*kind, *title, *url),
        [kind, address] if address.contains("://") => (*kind, *address, *address),
        [kind, title] => (*kind, *title, ""),
        [address] if address.contains("://") => ("", *address, *address),
        [title] => ("", *title, ""),
        _ => ("", "", ""),
    };
    PageSource { kind: kind.to_owned(), title: title.to_owned(), url: url.to_owned() }
}

/// Removes duplicates and keeps the first of each.
fn distinct<T, K: Eq + Hash>(values: impl Iterator<Item = T>, identity: impl Fn(&T) -> K) -> Vec<T> {
    let mut seen = HashSet::new();
    values.filter(|value| seen.insert(identity(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# Principle: Model_Loading\n\n{| class=\"wikitable\"\n|-\n! Knowledge Sources\n|\n* [[source::Repo|Unsloth|https://example.org/a]]\n|-\n! Domains\n| [[domain::LLMs]], [[domain::Fine_Tuning]]\n|-\n! Last Updated\n| [[last_updated::2026-01-09 12:00 GMT]]\n|}\n\n== Overview ==\nLoads it.\n\n=== Description ===\nLong.\n\n== Related Pages ==\n* [[implemented_by::Implementation:A_b]]\n* [[implemented_by::Implementation:A b|shown]]\n* [[github_url::https://x]] [[step::Nothing:X]] [[step::Principle:]]\n";

    #[test]
    fn every_part_of_a_page_is_read() {
        let page = parse(PAGE);
        assert_eq!(page.title.as_deref(), Some("Model_Loading"));
        assert_eq!(page.page_type, Some(PageType::Principle));
        assert_eq!(page.overview, "Loads it.");
        assert!(page.content.starts_with("== Overview ==") && page.content.ends_with("[[step::Principle:]]"));
        assert_eq!(page.domains, ["LLMs", "Fine Tuning"]);
        assert_eq!(page.sources[0].url, "https://example.org/a");
        assert_eq!(page.last_updated.as_deref(), Some("2026-01-09 12:00 GMT"));
        let targets: Vec<&str> = page.links.iter().map(|l| l.target.as_str()).collect();
        assert_eq!(targets, ["Implementation/A_b", "Implementation/A b", "Nothing:X", "Principle:"]);
    }

    #[test]
    fn each_form_of_a_link_is_read_or_reported() {
        for (target, expected) in [
            ("Principle:A_b#Usage", Some("Principle/A_b")),
            ("Principle:A_b#Usage|shown", Some("Principle/A_b")),
            ("Principle:C#", Some("Principle/C#")),
            ("Principle:Q#1", Some("Principle/Q#1")),
            ("Principle/A", Some("Principle/A")),
            ("principles/A", Some("Principle/A")),
            (":Principle:A", Some("Principle/A")),
            ("Principle:A_&amp;_B", Some("Principle/A_&_B")),
            ("Page:A", Some("Page:A")),
            ("https://example.org/a", None),
        ] {
            let page = parse(&format!("# X\n[[related::{target}]] `[[related::Principle:Code]]`"));
            assert_eq!(page.links.first().map(|link| &*link.target), expected, "{target}");
            assert!(page.links.len() < 2, "{target}");
        }
    }

    #[test]
    fn headings_of_markdown_are_titles() {
        for (text, title) in [
            ("Principle: A\n============\n\nText.\n", "A"),
            ("# **Principle:** A\n\nText.\n", "A"),
            ("# Principle: A #\n\n[![CI](x.svg)](y)\n\nText.\n", "A"),
            ("# Principle: C#\n\nText.\n", "C#"),
        ] {
            let page = parse(text);
            assert_eq!((page.title.as_deref(), page.overview.as_str()), (Some(title), "Text."), "{text}");
        }
    }

    #[test]
    fn an_unknown_edge_is_reported_and_means_related() {
        let page = parse(
            "# X\n[[inspired_by::Principle:A]] [[source::Workflow:B|t|u]] [[seen::http://x]] [[step::Principle:C]]",
        );
        let links: Vec<_> =
            page.links.iter().map(|link| (link.edge.as_str(), link.target.as_str())).collect();
        assert_eq!(links, [("related", "Principle/A"), ("step", "Principle/C")]);
        assert_eq!(page.unknown_edges, ["inspired_by"]);
    }

    #[test]
    fn line_endings_do_not_change_the_parsed_page() {
        assert_eq!(parse(&PAGE.replace('\n', "\r\n")), parse(PAGE));
        assert_eq!(parse(&format!("\u{feff}{PAGE}")), parse(PAGE));
    }

    #[test]
    fn other_headings_and_definitions_are_read() {
        let page = parse("= Heuristic: X: y =\n== Definition ==\nIt is.\n");
        assert_eq!((page.title.as_deref(), page.overview.as_str()), (Some("X: y"), "It is."));
        assert_eq!(parse("no heading\n# later\n").title, None);
        assert_eq!(parse("# Ratio: 1\n").title.as_deref(), Some("Ratio: 1"));
        assert_eq!(parse("# Principle:\n").title, None);
    }

    #[test]
    fn strange_texts_are_read_without_a_panic() {
        for text in [
            "",
            "\0",
            "#",
            "=",
            "==",
            "== ==",
            "[[",
            "[[::]]",
            "[[domain::]]",
            "{|",
            "|}",
            "\u{feff}",
            "\r",
            "é[[é::é]]é",
        ] {
            let page = parse(text);
            assert!(page.links.is_empty() && page.domains.is_empty(), "{text:?}");
        }
        let line = "x".repeat(10_000_000);
        assert_eq!(parse(&line).content.len(), line.len());
    }
}
