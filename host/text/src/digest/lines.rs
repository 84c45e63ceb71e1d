//! What digests of text that is read by lines have in common: how a line is shown, which lines match a query, and counts
//! that cannot grow without bound.

use std::{collections::HashMap, hash::Hash};

use gatehouse_core::search::for_each_term;

/// Bytes of a line that are looked at.
pub(super) const MAX_LINE_BYTES: usize = 2_000;

/// Characters of a line that are shown.
pub(super) const MAX_SHOWN_CHARS: usize = 160;

/// Words of a query that are looked for, and lines that are shown for it.
const MAX_QUERY_WORDS: usize = 16;
const MAX_MATCHES: usize = 24;

/// Words that say how something is asked for, and not what.
const QUERY_STOP_WORDS: [&str; 32] = [
    "a", "an", "and", "are", "at", "by", "did", "do", "does", "for", "from", "has", "have", "how", "in",
    "is", "it", "many", "much", "of", "on", "or", "the", "there", "to", "was", "were", "what", "when",
    "where", "which", "with",
];

/// The lines of a text with their numbers, from 1, each cut to a bounded length.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().zip(1..).map(|(line, number)| (number, head(line)))
}

/// As much of a line as is looked at.
pub(super) fn head(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LINE_BYTES)]
}

/// A line as a reader is shown it: without colours and control characters, single spaces, at most `most` characters.
pub(super) fn shown(line: &str, most: usize) -> String {
    let mut out = String::new();
    let mut letters = head(line).chars().peekable();
    let (mut count, mut blank) = (0, true);
    while let Some(c) = letters.next() {
        if c == '\u{1b}' {
            // A control sequence (ECMA-48): `ESC [`, then parameters, then a letter.
            if letters.next_if_eq(&'[').is_some() {
                while letters.next_if(|c| !c.is_ascii_alphabetic()).is_some() {}
                letters.next();
            }
            continue;
        }
        if c.is_whitespace() || is_hidden(c) {
            blank |= c.is_whitespace() && !out.is_empty();
            continue;
        }
        if count >= most {
            out.push('…');
            return out;
        }
        if blank && !out.is_empty() {
            out.push(' ');
            count += 1;
        }
        blank = false;
        out.push(c);
        count += 1;
    }
    out
}

/// What is not seen, or changes what is.
fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{200B}'..='\u{200F}' | '\u{2028}'..='\u{202E}' | '\u{2066}'..='\u{2069}' | '\u{FEFF}')
}

/// The lines that have most to do with a query, each behind its number, in the order of the text: those that hold its
/// rarest words.
pub(super) fn matching(text: &str, query: &str) -> Vec<String> {
    let wanted = words(query);
    if wanted.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let mut seen = vec![0_u32; wanted.len()];
    let mut lower = String::new();
    let mut lines = 0_u32;
    for (number, line) in numbered(text) {
        lines += 1;
        lower.clear();
        lower.extend(line.chars().flat_map(char::to_lowercase));
        let held = wanted.iter().enumerate().filter(|(_, word)| begins(&lower, word));
        let mask = held.fold(0_u32, |mask, (at, _)| mask | 1 << at);
        if mask == 0 {
            continue;
        }
        seen.iter_mut().enumerate().for_each(|(at, seen)| *seen += (mask >> at) & 1);
        found.push((mask, number, line));
    }
    let weight = |at: usize| f64::from(1 + lines / seen[at].max(1)).ln();
    let score = |mask: u32| (0..wanted.len()).filter(|at| mask >> at & 1 == 1).map(weight).sum::<f64>();
    let best = found.iter().map(|(mask, ..)| score(*mask)).fold(0.0, f64::max);
    found.retain(|(mask, ..)| score(*mask) * 3.0 >= best * 2.0);
    found.sort_by(|a, b| score(b.0).total_cmp(&score(a.0)).then(a.1.cmp(&b.1)));
    found.truncate(MAX_MATCHES);
    found
        .into_iter()
        .map(|(_, number, line)| format!("{number}: {}", shown(line, 2 * MAX_SHOWN_CHARS)))
        .collect()
}

/// The words of a query as they are looked for: what stands between blanks, where that is more than a word, and stems.
fn words(query: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut add = |word: &str| {
        let word = word.to_lowercase();
        if word.len() > 1
            && words.len() < MAX_QUERY_WORDS
            && !QUERY_STOP_WORDS.contains(&word.as_str())
            && !words.contains(&word)
        {
            words.push(word);
        }
    };
    for part in head(query).split_whitespace() {
        let part = part.trim_matches(|c: char| c.is_ascii_punctuation() && !matches!(c, '/' | '_'));
        if part.contains(|c: char| !c.is_alphanumeric()) {
            add(part);
        }
        // A stem in -i stands for a word in -y.
        for_each_term(part, |term| add(term.strip_suffix('i').unwrap_or(term)));
    }
    words
}

/// Whether a word of the text begins so.
fn begins(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric()))
}

/// Counts of what occurs. What is new when it is full is counted together.
pub(super) struct BoundedCounts<K> {
    counts: HashMap<K, usize>,
    most: usize,
    /// Occurrences of what is not told apart.
    pub(super) other: usize,
}

impl<K: Hash + Eq + Ord + Clone> BoundedCounts<K> {
    /// For at most `most` different things.
    pub(super) fn with_limit(most: usize) -> Self {
        Self { counts: HashMap::new(), most, other: 0 }
    }

    pub(super) fn add(&mut self, key: K, times: usize) {
        if self.counts.len() < self.most || self.counts.contains_key(&key) {
            *self.counts.entry(key).or_default() += times;
        } else {
            self.other += times;
        }
    }

    /// How many different things there are; at least that many where it was full.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    /// The most frequent first.
    pub(super) fn most_frequent(&self) -> Vec<(K, usize)> {
        let mut all: Vec<(K, usize)> = self.counts.iter().map(|(key, count)| (key.clone(), *count)).collect();
        all.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| a.cmp(b)));
        all
    }

    /// The most frequent in words: `amd64 570, all 149, 3 others`; shown by `name`.
    pub(super) fn render(&self, most: usize, name: impl Fn(&K) -> String) -> String {
        let all = self.most_frequent();
        let mut parts: Vec<String> =
            all.iter().take(most).map(|(key, n)| format!("{} {n}", name(key))).collect();
        match all.len().saturating_sub(most) {
            0 => {}
            others => parts.push(format!("{others} others")),
        }
        parts.join(", ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_without_what_cannot_be_seen() {
        assert_eq!(shown("\u{1b}[1;31merror\u{1b}[0m:\t a\u{202e}b\u{7} ", 40), "error: ab");
        assert_eq!(shown("abcdef", 3), "abc…");
        assert_eq!(shown("\u{1b}[", 9), "");
    }

    #[test]
    fn lines_with_the_rarest_words_of_a_query_match() {
        let text = "job 1 done\njob 2 done\njob 3 failed: disk full\njob 4 done\n";
        assert_eq!(matching(text, "Which job has failed?"), ["3: job 3 failed: disk full"]);
        assert_eq!(matching(text, "how many are there?"), Vec::<String>::new());
    }

    #[test]
    fn counts_are_bounded() {
        let mut counts = BoundedCounts::with_limit(2);
        for key in ["a", "b", "b", "c", "a", "b"] {
            counts.add(key, 1);
        }
        assert_eq!(
            (counts.render(1, |k| (*k).to_owned()), counts.other, counts.len()),
            ("b 3, 1 others".into(), 1, 2)
        );
    }
}
