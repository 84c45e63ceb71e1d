//! Converts PDF to Markdown: the text of each page, with headings by size, lists and tables.

use std::collections::{HashMap, HashSet};

use gatehouse_decode::{closes_fence, fence};
use gatehouse_sdk::ConvertedMarkdown;
use unpdf::{ErrorKind, PageMarkerStyle, ParseOptions, RenderOptions, parse_bytes_with_options, render};

use crate::{
    markdown::{MAX_TEXT, TOO_LONG, push_place},
    package::BROKEN,
};

/// Level of the heading of a page.
const PAGE_LEVEL: usize = 2;

const MAX_LEVEL: usize = 6;

/// A heading on so many pages is at the top or bottom of each.
const RUNNING_HEAD_PAGES: usize = 3;

pub(crate) fn markdown(bytes: &[u8]) -> Result<ConvertedMarkdown, &'static str> {
    let options = ParseOptions::new().lenient().sequential().with_resources(false);
    let document = parse_bytes_with_options(bytes, options).map_err(|error| match error.kind() {
        ErrorKind::Encrypted | ErrorKind::InvalidPassword => "is protected by a password",
        _ => BROKEN,
    })?;
    let options = RenderOptions::new().with_page_markers(PageMarkerStyle::Comment);
    let rendered = render::to_markdown(&document, &options).map_err(|_| BROKEN)?;
    if rendered.len() > MAX_TEXT {
        return Err(TOO_LONG);
    }
    let pages = pages(&rendered);
    let running = running_heads(&pages);
    let (mut text, mut section) = (String::new(), String::new());
    let mut without_text = 0;
    for (number, lines) in pages {
        let has_text = |line: &&str| !line.trim().is_empty();
        let Some(start) = lines.iter().position(has_text) else {
            without_text += 1;
            continue;
        };
        let end = lines.iter().rposition(has_text).unwrap_or(start);
        let lines = &lines[start..=end];
        let is_heading = |line: &str| heading(line).is_some_and(|(_, title)| !running.contains(title));
        // Names the section that continues here, so that a passage in the middle of it can be found by its name.
        push_place(&mut text, &format!("Page {number}"), if is_heading(lines[0]) { "" } else { &section });
        let mut open_fence = None;
        for line in lines {
            match open_fence {
                Some(marker) if closes_fence(line, marker) => open_fence = None,
                Some(_) => {}
                None => {
                    open_fence = fence(line);
                    let plain_line = plain(line);
                    let Some((level, title)) = heading(&plain_line).filter(|_| open_fence.is_none()) else {
                        text.push_str(&plain_line);
                        text.push('\n');
                        continue;
                    };
                    if is_heading(line) {
                        section = title.replace("**", "");
                        text.push_str(&"#".repeat((level + PAGE_LEVEL).min(MAX_LEVEL)));
                        text.push(' ');
                    }
                    text.push_str(title);
                    text.push('\n');
                    continue;
                }
            }
            text.push_str(line);
            text.push('\n');
        }
    }
    if text.is_empty() {
        return Err(
            "has no text: its pages are pictures; recognize the text first, for example with OCRmyPDF",
        );
    }
    let pages = if without_text == 1 { "page" } else { "pages" };
    let losses = (without_text > 0).then(|| format!("has {without_text} {pages} without text"));
    Ok(ConvertedMarkdown { text, losses: losses.into_iter().collect() })
}

/// Splits the text at the marks of pages, and returns the lines of each by its number.
fn pages(text: &str) -> Vec<(usize, Vec<&str>)> {
    let mut pages: Vec<(usize, Vec<&str>)> = Vec::new();
    for line in text.lines() {
        let mark = line.strip_prefix("<!-- page ").and_then(|rest| rest.strip_suffix(" -->"));
        match (mark.and_then(|number| number.parse().ok()), pages.last_mut()) {
            (Some(number), _) => pages.push((number, Vec::new())),
            (None, Some((_, lines))) => lines.push(line),
            (None, None) => {}
        }
    }
    pages
}

/// Returns the headings that are the first or last line of pages in a row.
fn running_heads(pages: &[(usize, Vec<&str>)]) -> HashSet<String> {
    let mut seen: HashMap<&str, (usize, usize)> = HashMap::new();
    for (number, lines) in pages {
        let mut lines = lines.iter().filter(|line| !line.trim().is_empty());
        for line in lines.next().into_iter().chain(lines.next_back()) {
            let Some((_, title)) = heading(line) else { continue };
            let (count, last) = seen.entry(title).or_insert((0, *number));
            // Left and right pages may have heads of their own.
            *count = if *number - *last <= 2 { *count + 1 } else { 1 };
            *last = *number;
        }
    }
    seen.into_iter()
        .filter(|(_, (count, _))| *count >= RUNNING_HEAD_PAGES)
        .map(|(title, _)| title.to_owned())
        .collect()
}

/// Returns level and title if a line is a heading.
fn heading(line: &str) -> Option<(usize, &str)> {
    let title = line.trim_start_matches('#');
    let level = line.len() - title.len();
    Some((level, title.strip_prefix(' ')?.trim())).filter(|_| level > 0)
}

/// Returns a line without the escapes of characters that read the same in Markdown, and with short rows of dots.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut chars = line.chars().peekable();
    while let Some(c) = chars.next() {
        let is_escape = |next: &char| "\\_*[]<>~".contains(*next) || *next == '|' && !line.starts_with('|');
        match chars.next_if(|next| c == '\\' && is_escape(next)) {
            Some(escaped) => text.push(escaped),
            None => text.push(c),
        }
    }
    // The dots between an entry of a table of contents and its page.
    while text.contains(". . . .") {
        text = text.replace(". . . .", ". . .");
    }
    text
}
