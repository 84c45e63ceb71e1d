//! Splits text into chunks for vector search: at headings and definitions, between paragraphs, and within a paragraph
//! only if it is too large.

use gatehouse_core::ports::documents::{DocumentChunk, LineRange};
use gatehouse_decode::{closes_fence, fence};

use crate::{clean::saturating_u32, headings::Heading, kinds::FileKind};

/// Embedding models accept 256 to 8,192 tokens. A chunk of 200 to 400 usually has one subject.
const TARGET_TOKENS: usize = 300;
const MAX_TOKENS: usize = 400;
/// A heading starts a new chunk only after this many tokens.
const MIN_TOKENS: usize = 100;
/// Code blocks up to this size are not split.
const MAX_FENCED_TOKENS: usize = 800;
/// Longer heading paths are shortened to the last title.
const MAX_HEADING_PATH: usize = 300;

/// Estimates tokens: one per four ASCII characters, and one per other character. An exact count would double the
/// conversion time.
fn estimate_tokens(text: &str) -> usize {
    let beyond = text.bytes().filter(|byte| *byte >= 0xc0).count();
    let continued = text.bytes().filter(|byte| (0x80..0xc0).contains(byte)).count();
    (text.len() - beyond - continued).div_ceil(4) + beyond
}

#[derive(Clone, Copy)]
struct LineBlock {
    start: usize,
    end: usize,
    tokens: usize,
    /// Index of the heading that starts the block.
    heading: Option<usize>,
}

pub(crate) fn chunks(kind: FileKind, text: &str, lines: &[&str], headings: &[Heading]) -> Vec<DocumentChunk> {
    let mut parts: Vec<LineBlock> = Vec::new();
    let mut current: Option<LineBlock> = None;
    let mut under = None;
    for block in blocks(kind, lines, headings) {
        under = block.heading.or(under);
        let limit = if block.tokens > MAX_TOKENS { 0 } else { MAX_TOKENS };
        match &mut current {
            Some(open)
                if open.tokens + block.tokens <= limit
                    && open.tokens < TARGET_TOKENS
                    && (block.heading.is_none() || open.tokens < MIN_TOKENS) =>
            {
                open.end = block.end;
                open.tokens += block.tokens;
            }
            _ => {
                parts.extend(current.take());
                current = Some(LineBlock { heading: under, ..block });
            }
        }
    }
    parts.extend(current);
    to_chunks(text, &parts, headings)
}

fn blocks(kind: FileKind, lines: &[&str], headings: &[Heading]) -> Vec<LineBlock> {
    let fenced = matches!(kind, FileKind::Markdown | FileKind::Converted);
    let mut blocks = Vec::new();
    let (mut at, mut start, mut next, mut opened) = (0, 0, 0, None);
    let mut fence_open = None;
    let mut first = 0;
    let mut close =
        |start: &mut usize, end: usize, first: &mut usize, after: usize, opened: &mut Option<usize>| {
            if end > *start {
                push(&mut blocks, &lines[*first..after], *start, opened.take());
            }
            *start = end;
            *first = after;
        };
    for (index, line) in lines.iter().enumerate() {
        let heading = headings.get(next).filter(|heading| heading.line == index);
        if fence_open.is_none() && heading.is_some() {
            close(&mut start, at, &mut first, index, &mut opened);
        }
        if heading.is_some() {
            opened = Some(next);
            next += 1;
        }
        match fence_open {
            Some(marker) if closes_fence(line, marker) => fence_open = None,
            Some(_) => {}
            None if fenced => {
                fence_open = fence(line);
                if fence_open.is_some() && opened.is_none() {
                    close(&mut start, at, &mut first, index, &mut opened);
                }
            }
            None => {}
        }
        at += line.len();
        let blank = line.trim().is_empty() && lines.get(index + 1).is_none_or(|next| !next.trim().is_empty());
        if fence_open.is_none() && blank {
            close(&mut start, at, &mut first, index + 1, &mut opened);
        }
    }
    close(&mut start, at, &mut first, lines.len(), &mut opened);
    blocks
}

fn push(blocks: &mut Vec<LineBlock>, lines: &[&str], start: usize, heading: Option<usize>) {
    let tokens: usize = lines.iter().map(|line| estimate_tokens(line)).sum();
    let limit = if lines.iter().any(|line| fence(line).is_some()) { MAX_FENCED_TOKENS } else { MAX_TOKENS };
    if tokens <= limit {
        let end = start + lines.iter().map(|line| line.len()).sum::<usize>();
        blocks.push(LineBlock { start, end, tokens, heading });
        return;
    }
    let (mut at, mut heading) = (start, heading);
    for line in lines {
        for piece in pieces(line) {
            let end = at + piece.len();
            let tokens = estimate_tokens(piece);
            blocks.push(LineBlock { start: at, end, tokens, heading: heading.take() });
            at = end;
        }
    }
}

/// Splits a line after a sentence if possible, else at a space, else anywhere.
fn pieces(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let whole = rest.len() <= MAX_TOKENS * 4 && estimate_tokens(rest) <= MAX_TOKENS;
        let end = if whole { rest.len() } else { split_point(rest) };
        let (piece, after) = rest.split_at(end);
        rest = after;
        Some(piece)
    })
}

fn split_point(text: &str) -> usize {
    let mut tokens = 0;
    let mut quarter = 0;
    let (mut sentence, mut space) = (0, 0);
    let mut chars = text.char_indices().peekable();
    while let Some((at, c)) = chars.next() {
        let count = if c.is_ascii() { &mut quarter } else { &mut tokens };
        *count += 1;
        let so_far = tokens + quarter / 4;
        if so_far > MAX_TOKENS {
            let half = at / 2;
            return [sentence, space].into_iter().find(|end| *end > half).unwrap_or(at).max(1);
        }
        let after = at + c.len_utf8();
        let before_space = chars.peek().is_some_and(|(_, next)| next.is_whitespace());
        if matches!(c, '.' | '!' | '?') && before_space || matches!(c, '。' | '！' | '？') {
            sentence = after;
        } else if c.is_whitespace() {
            space = after;
        }
    }
    text.len()
}

fn to_chunks(text: &str, parts: &[LineBlock], headings: &[Heading]) -> Vec<DocumentChunk> {
    let breaks = |text: &str| text.bytes().filter(|byte| *byte == b'\n').count();
    let mut line = 1_usize;
    let mut path: Vec<usize> = Vec::new();
    let mut next_heading = 0;
    let chunks = parts.iter().map(|part| {
        while part.heading.is_some_and(|heading| next_heading <= heading) {
            while path.last().is_some_and(|outer| headings[*outer].level >= headings[next_heading].level) {
                path.pop();
            }
            path.push(next_heading);
            next_heading += 1;
        }
        let inner = &text[part.start..part.end];
        let first = line;
        line += breaks(inner);
        let last = if inner.ends_with('\n') { (line - 1).max(first) } else { line };
        let titles: Vec<_> = path.iter().map(|heading| headings[*heading].title.as_str()).collect();
        let mut heading = titles.join(" > ");
        if heading.len() > MAX_HEADING_PATH {
            heading = titles.last().copied().unwrap_or_default().to_owned();
        }
        let lines = LineRange { first: saturating_u32(first), last: saturating_u32(last) };
        DocumentChunk { start: part.start, end: part.end, lines, heading }
    });
    chunks.filter(|chunk| !text[chunk.start..chunk.end].trim().is_empty()).collect()
}

#[cfg(test)]
mod tests;
