//! Reads pages for `get_wiki_page`, and for the idea and code searches if called with an id. A long page is split into
//! pieces, and each piece names the call for the next one.

use gatehouse_sdk::{
    Fault, Offset, context,
    knowledge::{self, FoundPage, Lookup, Page, Source},
    text,
};
use schemars::JsonSchema;
use serde::Serialize;

use crate::{
    Kind, RelatedData, code,
    data::MAX_OVERVIEW_CHARS,
    one_line,
    quote::{fenced, quoted},
    search::related_line,
    shorten,
};

const MAX_REPLY_TOKENS: u32 = 8_000;

/// Reserved for the range line, the fences, and the error of counting parts separately.
const FRAME_TOKENS: u32 = 200;

/// Minimum content of a piece, regardless of long names and titles.
const MIN_PIECE_TOKENS: u32 = 500;

/// Maximum sources and maximum related pages.
const MAX_LIST_ITEMS: usize = 100;

/// Maximum for sources and related pages; the rest is counted.
const MAX_LISTS_TOKENS: u32 = 2_000;

/// A page, or a piece of it.
#[derive(Debug, Serialize, JsonSchema)]
pub struct PageData {
    /// `Type/Name`.
    pub id: String,
    pub title: String,
    pub page_type: Kind,
    /// Other pages.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub same_title: Vec<String>,
    pub domains: Vec<String>,
    /// As written in the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_updated: Option<String>,
    pub overview: String,
    /// Wiki text from the offset on.
    pub content: String,
    /// Of the whole wiki text.
    pub characters: usize,
    /// Start of the next piece.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<usize>,
    pub sources: Vec<SourceData>,
    /// Linked pages, in both directions.
    pub related: Vec<RelatedData>,
}

#[derive(Debug, Serialize, JsonSchema)]
pub struct SourceData {
    kind: String,
    title: String,
    url: String,
}

/// Reads a page by id or title, from character `offset` of its content on. `used` is the tool that was called.
pub fn read_page(used: &'static str, id_or_title: &str, offset: Offset) -> Result<(String, PageData), Fault> {
    match knowledge::read(id_or_title)? {
        Lookup::Found(FoundPage { page, namesakes }) => {
            let offset = offset.at_most(u32::MAX) as usize;
            piece(used, page, namesakes, offset)
        }
        Lookup::Missing(nearest) => Err(missing(id_or_title, &nearest)),
    }
}

fn missing(asked: &str, nearest: &[String]) -> Fault {
    let fault = Fault::not_found(format!("Page not found: '{}'", one_line(asked, 200)));
    let mut hints = Vec::new();
    if !nearest.is_empty() {
        let titles: Vec<String> = nearest.iter().take(3).map(|t| format!("'{}'", one_line(t, 200))).collect();
        hints.push(format!("Nearest titles: {}.", titles.join(", ")));
    }
    let searches = ["search_knowledge", "wiki_code_search", "wiki_idea_search"];
    if let Some(search) = searches.into_iter().find_map(context::exposed_name) {
        hints.push(format!("Use {search} to find pages by content."));
    }
    if hints.is_empty() { fault } else { fault.hint(hints.join(" ")) }
}

fn piece(used: &str, page: Page, namesakes: Vec<String>, offset: usize) -> Result<(String, PageData), Fault> {
    let body = body(&page);
    let characters = body.chars().count();
    if offset > 0 && offset >= characters {
        return Err(Fault::invalid(format!(
            "offset {offset} is beyond the end of '{}', which has {characters} characters",
            one_line(&page.id, 200)
        ))
        .hint("Omit offset to start at the beginning."));
    }
    let from = body.char_indices().nth(offset).map_or(body.len(), |(at, _)| at);
    let (head, tail) = match offset {
        0 => (whole_head(&page, &namesakes), lists(&page)?),
        _ => (short_head(&page), String::new()),
    };
    let room = MAX_REPLY_TOKENS - FRAME_TOKENS;
    let room = room.saturating_sub(text::count(&head)? + text::count(&tail)?).max(MIN_PIECE_TOKENS);
    let content = &body[from..from + fitting(&body[from..], room)?];
    let end = offset + content.chars().count();
    let next_offset = (end < characters).then_some(end);
    let mut out = head;
    if !content.trim().is_empty() {
        out += "\n## Content\n\n";
        if offset > 0 || next_offset.is_some() {
            out += &range(used, &page.id, offset, end, characters);
        }
        out += &fenced(content);
    }
    out += &tail;
    let source = |Source { kind, title, url }| SourceData { kind, title, url };
    // Only the first piece has lists and the overview.
    let listed = if offset == 0 { MAX_LIST_ITEMS } else { 0 };
    let data = PageData {
        content: content.to_owned(),
        characters,
        next_offset,
        related: page.neighbours.iter().take(listed).map(RelatedData::new).collect(),
        id: page.id,
        title: page.title,
        page_type: Kind(page.page_type),
        same_title: namesakes,
        domains: page.domains,
        last_updated: page.last_updated,
        overview: if offset == 0 { shorten(page.overview.trim(), MAX_OVERVIEW_CHARS) } else { String::new() },
        sources: page.sources.into_iter().take(listed).map(source).collect(),
    };
    Ok((out, data))
}

/// Returns the text to split. It includes an overview that is too long for the head and missing from the content.
fn body(page: &Page) -> String {
    let (overview, content) = (page.overview.trim(), page.content.trim());
    if overview.chars().count() <= MAX_OVERVIEW_CHARS || content.contains(overview) {
        return content.to_owned();
    }
    format!("== Overview ==\n{overview}\n\n{content}")
}

fn short_head(page: &Page) -> String {
    let title = one_line(&page.title, 300);
    let id = code(&one_line(&page.id, 300));
    format!("# {title}\n\n**Type:** {} | **Id:** {id}\n", Kind(page.page_type).name())
}

fn whole_head(page: &Page, namesakes: &[String]) -> String {
    let mut out = short_head(page);
    if !namesakes.is_empty() {
        let namesake_ids = namesakes.iter().take(5).map(|id| code(&one_line(id, 300)));
        let more =
            if namesakes.len() > 5 { format!(" and {} more", namesakes.len() - 5) } else { String::new() };
        out += &format!("**Same title:** {}{more}\n", namesake_ids.collect::<Vec<_>>().join(", "));
    }
    if !page.domains.is_empty() {
        out += &format!("**Domains:** {}\n", one_line(&page.domains.join(", "), 500));
    }
    if let Some(when) = &page.last_updated {
        out += &format!("**Last updated:** {}\n", one_line(when, 100));
    }
    if !page.overview.trim().is_empty() {
        out += &format!("\n## Overview\n\n{}", quoted(&shorten(page.overview.trim(), MAX_OVERVIEW_CHARS)));
    }
    out
}

/// Returns the line with the range of this piece and the call for the next one.
fn range(used: &str, id: &str, from: usize, to: usize, all: usize) -> String {
    let mut out = format!("Characters {from} to {to} of {all}");
    if to == all {
        out += ", the end";
    } else if let Some(pointer) = pointer(used, id) {
        out += &format!(". Next: {pointer}, offset {to}");
    }
    out + "\n\n"
}

/// Tools that read a page, each with its argument for the page, by preference: kg's also shows links and sources.
const READERS: [(&str, &str); 3] =
    [("get_wiki_page", "page_title"), ("wiki_code_search", "page"), ("wiki_idea_search", "page")];

/// Returns the exposed tool and argument to read a page with, preferably the tool just called (`used`). `None` if the
/// caller has no reader.
pub(crate) fn pointer(used: &str, id: &str) -> Option<String> {
    let mut readers = READERS;
    readers.sort_by_key(|(tool, _)| *tool != used);
    let exposed = |(tool, argument)| Some((context::exposed_name(tool)?, argument));
    let (tool, argument) = readers.into_iter().find_map(exposed)?;
    Some(format!("{} with {argument} {}", code(&tool), code(&one_line(id, 300))))
}

fn lists(page: &Page) -> Result<String, Fault> {
    let sources: Vec<String> = page.sources.iter().map(source_line).collect();
    let related: Vec<String> =
        page.neighbours.iter().map(|n| related_line(&n.edge, n.outgoing, &n.id)).collect();
    for shown in [MAX_LIST_ITEMS, 30, 10, 3] {
        let lists = list("Sources", &sources, shown) + &list("Related pages", &related, shown);
        if text::count(&lists)? <= MAX_LISTS_TOKENS {
            return Ok(lists);
        }
    }
    Ok(list("Sources", &sources, 0) + &list("Related pages", &related, 0))
}

fn list(heading: &str, lines: &[String], shown: usize) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let mut out =
        format!("\n## {heading}\n\n{}", lines.iter().take(shown).map(String::as_str).collect::<String>());
    if lines.len() > shown {
        out += &format!("- … and {} more\n", lines.len() - shown);
    }
    out
}

fn source_line(source: &Source) -> String {
    let [kind, title, url] = [&source.kind, &source.title, &source.url].map(|text| one_line(text, 500));
    if url.is_empty() { format!("- {kind}: {title}\n") } else { format!("- {kind}: {title} <{url}>\n") }
}

/// Returns the bytes of the longest prefix of at most `room` tokens, shortened to a line end if one is near.
fn fitting(text: &str, room: u32) -> Result<usize, Fault> {
    // A token has at least one byte.
    let (mut low, mut high) = (text.floor_char_boundary(room as usize), text.len());
    if low == text.len() {
        return Ok(low);
    }
    // English averages about four bytes per token.
    let mut at = text.floor_char_boundary(low.saturating_mul(4));
    for _ in 0..8 {
        let tokens = text::count(&text[..at])?;
        if tokens <= room {
            low = at
        } else {
            high = at
        }
        // The rest is not worth another count.
        if low == text.len() || (tokens <= room && tokens >= room - room / 20) {
            break;
        }
        let guess = at as f64 * f64::from(room) / f64::from(tokens.max(1)) * 0.98;
        let guess = text.floor_char_boundary(guess as usize);
        at = if (low + 1..high).contains(&guess) || guess >= text.len() && high == text.len() {
            guess
        } else {
            text.floor_char_boundary(low + (high - low) / 2)
        };
        if at <= low {
            break;
        }
    }
    if low == text.len() {
        return Ok(low);
    }
    let line = text[..low].rfind('\n').map(|at| at + 1).filter(|end| end * 5 >= low * 4);
    Ok(line.unwrap_or(low))
}
