//! Describes a gap: its bounds, its size and its largest section.

use std::ops::Range;

use super::mark::Gap;
use crate::{
    chunks::{Chunk, advance},
    layout::{SpanKind, TextLayout},
    tokens::count,
};

/// Describes the gap of these bytes. It starts in the first of `chunks`.
pub(super) fn describe<'a>(
    text: &'a str,
    layout: &TextLayout,
    chunks: &[Chunk],
    bytes: Range<usize>,
) -> Gap<'a> {
    let left_out = &text[bytes.clone()];
    // Exclude blank line ends on both sides.
    let blank = left_out.len() - left_out.trim_start().len();
    let lead = if blank == left_out.len() { 0 } else { left_out[..blank].rfind('\n').map_or(0, |at| at + 1) };
    let end = left_out.trim_end().len().max(lead + 1);
    let last = bytes.start + left_out.floor_char_boundary(end - 1);
    let chunks = &chunks[..chunks.partition_point(|chunk| chunk.start < bytes.end)];
    let place = |at: usize| {
        let chunk = &chunks[chunks.partition_point(|chunk| chunk.start <= at).saturating_sub(1)];
        advance((chunk.line, chunk.column), &text[chunk.start..at])
    };
    let rest = text[bytes.start + end..].trim_start_matches([' ', '\t', '\r']);
    let ends_line = rest.is_empty() || rest.starts_with('\n') || left_out[..end].ends_with('\n');
    let (tokens, heading) = contents(text, layout, chunks, &bytes);
    let cut =
        |chunk: &&Chunk, at: usize| chunk.kind != SpanKind::Prose && chunk.span.0 < at && at < chunk.span.1;
    let cuts = chunks.first().filter(|chunk| cut(chunk, bytes.start));
    let cuts = cuts.or(chunks.last().filter(|chunk| cut(chunk, bytes.end))).map(|chunk| chunk.kind);
    Gap { from: place(bytes.start + lead), to: place(last), ends_line, tokens, heading, cuts }
}

fn contents<'a>(
    text: &'a str,
    layout: &TextLayout,
    chunks: &[Chunk],
    bytes: &Range<usize>,
) -> (usize, Option<&'a str>) {
    let mut tokens = 0;
    // Open sections with the tokens before each, and the largest section that has ended.
    let mut open: Vec<(usize, usize)> = Vec::new();
    let mut largest = (0, None);
    let mut ended = |(heading, before): (usize, usize), tokens: usize| {
        if tokens - before > largest.0 {
            largest = (tokens - before, Some(heading));
        }
    };
    for chunk in chunks {
        let (start, end) = (chunk.start.max(bytes.start), chunk.end.min(bytes.end));
        let whole = (start, end) == (chunk.start, chunk.end);
        if let Some(heading) = chunk.section.filter(|_| chunk.kind == SpanKind::Heading && whole) {
            let level = layout.headings[heading].level;
            while let Some(section) = open.pop_if(|(open, _)| layout.headings[*open].level >= level) {
                ended(section, tokens);
            }
            open.push((heading, tokens));
        }
        tokens += if whole { chunk.tokens } else { count(&text[start..end]) };
    }
    open.into_iter().rev().for_each(|section| ended(section, tokens));
    let heading = largest.1.map(|heading: usize| layout.headings[heading]);
    (tokens, heading.map(|heading| &text[heading.start..heading.end]))
}
