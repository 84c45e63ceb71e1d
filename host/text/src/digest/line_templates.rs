//! Templates of lines: a line without its variable words, which are rare or have digits.
//!
//! Words are counted in two tables of fixed size with different hashes, and the smaller count is used (Cormode and
//! Muthukrishnan, "An improved data stream summary", 2005). Memory is constant, and a count is too high only for a word
//! that collides in both tables.

use super::{
    lines::{MAX_LINE_BYTES, numbered},
    timestamp,
};
use crate::fnv::{self, fnv1a};

pub(super) const MAX_TEMPLATE_WORDS: usize = 40;

const MAX_CHANGING_WORDS: usize = 12;

const BUCKETS: usize = 1 << 18;

pub(super) struct WordFrequencies {
    tables: [Vec<u32>; 2],
    /// Minimum frequency of a word in a template.
    least: u32,
}

impl WordFrequencies {
    /// Counts the words. Also returns the number of lines.
    pub(super) fn from_text(text: &str) -> (Self, usize) {
        let mut tables = [vec![0_u32; BUCKETS], vec![0_u32; BUCKETS]];
        let mut lines = 0;
        for (number, line) in numbered(text) {
            lines = number;
            for word in line.split_whitespace().take(MAX_TEMPLATE_WORDS) {
                for (table, bucket) in tables.iter_mut().zip(buckets(word)) {
                    table[bucket] = table[bucket].saturating_add(1);
                }
            }
        }
        let least = u32::try_from(lines / 100).unwrap_or(u32::MAX).clamp(2, 200);
        (Self { tables, least }, lines)
    }

    fn count(&self, word: &str) -> u32 {
        let [a, b] = buckets(word);
        self.tables[0][a].min(self.tables[1][b])
    }

    /// Returns the template of a line without its timestamp, and its variable words. The first word belongs to it if
    /// another line has the same one.
    pub(super) fn template<'a>(&self, line: &'a str) -> (String, Vec<&'a str>) {
        let mut form = String::new();
        let mut changing = Vec::new();
        let line = timestamp::without_timestamp(line);
        let mut words = line.split_whitespace();
        for word in words.by_ref().take(MAX_TEMPLATE_WORDS) {
            let least = if form.is_empty() || form == "…" { 2 } else { self.least };
            if !word.contains(|c: char| c.is_ascii_digit()) && self.count(word) >= least {
                form.push_str(if form.is_empty() { "" } else { " " });
                form.push_str(word);
                continue;
            }
            if changing.len() < MAX_CHANGING_WORDS {
                changing.push(word);
            }
            // Adjacent variable words are one gap, because messages differ in length.
            if !form.ends_with('…') {
                form.push_str(if form.is_empty() { "…" } else { " …" });
            }
        }
        if words.next().is_some() {
            form.push_str(" …");
        }
        form.truncate(form.floor_char_boundary(MAX_LINE_BYTES));
        (form, changing)
    }
}

/// Returns the bucket of a word in each table: FNV-1a, and its bits mixed again (Stafford's variant
/// 13 of MurmurHash3's finalizer). Both are the same on every machine.
fn buckets(word: &str) -> [usize; 2] {
    let hash = fnv1a(fnv::START, word.as_bytes());
    let mixed = (hash ^ (hash >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    [(hash ^ (hash >> 32)) as usize % BUCKETS, (mixed ^ (mixed >> 31)) as usize % BUCKETS]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_changes_is_taken_out() {
        let text = "get a 200\nget b 404\nput c 200\nput d 200\nget e 200 f\n";
        let (frequencies, lines) = WordFrequencies::from_text(text);
        assert_eq!(lines, 5);
        assert_eq!(frequencies.template("get a 200"), ("get …".to_owned(), vec!["a", "200"]));
        assert_eq!(frequencies.template("2026-01-01 put x"), ("put …".to_owned(), vec!["x"]));
        assert_eq!(frequencies.template(""), (String::new(), vec![]));
    }
}
