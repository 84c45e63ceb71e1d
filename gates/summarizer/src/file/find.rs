//! Finds a text or a regular expression in a stored result, and shows it with the lines around it.

use std::ops::Range;

use gatehouse_sdk::Fault;
use regex_bites::RegexBuilder;

use super::page::{self, ContentPage};

/// Lines to show before and after a match.
const LINES_AROUND: usize = 2;

/// Characters of a long line to show before and after a match.
const CHARS_AROUND: usize = 150;

const MAX_LINE_CHARS: usize = 400;

/// Maximum matches to show. All are counted.
const MAX_SHOWN: usize = 200;

const MAX_TARGET_BYTES: usize = 1_024;

const MAX_REGEX_BYTES: usize = 1 << 20;

/// Returns the matches of `target`, which is a regular expression if it is between slashes, or else a text in any case.
pub(super) fn find(text: &str, target: &str, offset: u64) -> Result<ContentPage, Fault> {
    let matcher = Matcher::new(target)?;
    let lines: Vec<&str> = text.lines().collect();
    let (mut count, mut hits) = (0, Vec::new());
    for (number, line) in lines.iter().enumerate() {
        let matches = matcher.matches(line);
        count += matches.len();
        if !matches.is_empty() && hits.len() < MAX_SHOWN {
            hits.push((number, matches));
        }
    }
    let excerpts = render(&lines, &hits);
    let of = lines.len();
    let more = if hits.len() == MAX_SHOWN {
        format!(", of which the first {MAX_SHOWN} lines are shown")
    } else {
        String::new()
    };
    let note = match count {
        0 => format!("No match in {of} lines."),
        1 => format!("1 match in {of} lines."),
        _ => format!("{count} matches in {of} lines{more}."),
    };
    Ok(ContentPage { note: Some(note), ..page::characters(&excerpts, offset) })
}

enum Matcher {
    /// In lower case.
    Text(String),
    Regex(regex_bites::Regex),
}

impl Matcher {
    fn new(target: &str) -> Result<Self, Fault> {
        if target.is_empty() || target.len() > MAX_TARGET_BYTES {
            let expected = format!("expected 1 to {MAX_TARGET_BYTES} bytes, got {}", target.len());
            return Err(Fault::invalid(format!("invalid value for `find`: {expected}")));
        }
        let pattern = target.strip_prefix('/').and_then(|rest| rest.strip_suffix('/'));
        match pattern.filter(|pattern| !pattern.is_empty()) {
            None => Ok(Self::Text(target.to_lowercase())),
            Some(pattern) => {
                let regex = RegexBuilder::new(pattern).size_limit(MAX_REGEX_BYTES).build();
                regex.map(Self::Regex).map_err(|error| {
                    Fault::invalid(format!("invalid regular expression in `find`: {error}"))
                        .hint("Look-around and back-references are not supported.")
                })
            }
        }
    }

    fn matches(&self, line: &str) -> Vec<Range<usize>> {
        match self {
            Self::Regex(regex) => regex.find_iter(line).map(|hit| hit.range()).collect(),
            Self::Text(target) if line.is_ascii() => {
                let lower = line.to_ascii_lowercase();
                lower.match_indices(target.as_str()).map(|(at, hit)| at..at + hit.len()).collect()
            }
            Self::Text(target) => matches_in_any_case(line, target),
        }
    }
}

/// Returns the places of a text in lower case, in a line whose lower case can have another length.
fn matches_in_any_case(line: &str, target: &str) -> Vec<Range<usize>> {
    let mut lower = String::with_capacity(line.len());
    // The place in the line of each character in lower case.
    let mut places: Vec<(usize, usize)> = Vec::new();
    for (at, c) in line.char_indices() {
        places.push((lower.len(), at));
        lower.extend(c.to_lowercase());
    }
    let place = |byte: usize| {
        let index = places.partition_point(|(start, _)| *start < byte);
        places.get(index).map_or(line.len(), |(_, at)| *at)
    };
    lower.match_indices(target).map(|(at, text)| place(at)..place(at + text.len())).collect()
}

fn render(lines: &[&str], hits: &[(usize, Vec<Range<usize>>)]) -> String {
    let mut out = String::new();
    let mut next = 0;
    for (index, (number, matches)) in hits.iter().enumerate() {
        let first = number.saturating_sub(LINES_AROUND).max(next);
        if first > next && !out.is_empty() {
            out.push_str("--\n");
        }
        let before_next = hits.get(index + 1).map_or(lines.len(), |(number, _)| *number);
        let end = (number + 1 + LINES_AROUND).min(before_next).max(number + 1);
        for (at, line) in lines.iter().enumerate().take(end).skip(first) {
            let (mark, places) = if at == *number { (':', &matches[..]) } else { ('-', &[][..]) };
            out.push_str(&format!("{}{mark} {}\n", at + 1, excerpt(line, places)));
        }
        next = end;
    }
    out
}

/// Returns a line, or the parts of a long line around the matches.
fn excerpt(line: &str, matches: &[Range<usize>]) -> String {
    if line.len() <= MAX_LINE_CHARS {
        return line.to_owned();
    }
    let mut out = String::new();
    let mut excerpt_end = 0;
    for place in if matches.is_empty() { std::slice::from_ref(&(0..0)) } else { matches } {
        let start = line.floor_char_boundary(place.start.saturating_sub(CHARS_AROUND)).max(excerpt_end);
        let match_end = place.end.min(place.start + MAX_LINE_CHARS);
        let end = line.ceil_char_boundary((match_end + CHARS_AROUND).min(line.len()));
        if end <= excerpt_end {
            continue;
        }
        out.push_str(if start > excerpt_end { "…" } else { "" });
        out.push_str(&line[start..end]);
        excerpt_end = end;
        if out.len() > page::MAX_PAGE_CHARS {
            break;
        }
    }
    out + if excerpt_end < line.len() { "…" } else { "" }
}
