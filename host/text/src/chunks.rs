//! Splits text into chunks with a token limit: at headings and around code blocks and tables, then between lines, then
//! between sentences, and inside a sentence only if necessary. A block within its limit stays whole.

use crate::{
    layout::{SpanKind, TextLayout, TextSpan},
    tokens::{count, count_up_to},
};

/// A piece of the text: bytes `start..end`, which are `tokens` tokens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) tokens: usize,
    pub(crate) kind: SpanKind,
    /// The bounds of the [`TextSpan`] it was cut from.
    pub(crate) span: (usize, usize),
    /// Index of its heading. A heading's own section is itself.
    pub(crate) section: Option<usize>,
    /// Zero-based line and column, in characters, of its start.
    pub(crate) line: usize,
    pub(crate) column: usize,
}

#[derive(Debug, Clone, Copy)]
pub(crate) struct ChunkSizes {
    pub(crate) prose: usize,
    /// Maximum for a code block or table. A longer one is cut between lines.
    pub(crate) block: usize,
}

/// Splits a text into chunks that, joined, are the text byte for byte.
pub(crate) fn chunks(text: &str, layout: &TextLayout, sizes: ChunkSizes) -> Vec<Chunk> {
    let mut cutter = ChunkBuilder { text, size: sizes.prose, chunks: Vec::new() };
    for span in &layout.spans {
        match span.kind {
            SpanKind::Prose => cutter.lines(span),
            SpanKind::Heading => {
                cutter.push(span.start, span.end, count(&text[span.start..span.end]), span);
            }
            SpanKind::Code | SpanKind::Table => match count_up_to(&text[span.start..span.end], sizes.block) {
                Some(tokens) => cutter.push(span.start, span.end, tokens, span),
                None => cutter.lines(span),
            },
        }
    }
    place(text, &mut cutter.chunks);
    cutter.chunks
}

struct ChunkBuilder<'a> {
    text: &'a str,
    size: usize,
    chunks: Vec<Chunk>,
}

impl ChunkBuilder<'_> {
    fn lines(&mut self, span: &TextSpan) {
        let first = self.chunks.len();
        let mut start = span.start;
        for line in self.text[span.start..span.end].split_inclusive('\n') {
            self.split(start, start + line.len(), first, span);
            start += line.len();
        }
    }

    /// Splits a range until each part fits: at the first sentence end after the middle, else at a space, else at the
    /// middle. The recursion depth is logarithmic in the length.
    fn split(&mut self, start: usize, end: usize, first: usize, span: &TextSpan) {
        let part = &self.text[start..end];
        if let Some(tokens) = count_up_to(part, self.size) {
            let full = self.size;
            match self.chunks[first..].last_mut() {
                Some(last) if last.tokens + tokens <= full => {
                    last.end = end;
                    last.tokens += tokens;
                }
                _ => self.push(start, end, tokens, span),
            }
            return;
        }
        let middle = part.floor_char_boundary(part.len() / 2);
        let (left, right) = part.split_at(middle);
        let window = part.len() / 4;
        let lookahead = &right[..right.floor_char_boundary(window)];
        let sentence = lookahead.find(['.', '!', '?']).map(|i| middle + i + 1);
        let space = lookahead.find(char::is_whitespace).map(|i| middle + i);
        let cut = sentence.or(space).unwrap_or(left.len());
        let cut = if cut == 0 { part.chars().next().map_or(part.len(), char::len_utf8) } else { cut };
        if cut >= part.len() {
            return self.push(start, end, count(part), span);
        }
        self.split(start, start + cut, first, span);
        self.split(start + cut, end, first, span);
    }

    fn push(&mut self, start: usize, end: usize, tokens: usize, span: &TextSpan) {
        let TextSpan { kind, section, .. } = *span;
        let span = (span.start, span.end);
        self.chunks.push(Chunk { start, end, tokens, kind, span, section, line: 0, column: 0 });
    }
}

fn place(text: &str, chunks: &mut [Chunk]) {
    let mut at = (0, 0);
    for chunk in chunks {
        (chunk.line, chunk.column) = at;
        at = advance(at, &text[chunk.start..chunk.end]);
    }
}

/// Returns the position after `text` if it starts at the given line and column.
pub(crate) fn advance((line, column): (usize, usize), text: &str) -> (usize, usize) {
    match text.rfind('\n') {
        Some(last) => {
            let lines = text.bytes().filter(|b| *b == b'\n').count();
            (line + lines, text[last + 1..].chars().count())
        }
        None => (line, column + text.chars().count()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SIZES: ChunkSizes = ChunkSizes { prose: 120, block: 500 };

    fn cut(text: &str) -> Vec<Chunk> {
        chunks(text, &TextLayout::from_text(text), SIZES)
    }

    #[test]
    fn chunks_are_the_text_and_fit() {
        let text =
            "# One\nA short line. Another one!\n\n".repeat(40) + &"word ".repeat(900) + &"ü".repeat(3000);
        let found = cut(&text);
        let joined: String = found.iter().map(|c| &text[c.start..c.end]).collect();
        assert_eq!(joined, text);
        assert!(found.iter().all(|c| count(&text[c.start..c.end]) <= 120));
        let last = found.last().unwrap();
        let before = &text[..last.start];
        assert_eq!(last.line, before.matches('\n').count());
        assert_eq!(last.column, before.rsplit('\n').next().unwrap().chars().count());
    }

    #[test]
    fn headings_and_blocks_stand_alone() {
        let rows = "| a cell | another cell |\n".repeat(20);
        let text = format!("Intro.\n## Two\nMore.\n{rows}```\n{}```\nEnd.\n", "a line of code\n".repeat(200));
        let found = cut(&text);
        let kinds: Vec<_> = found.iter().map(|c| c.kind).collect();
        assert_eq!(kinds[..4], [SpanKind::Prose, SpanKind::Heading, SpanKind::Prose, SpanKind::Table]);
        assert!(found[3].tokens > 120 && found[4].kind == SpanKind::Code && found.len() > 8);
        let parts = found.iter().filter(|c| c.kind == SpanKind::Code);
        assert!(parts.clone().count() > 1 && parts.clone().all(|c| text[..c.end].ends_with('\n')));
    }
}
