//! Edits the header tags of a page: domains, sources and date. Existing tags are changed in place; missing tags are
//! added to the header table, which is created if needed.
//!
//! Also edits the links of a page. Unchanged links stay in place, removed links lose their edge, and new links are added
//! under `== Related Pages ==`.

use std::{collections::BTreeSet, ops::Range};

use gatehouse_core::ports::knowledge::{PageLink, PageSource};

use super::splice::{LineEnding, entry_around, insert_block, line_around, replace};
use crate::wiki::{ids, layout::PageLayout, parse};

/// A kind of tag and its row in the header table.
struct HeaderRow {
    tag: &'static str,
    title: &'static str,
    /// True if each tag has its own line; otherwise commas separate the tags.
    bulleted: bool,
}

const DOMAINS: HeaderRow = HeaderRow { tag: "domain", title: "Domains", bulleted: false };
const SOURCES: HeaderRow = HeaderRow { tag: "source", title: "Knowledge Sources", bulleted: true };
const DATE: HeaderRow = HeaderRow { tag: "last_updated", title: "Last Updated", bulleted: false };

const TABLE: &str = "{| class=\"wikitable\" style=\"float:right; margin-left:1em; width:300px;\"";

pub(super) fn set_domains(text: &str, domains: &[String], eol: LineEnding) -> String {
    if parse::parse(text).domains == domains {
        return text.to_owned();
    }
    let tags: Vec<String> =
        domains.iter().map(|domain| format!("[[domain::{}]]", domain.replace(' ', "_"))).collect();
    set(text, &DOMAINS, &tags, eol)
}

pub(super) fn set_sources(text: &str, sources: &[PageSource], eol: LineEnding) -> String {
    if parse::parse(text).sources == sources {
        return text.to_owned();
    }
    let tag = |s: &PageSource| format!("[[source::{}|{}|{}]]", s.kind, s.title, s.url);
    set(text, &SOURCES, &sources.iter().map(tag).collect::<Vec<_>>(), eol)
}

pub(super) fn set_date(text: &str, date: &str, eol: LineEnding) -> String {
    if parse::parse(text).last_updated.as_deref() == Some(date) {
        return text.to_owned();
    }
    let tag = format!("[[last_updated::{date}]]");
    let first = PageLayout::parse(text).tags_named(DATE.tag).next().map(|tag| tag.range.clone());
    match first {
        Some(range) => replace(text, range, &tag),
        None => insert_row(text, &DATE, &[tag], eol),
    }
}

fn set(text: &str, row: &HeaderRow, tags: &[String], eol: LineEnding) -> String {
    let spots: Vec<Range<usize>> =
        PageLayout::parse(text).tags_named(row.tag).map(|tag| tag.range.clone()).collect();
    if spots.is_empty() {
        return if tags.is_empty() { text.to_owned() } else { insert_row(text, row, tags, eol) };
    }
    let run = first_run(text, &spots);
    let mut edited = text.to_owned();
    // Edit backwards so that earlier offsets remain valid.
    for spot in spots[run..].iter().rev() {
        edited = replace(&edited, entry_around(&edited, spot.clone()), "");
    }
    let whole = spots[0].start..spots[run - 1].end;
    if tags.is_empty() {
        let removed_range =
            if run == 1 { entry_around(&edited, whole) } else { bulleted_lines(&edited, whole) };
        return replace(&edited, removed_range, "");
    }
    let between = if run > 1 {
        text[spots[0].end..spots[1].start].to_owned()
    } else {
        let line = line_around(text, &spots[0]);
        let prefix = &text[line.start..spots[0].start];
        if prefix.trim() == "*" { format!("{}{prefix}", eol.as_str()) } else { ", ".to_owned() }
    };
    replace(&edited, whole, &tags.join(&between))
}

/// Counts the adjacent tags from the first one, with only list marks between them.
fn first_run(text: &str, spots: &[Range<usize>]) -> usize {
    let beside = |pair: &&[Range<usize>]| {
        text[pair[0].end..pair[1].start].chars().all(|c| c.is_whitespace() || matches!(c, ',' | ';' | '*'))
    };
    1 + spots.windows(2).take_while(beside).count()
}

/// Extends a run of entries by its bullets if it fills its lines.
fn bulleted_lines(text: &str, run: Range<usize>) -> Range<usize> {
    let line = line_around(text, &run);
    let bullets = text[line.start..run.start].chars().all(|c| c == '*' || c.is_whitespace());
    if bullets && text[run.end..line.end].trim().is_empty() { line } else { run }
}

fn insert_row(text: &str, row: &HeaderRow, tags: &[String], eol: LineEnding) -> String {
    let parts = PageLayout::parse(text);
    let cell = if row.bulleted {
        format!("|\n{}", tags.iter().map(|tag| format!("* {tag}")).collect::<Vec<_>>().join("\n"))
    } else {
        format!("| {}", tags.join(", "))
    };
    let Some(table) = parts.table.clone() else {
        return insert_table(text, &parts, &format!("{TABLE}\n|-\n! {}\n{cell}\n|}}\n", row.title), eol);
    };
    match titled_cell(text, table.clone(), row.title) {
        Some(HeaderCell::Empty(range)) => replace(text, range, &eol.convert(&cell)),
        Some(HeaderCell::Absent(at)) => insert_block(text, at, &cell, eol),
        None => {
            let inside = text[table.clone()].trim_end();
            let last = table.start + inside.rfind('\n').map_or(0, |at| at + 1);
            insert_block(text, last, &format!("|-\n! {}\n{cell}", row.title), eol)
        }
    }
}

fn insert_table(text: &str, parts: &PageLayout, table: &str, eol: LineEnding) -> String {
    let at = parts.heading_end;
    let under_heading = parts.title.is_some();
    let block = if under_heading { format!("\n{table}") } else { table.to_owned() };
    let followed = text[at..].starts_with(['\n', '\r']) || text[at..].is_empty();
    insert_block(text, at, if followed { block.trim_end_matches('\n') } else { &block }, eol)
}

/// Position for the tags under an existing row title.
enum HeaderCell {
    /// An empty cell: its line without the line ending.
    Empty(Range<usize>),
    /// The title has no cell. Contains the offset at which to insert one.
    Absent(usize),
}

fn titled_cell(text: &str, table: Range<usize>, title: &str) -> Option<HeaderCell> {
    let mut at = table.start;
    let mut lines = text[table].split_inclusive('\n').map(|line| {
        let start = at;
        at += line.len();
        (start, line)
    });
    lines.find(|(_, line)| {
        line.trim().strip_prefix('!').is_some_and(|rest| rest.trim().eq_ignore_ascii_case(title))
    })?;
    let (start, line) = lines.next()?;
    if line.trim() == "|" {
        Some(HeaderCell::Empty(start..start + line.trim_end().len()))
    } else {
        Some(HeaderCell::Absent(start))
    }
}

const SECTION: &str = "Related Pages";

pub(super) fn set_links(text: &str, links: &[PageLink], eol: LineEnding) -> String {
    let requested_links = ids::link_set(links);
    let present = ids::link_set(&parse::parse(text).links);
    if requested_links == present {
        return text.to_owned();
    }
    let text = drop_links(text, &requested_links);
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
