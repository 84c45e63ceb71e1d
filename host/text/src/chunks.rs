//! Cuts text into pieces of about the same number of tokens, at the places a reader would choose:
//! before a heading, between paragraphs, between sentences, and inside a sentence only when there is
//! no other place.

use gatehouse_core::ports::{TokenCounter, text::Encoding};

/// A piece of the text: bytes `start..end`, `tokens` of them by the tokenizer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub(crate) start: usize,
    pub(crate) end: usize,
    pub(crate) tokens: usize,
}

/// Chunks of at most `size` tokens each. Together they are the text, byte for byte.
pub(crate) fn chunks(text: &str, size: usize, counter: &dyn TokenCounter) -> Vec<Chunk> {
    let mut chunks: Vec<Chunk> = Vec::new();
    let mut open = false;
    for piece in pieces(text, size, counter) {
        // Within the piece: a look beyond it would cost the square of a blank text.
        let heading = text[piece.start..piece.end].trim_start().starts_with(['#', '=']);
        match chunks.last_mut() {
            Some(last) if open && !heading && last.tokens + piece.tokens <= size => {
                last.end = piece.end;
                last.tokens += piece.tokens;
            }
            _ => chunks.push(piece),
        }
        open = true;
    }
    chunks
}

/// Lines, cut further where one alone is too long.
fn pieces(text: &str, size: usize, counter: &dyn TokenCounter) -> Vec<Chunk> {
    let mut pieces = Vec::new();
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        split(text, start, start + line.len(), size, counter, &mut pieces);
        start += line.len();
    }
    pieces
}

/// Halves a stretch at the sentence end, else the space, else the character nearest its middle, until
/// every part fits. The depth is bounded by the logarithm of the length.
fn split(
    text: &str,
    start: usize,
    end: usize,
    size: usize,
    counter: &dyn TokenCounter,
    into: &mut Vec<Chunk>,
) {
    let part = &text[start..end];
    if let Some(tokens) = counter.count_up_to(part, size, Encoding::O200k) {
        into.push(Chunk { start, end, tokens });
        return;
    }
    let middle = floor_boundary(part, part.len() / 2);
    let (left, right) = part.split_at(middle);
    let window = part.len() / 4;
    let sentence = right.match_indices(['.', '!', '?']).map(|(i, m)| middle + i + m.len()).next();
    let space = right.find(char::is_whitespace).map(|i| middle + i);
    let near = |at: &usize| *at < part.len() && at.abs_diff(middle) <= window;
    let cut = sentence.filter(near).or(space.filter(near)).unwrap_or(left.len());
    let cut = if cut == 0 { part.chars().next().map_or(part.len(), char::len_utf8) } else { cut };
    if cut >= part.len() {
        let tokens = counter.count(part, Encoding::O200k);
        into.push(Chunk { start, end, tokens });
        return;
    }
    split(text, start, start + cut, size, counter, into);
    split(text, start + cut, end, size, counter, into);
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tokens;

    #[test]
    fn chunks_are_the_text_and_fit() {
        let text =
            "# One\nA short line. Another one!\n\n".repeat(40) + &"word ".repeat(900) + &"ü".repeat(3000);
        let found = chunks(&text, 120, &Tokens);
        let joined: String = found.iter().map(|c| &text[c.start..c.end]).collect();
        assert_eq!(joined, text);
        assert!(found.iter().all(|c| Tokens.count(&text[c.start..c.end], Encoding::O200k) <= 120));
    }

    #[test]
    fn a_heading_opens_a_chunk() {
        let text = "Intro.\n## Two\nMore.\n";
        let found = chunks(text, 120, &Tokens);
        assert_eq!(found.len(), 2);
        assert!(text[found[1].start..].starts_with("## Two"));
    }
}
