//! Edits the links of a page. Unchanged links stay in place, removed links lose their edge, and new links are added
//! under `== Related Pages ==`.

use std::collections::BTreeSet;

use gatehouse_core::ports::knowledge::PageLink;

use super::splice::{LineEnding, entry_around, insert_block, line_around, replace};
use crate::wiki::{ids, layout::PageLayout, parse};

const SECTION: &str = "Related Pages";

pub(super) fn set_links(text: &str, links: &[PageLink], eol: LineEnding) -> String {
    let wanted = ids::link_set(links);
    let present = ids::link_set(&parse::parse(text).links);
    if wanted == present {
        return text.to_owned();
    }
    let text = drop_links(text, &wanted);
    let mut listed = present;
    let added: Vec<String> = links
        .iter()
        .filter(|link| listed.insert((link.edge.clone(), ids::key(&link.target))))
        .map(line)
        .collect();
    if added.is_empty() { text } else { add_lines(&text, &added.join("\n"), eol) }
}

fn line(link: &PageLink) -> String {
    format!("* [[{}::{}]]", link.edge, link.target.replacen('/', ":", 1))
}

/// Removes unwanted links. In the list of related pages, the line is removed. Elsewhere, the tag becomes a plain
/// reference, because the sentence needs its name.
fn drop_links(text: &str, wanted: &BTreeSet<(String, String)>) -> String {
    let parts = PageLayout::parse(text);
    let related = parts.section_with_children(SECTION, text.len());
    let mut edited = text.to_owned();
    for tag in parts.tags.iter().rev() {
        let Some(link) = parse::link(tag) else { continue };
        if wanted.contains(&(link.edge, ids::key(&link.target))) {
            continue;
        }
        let entry = entry_around(&edited, tag.range.clone());
        let listed = related.as_ref().is_some_and(|section| section.contains(&tag.range.start));
        edited = if listed && entry == line_around(&edited, &tag.range) {
            replace(&edited, entry, "")
        } else {
            replace(&edited, tag.range.clone(), &format!("[[{}]]", tag.value))
        };
    }
    edited
}

fn add_lines(text: &str, lines: &str, eol: LineEnding) -> String {
    let parts = PageLayout::parse(text);
    let Some(related) = parts.section_with_children(SECTION, text.len()) else {
        let text = if text.is_empty() || text.ends_with('\n') {
            text.to_owned()
        } else {
            format!("{text}{}", eol.as_str())
        };
        return insert_block(&text, text.len(), &format!("\n== {SECTION} ==\n{lines}"), eol);
    };
    let last = parts
        .tags
        .iter()
        .rfind(|tag| related.contains(&tag.range.start) && parse::link(tag).is_some())
        .map(|tag| line_around(text, &tag.range).end);
    let at = last.unwrap_or_else(|| {
        let inside = text[related.clone()].trim_end();
        if inside.is_empty() {
            related.start
        } else {
            line_around(text, &(related.start + inside.len()..related.start + inside.len())).end
        }
    });
    insert_block(text, at, lines, eol)
}
