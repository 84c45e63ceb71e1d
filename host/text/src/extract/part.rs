//! Parts of a chunk: as much of its start or its end as fits.

use crate::tokens::count_up_to;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkPart {
    None,
    Whole,
    /// This many bytes from the start.
    Head(usize),
    /// The bytes from this offset on.
    Tail(usize),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum CutPoint {
    Lines,
    /// The end of a word, if that drops only a few bytes.
    Words,
}

fn fits(text: &str, tokens: usize) -> bool {
    count_up_to(text, tokens).is_some()
}

/// Returns the longest prefix of at most `tokens`.
pub(super) fn head(text: &str, tokens: usize, cut: CutPoint) -> ChunkPart {
    let end = longest(text.len(), |bytes| fits(&text[..text.floor_char_boundary(bytes)], tokens));
    let end = text.floor_char_boundary(end);
    if cut == CutPoint::Lines {
        let line_end = || text[..end].rfind('\n').map_or(0, |at| at + 1);
        return ChunkPart::Head(if end == text.len() { end } else { line_end() });
    }
    if text[end..].starts_with(char::is_whitespace) {
        return ChunkPart::Head(end);
    }
    let word =
        text[..end].rfind(char::is_whitespace).filter(|at| end < text.len() && end - at <= MAX_DROPPED_BYTES);
    ChunkPart::Head(word.unwrap_or(end))
}

/// Returns the longest suffix of at most `tokens`.
pub(super) fn tail(text: &str, tokens: usize, cut: CutPoint) -> ChunkPart {
    let bytes =
        longest(text.len(), |bytes| fits(&text[text.ceil_char_boundary(text.len() - bytes)..], tokens));
    let from = text.ceil_char_boundary(text.len() - bytes);
    if cut == CutPoint::Lines {
        let line_start = || text[from..].find('\n').map_or(text.len(), |at| from + at + 1);
        return ChunkPart::Tail(if from == 0 { 0 } else { line_start() });
    }
    let word = text[from..].find(char::is_whitespace).filter(|at| from > 0 && *at <= MAX_DROPPED_BYTES);
    ChunkPart::Tail(from + word.unwrap_or(0))
}

const MAX_DROPPED_BYTES: usize = 10;

/// Returns the largest value in `0..=most` that `fits`, by binary search. If a value fits, all smaller ones must fit.
fn longest(most: usize, fits: impl Fn(usize) -> bool) -> usize {
    let (mut low, mut high) = (0, most);
    while low < high {
        let middle = (low + high).div_ceil(2);
        if fits(middle) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_end_at_words_or_lines_and_fit() {
        let text = "One two three four five six seven eight";
        assert_eq!(head(text, 4, CutPoint::Words), ChunkPart::Head("One two three four".len()));
        assert_eq!(tail(text, 2, CutPoint::Words), ChunkPart::Tail("One two three four five six".len()));
        let cut = head("a\u{1F600}\u{1F600}b", 1, CutPoint::Words);
        assert!(matches!(cut, ChunkPart::Head(n) if n <= 1));
        assert_eq!(head("one\ntwo\nthree", 3, CutPoint::Lines), ChunkPart::Head(4));
        assert_eq!(tail("one\ntwo\nthree", 2, CutPoint::Lines), ChunkPart::Tail(8));
        assert_eq!(head("one two three", 2, CutPoint::Lines), ChunkPart::Head(0));
    }
}
