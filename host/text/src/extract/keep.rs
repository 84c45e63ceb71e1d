//! Which chunks fit a budget, and how what is kept is printed.

use gatehouse_core::ports::{TokenCounter, text::Encoding};

use crate::{Tokens, chunks::Chunk};

/// What the mark of a gap costs at most: `[… 1234567 tokens omitted]` on a line of its own.
const GAP: usize = 12;

/// Hundredths of the budget that may stay unused.
const SLACK: usize = 2;

/// Chunks in part that more is added to, at most.
const FILLED: usize = 4;

/// Times that a selection is counted and filled up. Each nearly closes what is left.
const ROUNDS: usize = 12;

/// How much of a chunk is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    None,
    Whole,
    /// The first bytes.
    Head(usize),
    /// The bytes from here on.
    Tail(usize),
}

/// A selection of a text's chunks.
pub(super) struct Selection<'a> {
    text: &'a str,
    chunks: &'a [Chunk],
    parts: Vec<Part>,
    /// Chunks by rank, the best first.
    order: Vec<usize>,
}

impl<'a> Selection<'a> {
    /// Takes chunks by their rank while they fit, and fills the rest with a part of the next one: at least
    /// 95 % of the budget is used where the text is longer. Gives the text and its tokens.
    pub(super) fn fitting(
        text: &'a str,
        chunks: &'a [Chunk],
        ranks: &[f64],
        budget: usize,
    ) -> (String, usize) {
        let mut order: Vec<usize> = (0..chunks.len()).collect();
        // A stable sort: equal ranks keep the order of the document.
        order.sort_by(|a, b| ranks[*b].total_cmp(&ranks[*a]));
        let parts = vec![Part::None; chunks.len()];
        let mut selection = Self { text, chunks, parts, order };
        selection.take(budget.saturating_sub(GAP));
        let mut best = (String::new(), 0);
        // What counts of parts were short of the count of the whole.
        let mut margin = 0;
        for _ in 0..ROUNDS {
            let (out, tokens) = selection.print();
            if tokens > budget {
                margin += tokens - budget;
                selection.shed(tokens - budget);
                continue;
            }
            if tokens > best.1 {
                best = (out, tokens);
            }
            let left = (budget - tokens).saturating_sub(margin);
            // Blank text costs less in one piece than in many, so more of it fits than its parts say.
            let more = left * selection.estimate().max(tokens) / tokens.max(1);
            if left * 100 <= budget * SLACK || !(selection.take(more) || selection.fill(left)) {
                break;
            }
        }
        while best.0.is_empty() && selection.drop_last() {
            let (out, tokens) = selection.print();
            if tokens <= budget {
                best = (out, tokens);
            }
        }
        best
    }

    /// What the whole chunks would cost one by one.
    fn estimate(&self) -> usize {
        let whole = self.chunks.iter().zip(&self.parts).filter(|(_, part)| **part == Part::Whole);
        whole.map(|(chunk, _)| chunk.tokens).sum()
    }

    fn kept(&self, index: Option<usize>) -> Part {
        index.and_then(|i| self.parts.get(i)).copied().unwrap_or(Part::None)
    }

    /// Whether the end of the chunk before, and the beginning of the one after, are kept.
    fn touches(&self, index: usize) -> (bool, bool) {
        let before = matches!(self.kept(index.checked_sub(1)), Part::Whole | Part::Tail(_));
        let after = matches!(self.kept(Some(index + 1)), Part::Whole | Part::Head(_));
        (before, after)
    }

    /// Takes whole chunks of at most `tokens` in all; whether any was taken.
    fn take(&mut self, tokens: usize) -> bool {
        let mut left = tokens;
        for at in 0..self.order.len() {
            let index = self.order[at];
            // A chunk that touches no kept one costs a mark of its own.
            let marks = if self.touches(index) == (false, false) { GAP } else { 0 };
            if self.parts[index] == Part::None && self.chunks[index].tokens + marks <= left {
                self.parts[index] = Part::Whole;
                left -= self.chunks[index].tokens + marks;
            }
        }
        left < tokens
    }

    /// Adds more of a chunk that is there in part, or a part of another; whether anything was added.
    fn fill(&mut self, left: usize) -> bool {
        let in_part = |i: &usize| matches!(self.parts[*i], Part::Head(_) | Part::Tail(_));
        let free = || self.order.iter().copied().filter(|i| self.parts[*i] == Part::None);
        // Beside a kept one no mark is needed.
        let beside = free().find(|i| self.touches(*i) != (false, false));
        let begun = (0..self.parts.len()).filter(in_part).take(FILLED);
        let candidates: Vec<usize> = begun.chain(beside).chain(free().take(1)).collect();
        candidates.into_iter().any(|index| self.fill_one(index, left))
    }

    fn fill_one(&mut self, index: usize, left: usize) -> bool {
        let whole = self.piece(index);
        let (had, from_end) = match self.parts[index] {
            Part::Head(bytes) => (count(&whole[..bytes]), false),
            Part::Tail(from) => (count(&whole[from..]), true),
            _ => (0, self.touches(index) == (false, true)),
        };
        let marks = if had == 0 && self.touches(index) == (false, false) { GAP } else { 1 };
        let Some(room) = (had + left).checked_sub(marks).filter(|room| *room > had) else { return false };
        let part = match if from_end { tail(whole, room) } else { head(whole, room) } {
            Part::Head(0) => Part::None,
            Part::Head(bytes) if bytes == whole.len() => Part::Whole,
            Part::Tail(0) => Part::Whole,
            Part::Tail(from) if from == whole.len() => Part::None,
            part => part,
        };
        let changed = part != self.parts[index] && part != Part::None;
        if changed {
            self.parts[index] = part;
        }
        changed
    }

    /// Takes back about `tokens`: first the part of a chunk, then the weakest chunks.
    fn shed(&mut self, tokens: usize) {
        if let Some(part) = self.parts.iter_mut().find(|p| matches!(p, Part::Head(_) | Part::Tail(_))) {
            *part = Part::None;
            return;
        }
        let mut over = tokens;
        for index in self.order.iter().rev() {
            if over > 0 && self.parts[*index] == Part::Whole {
                self.parts[*index] = Part::None;
                over = over.saturating_sub(self.chunks[*index].tokens);
            }
        }
    }

    fn drop_last(&mut self) -> bool {
        let weakest = self.order.iter().rev().find(|index| self.parts[**index] != Part::None);
        weakest.map(|index| self.parts[*index] = Part::None).is_some()
    }

    fn piece(&self, index: usize) -> &'a str {
        &self.text[self.chunks[index].start..self.chunks[index].end]
    }

    /// What is kept in the order of the document, with a mark for each gap.
    fn print(&self) -> (String, usize) {
        let mut out = String::new();
        let mut omitted = 0;
        let gap = |out: &mut String, omitted: &mut usize| {
            if *omitted > 0 {
                let break_before = if out.is_empty() || out.ends_with('\n') { "" } else { "\n" };
                out.push_str(&format!("{break_before}[… {omitted} tokens omitted]\n"));
            }
            *omitted = 0;
        };
        for (index, (chunk, part)) in self.chunks.iter().zip(&self.parts).enumerate() {
            let piece = self.piece(index);
            match *part {
                Part::None => omitted += chunk.tokens,
                Part::Whole => {
                    gap(&mut out, &mut omitted);
                    out.push_str(piece);
                }
                Part::Head(bytes) => {
                    gap(&mut out, &mut omitted);
                    out.push_str(&piece[..bytes]);
                    omitted += count(&piece[bytes..]);
                }
                Part::Tail(from) => {
                    omitted += count(&piece[..from]);
                    gap(&mut out, &mut omitted);
                    out.push_str(&piece[from..]);
                }
            }
        }
        gap(&mut out, &mut omitted);
        let tokens = count(&out);
        (out, tokens)
    }
}

fn count(text: &str) -> usize {
    Tokens.count(text, Encoding::O200k)
}

/// The longest beginning of at most `tokens`, to the end of a word where that costs little.
fn head(text: &str, tokens: usize) -> Part {
    let fits = |end: usize| Tokens.count_up_to(&text[..end], tokens, Encoding::O200k).is_some();
    let end = longest(text.len(), |bytes| fits(text.floor_char_boundary(bytes)));
    let end = text.floor_char_boundary(end);
    if text[end..].starts_with(char::is_whitespace) {
        return Part::Head(end);
    }
    let word = text[..end].rfind(char::is_whitespace).filter(|at| end < text.len() && end - at <= WORD);
    Part::Head(word.unwrap_or(end))
}

/// The longest end of at most `tokens`, from the beginning of a word where that costs little.
fn tail(text: &str, tokens: usize) -> Part {
    let fits = |from: usize| Tokens.count_up_to(&text[from..], tokens, Encoding::O200k).is_some();
    let bytes = longest(text.len(), |bytes| fits(text.ceil_char_boundary(text.len() - bytes)));
    let from = text.ceil_char_boundary(text.len() - bytes);
    let word = text[from..].find(char::is_whitespace).filter(|at| from > 0 && *at <= WORD);
    Part::Tail(from + word.unwrap_or(0))
}

/// Bytes that are given up so that no word is cut.
const WORD: usize = 10;

/// The most of `0..=most` that `fits`, by halving; more never fits where less does not.
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
    fn parts_end_at_words_and_fit() {
        let text = "One two three four five six seven eight";
        assert_eq!(head(text, 4), Part::Head("One two three four".len()));
        assert_eq!(tail(text, 2), Part::Tail("One two three four five six".len()));
        let cut = head("a\u{1F600}\u{1F600}b", 1);
        assert!(matches!(cut, Part::Head(n) if n <= 1));
    }
}
