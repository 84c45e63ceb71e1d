//! Shared parts of line-based digests: line formatting, query matches and bounded counts.

use std::{collections::HashMap, hash::Hash};

use gatehouse_core::{hidden_chars, search::for_each_term};

pub(super) const MAX_LINE_BYTES: usize = 2_000;

pub(super) const MAX_SHOWN_CHARS: usize = 160;

const MAX_QUERY_WORDS: usize = 16;
const MAX_MATCHES: usize = 24;

const QUERY_STOP_WORDS: [&str; 32] = [
    "a", "an", "and", "are", "at", "by", "did", "do", "does", "for", "from", "has", "have", "how", "in",
    "is", "it", "many", "much", "of", "on", "or", "the", "there", "to", "was", "were", "what", "when",
    "where", "which", "with",
];

/// Returns the lines with their numbers, from 1, each with a limited length.
pub(super) fn numbered(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().zip(1..).map(|(line, number)| (number, head(line)))
}

pub(super) fn head(line: &str) -> &str {
    &line[..line.floor_char_boundary(MAX_LINE_BYTES)]
}

/// Formats a line with at most `most` characters, without colors and control characters, and with single spaces.
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
        if c.is_whitespace() || c.is_control() || hidden_chars::is_hidden(c) {
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

/// Joins texts, with a separator between them.
pub(super) fn join(texts: impl Iterator<Item = String>, separator: &str) -> String {
    texts.collect::<Vec<_>>().join(separator)
}

/// Joins short texts into lines of about `max_bytes`, each with the prefix.
pub(super) fn pack_lines(
    prefix: &str,
    texts: impl IntoIterator<Item = String>,
    separator: &str,
    max_bytes: usize,
) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for text in texts {
        match lines.last_mut() {
            Some(line) if line.len() + text.len() < max_bytes => {
                line.push_str(separator);
                line.push_str(&text);
            }
            _ => lines.push(format!("{prefix}{text}")),
        }
    }
    lines
}

/// Returns the lines that contain the rarest words of the query, best first, each with its number.
pub(super) fn matching(text: &str, query: &str) -> Vec<String> {
    let query_words = words(query);
    if query_words.is_empty() {
        return Vec::new();
    }
    let LinesByWords { found: groups, seen, lines } = lines_by_words(text, &query_words);
    let weight = |at: usize| f64::from(1 + lines / seen[at].max(1)).ln();
    let score = |mask: u32| (0..query_words.len()).filter(|at| mask >> at & 1 == 1).map(weight).sum::<f64>();
    let mut scored: Vec<_> = groups.into_iter().map(|(mask, lines)| (score(mask), lines)).collect();
    let best = scored.iter().map(|(score, _)| *score).fold(0.0, f64::max);
    scored.retain(|(score, _)| score * 3.0 >= best * 2.0);
    let mut matches: Vec<_> =
        scored.iter().flat_map(|(score, lines)| lines.iter().map(move |line| (*score, *line))).collect();
    matches.sort_by(|(a, x), (b, y)| b.total_cmp(a).then(x.0.cmp(&y.0)));
    matches.truncate(MAX_MATCHES);
    let line = |(_, (number, line))| format!("{number}: {}", shown(line, 2 * MAX_SHOWN_CHARS));
    matches.into_iter().map(line).collect()
}

struct LinesByWords<'a> {
    /// The first lines with each set of words, and their numbers. [`MAX_QUERY_WORDS`] limits the number of sets.
    found: HashMap<u32, Vec<(usize, &'a str)>>,
    /// Number of lines with each word, and of all lines.
    seen: Vec<u32>,
    lines: u32,
}

fn lines_by_words<'a>(text: &'a str, query_words: &[String]) -> LinesByWords<'a> {
    let mut by_words = LinesByWords { found: HashMap::new(), seen: vec![0; query_words.len()], lines: 0 };
    let mut lower = String::new();
    for (number, line) in numbered(text) {
        by_words.lines += 1;
        lower.clear();
        lower.extend(line.chars().flat_map(char::to_lowercase));
        let held = query_words.iter().enumerate().filter(|(_, word)| begins(&lower, word));
        let mask = held.fold(0_u32, |mask, (at, _)| mask | 1 << at);
        if mask == 0 {
            continue;
        }
        by_words.seen.iter_mut().enumerate().for_each(|(at, seen)| *seen += (mask >> at) & 1);
        let lines = by_words.found.entry(mask).or_default();
        // A score depends only on the words, so later lines are not shown.
        if lines.len() < MAX_MATCHES {
            lines.push((number, line));
        }
    }
    by_words
}

/// Returns the search words of a query: stems, and parts such as paths that are more than one word.
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
        // A stem in -i also matches words in -y.
        for_each_term(part, |term| add(term.strip_suffix('i').unwrap_or(term)));
    }
    words
}

fn begins(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| !text[..at].ends_with(|c: char| c.is_alphanumeric()))
}

/// Counts per key, for a limited number of keys. Further keys share one count.
#[derive(Default)]
pub(super) struct BoundedCounts<K, const LIMIT: usize> {
    counts: HashMap<K, usize>,
    /// Occurrences of further keys.
    pub(super) other: usize,
}

impl<K: Hash + Eq + Ord + Clone, const LIMIT: usize> BoundedCounts<K, LIMIT> {
    pub(super) fn add(&mut self, key: K, times: usize) {
        if self.counts.len() < LIMIT || self.counts.contains_key(&key) {
            *self.counts.entry(key).or_default() += times;
        } else {
            self.other += times;
        }
    }

    /// Returns the number of distinct keys, or the limit if there are more.
    pub(super) fn len(&self) -> usize {
        self.counts.len()
    }

    pub(super) fn most_frequent(&self) -> Vec<(K, usize)> {
        let mut counts: Vec<(K, usize)> =
            self.counts.iter().map(|(key, count)| (key.clone(), *count)).collect();
        counts.sort_by(|(a, more), (b, less)| less.cmp(more).then_with(|| a.cmp(b)));
        counts
    }

    /// Formats the highest counts: `amd64 570, all 149, 3 others`.
    pub(super) fn render(&self, max_entries: usize, name: impl Fn(&K) -> String) -> String {
        let counts = self.most_frequent();
        let parts = counts.iter().take(max_entries).map(|(key, n)| format!("{} {n}", name(key)));
        let other_count = counts.len().saturating_sub(max_entries);
        join(parts.chain((other_count > 0).then(|| format!("{other_count} others"))), ", ")
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
    fn few_lines_with_the_same_words_are_kept() {
        let text = format!("{}ab cd\nab ef\nef\n", "ab\ncd\n".repeat(100_000));
        let wanted = words("ab cd ef");
        let by_words = lines_by_words(&text, &wanted);
        let kept: Vec<usize> = by_words.found.values().map(Vec::len).collect();
        assert_eq!((kept.len(), kept.iter().sum::<usize>()), (5, 2 * MAX_MATCHES + 3));
        assert_eq!((by_words.seen, by_words.lines), (vec![100_002, 100_001, 2], 200_003));
        assert_eq!(matching(&text, "ab cd ef"), ["200002: ab ef", "200003: ef"]);
        let first: Vec<String> = (0..MAX_MATCHES).map(|n| format!("{}: ab", 2 * n + 1)).collect();
        assert_eq!(matching(&text, "ab"), first);
        // Words that are as frequent weigh the same, so their lines alternate.
        let even: Vec<String> =
            (0..MAX_MATCHES).map(|n| format!("{}: {}", n + 1, ["ab", "cd"][n % 2])).collect();
        assert_eq!(matching(&"ab\ncd\n".repeat(1_000), "ab cd"), even);
    }

    #[test]
    fn counts_are_bounded() {
        let mut counts = BoundedCounts::<_, 2>::default();
        for key in ["a", "b", "b", "c", "a", "b"] {
            counts.add(key, 1);
        }
        assert_eq!(
            (counts.render(1, |k| (*k).to_owned()), counts.other, counts.len()),
            ("b 3, 1 others".into(), 1, 2)
        );
    }
}
