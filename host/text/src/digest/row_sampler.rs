//! Decides which rows of a very large document to read, so that memory stays bounded.
//!
//! The first rows of each list are read, then an even sample and those that differ: a text that is new in a column of few
//! texts, a number beyond all others, a new key, or a word of the query. Counts in a digest are then about the rows that
//! were read, which it says.

use std::{collections::HashMap, ops::Range};

use super::measure;
use crate::fnv::{self, fnv1a};

/// Maximum nodes of a document that is read whole, about 110 MB.
pub(super) const MAX_NODES: usize = 4_000_000;

/// Nodes to read of a larger one by the even sample alone.
const SAMPLED_NODES: usize = 2_000_000;

/// First rows of each list, which are all read.
const FIRST_ROWS: usize = 1_000;

/// Maximum different texts and new extremes in a column. A column with more has no outliers.
const MAX_TEXTS: usize = 64;
const MAX_EXTREMES: u32 = 200;

const MAX_COLUMNS: usize = 4_096;
const MAX_TEXT_BYTES: usize = 200;

/// Maximum rows that are read for a word of the query.
const MAX_MATCHES: usize = 4_000;

/// Minimum length of a word of the query. Shorter ones are in most rows, unless they have a digit.
const MIN_WORD_BYTES: usize = 5;

#[derive(Default)]
pub(super) struct RowSampler {
    /// Number of rows of which one is read.
    step: usize,
    columns: HashMap<u64, ColumnMemory>,
    words: Vec<String>,
    matches: usize,
    /// The number of bytes searched for the words, and where the last word in them starts.
    searched: usize,
    last_match: Option<usize>,
    /// The last node with an unusual value.
    unusual: Option<usize>,
    /// Rows that were not read.
    pub(super) left_out: usize,
}

#[derive(Default)]
struct ColumnMemory {
    texts: Vec<u64>,
    range: Option<(f64, f64)>,
    /// New smallest and new largest numbers.
    extremes: [u32; 2],
}

impl RowSampler {
    /// Creates a sampler for a document of about `nodes`.
    pub(super) fn new(nodes: usize, query: &str) -> Self {
        let telling =
            |word: &&str| word.len() >= MIN_WORD_BYTES || word.contains(|c: char| c.is_ascii_digit());
        let words = query.split(|c: char| c.is_whitespace() || c == '"' || c == '?' || c == ',');
        Self {
            step: nodes.div_ceil(SAMPLED_NODES).max(2),
            words: words.filter(telling).take(8).map(str::to_owned).collect(),
            ..Self::default()
        }
    }

    /// Notes the value of a node, under the hash of its column.
    pub(super) fn note(&mut self, column: u64, text: &str, node: usize) {
        let full = self.columns.len() >= MAX_COLUMNS;
        let memory = match self.columns.get_mut(&column) {
            Some(memory) => memory,
            None if full => return,
            None => {
                self.unusual = Some(node);
                self.columns.entry(column).or_default()
            }
        };
        if let Some(number) = measure::number(text) {
            let (least, most) = memory.range.unwrap_or((f64::INFINITY, f64::NEG_INFINITY));
            // Rising numbers exceed all others in every row, but seldom by as much as all others differ.
            let width = most - least;
            let far = number > most + width || number < least - width;
            if number < least || number > most {
                memory.range = Some((least.min(number), most.max(number)));
                let extremes = &mut memory.extremes[usize::from(number > most)];
                *extremes = extremes.saturating_add(1);
                if far || *extremes < MAX_EXTREMES {
                    self.unusual = Some(node);
                }
            }
        } else if memory.texts.len() < MAX_TEXTS {
            let hash = hash(0, &text.as_bytes()[..text.len().min(MAX_TEXT_BYTES)]);
            if !memory.texts.contains(&hash) {
                memory.texts.push(hash);
                self.unusual = Some(node);
            }
        }
    }

    /// Returns whether to read a row that has ended: its index, its first node and its place in the text. It has all
    /// later nodes. Rows may contain each other, and each ends after those before it.
    pub(super) fn keeps(&mut self, index: usize, first: usize, text: &[u8], row: Range<usize>) -> bool {
        let unusual = self.unusual.is_some_and(|node| node >= first);
        if index < FIRST_ROWS || unusual || is_sampled(index, self.step) {
            return true;
        }
        if self.matches < MAX_MATCHES {
            self.search(&text[..row.end]);
            if self.last_match.is_some_and(|at| at >= row.start) {
                self.matches += 1;
                return true;
            }
        }
        self.left_out += 1;
        false
    }

    /// Searches a text for the words, from where the last search ended, so that nested rows are searched once.
    fn search(&mut self, text: &[u8]) {
        for word in &self.words {
            let from = self.searched.saturating_sub(word.len() - 1);
            let last = text[from..].windows(word.len()).rposition(|part| part == word.as_bytes());
            self.last_match = self.last_match.max(last.map(|at| from + at));
        }
        self.searched = text.len();
    }

    /// Returns a sentence about the rows that were not read, or nothing.
    pub(super) fn note_text(&self) -> Option<String> {
        let Self { left_out, step, .. } = self;
        (*left_out > 0).then(|| {
            format!(
                "The document is large: {left_out} rows were not read, so counts and ranges are about the others: the first \
                 {FIRST_ROWS} of each list, one of {step} further ones, and those with unusual values"
            )
        })
    }
}

/// Returns whether a row is in the sample. By its hash, because rows often repeat in steps of two or ten.
fn is_sampled(index: usize, step: usize) -> bool {
    (hash(0, &index.to_le_bytes()) >> 20).is_multiple_of(step as u64)
}

/// Returns the hash of the bytes, continued from a hash or 0.
pub(super) fn hash(before: u64, bytes: &[u8]) -> u64 {
    fnv1a(before ^ fnv::START, bytes)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    #[test]
    fn unusual_rows_are_read() {
        let mut sampler = RowSampler::new(40_000_000, "what about order-77123 now");
        let (mut kept, mut text) = (Vec::new(), String::new());
        for row in 0..100_000 {
            let state = if row == 51_111 { "quarantined" } else { ["open", "paid"][row % 2] };
            sampler.note(1, state, row);
            sampler.note(2, &(row % 997 * if row == 60_007 { 100_000 } else { 1 }).to_string(), row);
            sampler.note(3, &format!("free text {row}"), row);
            if row == 70_001 {
                sampler.note(4, "x", row);
            }
            let start = text.len();
            let _ = write!(text, "order-{row} {state}");
            if sampler.keeps(row, row, text.as_bytes(), start..text.len()) {
                kept.push(row);
            }
        }
        for row in [0, 999, 51_111, 60_007, 70_001, 77_123] {
            assert!(kept.contains(&row), "{row}");
        }
        assert!(kept.len() < 7_000 && kept.len() + sampler.left_out == 100_000, "{}", kept.len());
        assert!(kept.len() > 5_000 && sampler.note_text().unwrap().contains("one of 20 further ones"));
    }

    #[test]
    fn a_word_in_a_nested_row_is_in_those_around_it() {
        let text = b"order-1 [a order-77123 b] order-2";
        let mut sampler = RowSampler::new(usize::MAX, "order-77123");
        // None of these is in the even sample.
        let mut keeps = |row| sampler.keeps(FIRST_ROWS, 0, text, row);
        let found = [0..7, 9..10, 11..17, 11..22, 23..24, 8..25, 26..33, 0..33].map(&mut keeps);
        assert_eq!(found, [false, false, false, true, false, true, false, true]);
    }

    #[test]
    fn nested_rows_are_searched_once() {
        let text = vec![b'['; 2_000_000];
        let mut sampler = RowSampler::new(usize::MAX, "order-77123");
        for end in text.len() / 2..text.len() {
            assert!(!sampler.keeps(FIRST_ROWS, 0, &text, text.len() - end..end));
        }
        assert_eq!(sampler.left_out, text.len() / 2);
    }
}
