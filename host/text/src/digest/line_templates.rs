//! The forms of lines: what is left when the words that change are taken out, those with digits and those that are rare.
//!
//! How often words occur is counted in two tables of fixed size, each with a hash of its own, and the smaller count
//! holds (Cormode and Muthukrishnan, "An improved data stream summary", 2005): memory stays the same however many words
//! there are, and only a word that meets a frequent one in both tables looks more frequent than it is.

use super::{
    lines::{MAX_LINE_BYTES, numbered},
    timestamp,
};

/// Words of a line that make its form.
pub(super) const MAX_TEMPLATE_WORDS: usize = 40;

/// Words that change which are given with a form.
const MAX_CHANGING_WORDS: usize = 12;

const BUCKETS: usize = 1 << 18;

/// How often words occur.
pub(super) struct WordFrequencies {
    tables: [Vec<u32>; 2],
    /// What is less frequent changes.
    least: u32,
}

impl WordFrequencies {
    /// And how many lines there are.
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

    /// The form of a line without its time, and the words that are not part of it. The first word is part of it where
    /// another line begins so.
    pub(super) fn template<'a>(&self, line: &'a str) -> (String, Vec<&'a str>) {
        let mut form = String::new();
        let mut changing = Vec::new();
        let line = timestamp::find(line).map_or(line, |stamp| stamp.rest);
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
            // What changes side by side is one gap: messages differ in length.
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

/// The bucket of a word in each table: FNV-1a (Fowler, Noll, Vo), the same on every machine, and its bits mixed again
/// (Stafford's variant 13 of the finaliser of MurmurHash3).
fn buckets(word: &str) -> [usize; 2] {
    let hash = word.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
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
