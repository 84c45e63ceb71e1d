//! Finds the lines of a command's output that report its outcome: counts such as `2 failed, 206 passed`, and sentences
//! such as `Process completed with exit code 1`.

use std::collections::{HashMap, VecDeque};

use super::{
    lines::{MAX_SHOWN_CHARS, shown},
    timestamp,
};
use crate::split_list;

/// Phrases of outcomes, in lower case.
const PHRASES: [&str; 33] = split_list(
    "build failed|build failure|build success|could not compile|complete!|exit code|exit status|\
    exited with|did not complete|failed to|test result|*** [|successfully|completed|finished|succeeded|\
    no changes|up to date|up-to-date|aborted|done in|rolled back|cannot|summary|total|plan:|built in|\
    failed with|all checks passed|command failed|nothing to|interrupted|error code",
);

/// Maximum occurrences of a line, apart from its digits. A more frequent one reports steps.
const MAX_REPEATS: usize = 3;

/// Maximum different lines to remember.
const MAX_CANDIDATES: usize = 2_048;

const MAX_SHOWN: usize = 8;
const MIN_SCORE: usize = 2;

/// Whole lines that are an outcome, in lower case.
const VERDICTS: [&str; 8] = ["fail", "failed", "failure", "pass", "passed", "ok", "success", "done"];

/// Words of sentences in mails, chats and articles.
const SPEAKERS: [&str; 4] = ["we", "he", "she", "my"];

/// Lines at the end that are read again, and those that are near enough to it to report how it ended.
const MAX_TAIL_LINES: usize = 160;
const MAX_NEAR_END: usize = 12;

/// Maximum bytes of a line to read.
const MAX_READ_BYTES: usize = 400;

struct OutcomeLine<'a> {
    number: usize,
    line: &'a str,
    score: usize,
    repeats: usize,
}

/// Collects the lines of a text that may report its outcome, and its end.
#[derive(Default)]
pub(super) struct OutcomeReader<'a> {
    found: HashMap<String, OutcomeLine<'a>>,
    /// The last lines, in order.
    tail: VecDeque<(usize, &'a str)>,
}

impl<'a> OutcomeReader<'a> {
    /// Remembers the next line that is not blank as the end of the text.
    pub(super) fn line(&mut self, number: usize, line: &'a str) {
        if self.tail.len() == MAX_TAIL_LINES {
            self.tail.pop_front();
        }
        self.tail.push_back((number, line));
    }

    /// Reads a line that may report the outcome wherever it is.
    pub(super) fn candidate(&mut self, number: usize, line: &'a str) {
        self.add(number, line, MAX_CANDIDATES);
    }

    fn add(&mut self, number: usize, line: &'a str, most: usize) {
        let score = score(line);
        if score == 0 {
            return;
        }
        let key = without_digits(line);
        let room = self.found.len() < most;
        match self.found.get_mut(&key) {
            Some(known) if known.number < number => {
                known.repeats += 1;
                // The last one of a kind tells how it ended.
                (known.number, known.line) = (number, line);
            }
            Some(_) => {}
            None if room => drop(self.found.insert(key, OutcomeLine { number, line, score, repeats: 1 })),
            None => {}
        }
    }

    /// Returns the lines that report the outcome, most significant first, each with its number.
    pub(super) fn outcomes(&mut self) -> Vec<(usize, String)> {
        // A text with very many candidates still has an end.
        for at in 0..self.tail.len() {
            let (number, line) = self.tail[at];
            self.add(number, line, MAX_CANDIDATES + MAX_TAIL_LINES);
        }
        let near_end = self.tail.iter().rev().nth(MAX_NEAR_END - 1).map_or(0, |(number, _)| *number);
        let worth = |candidate: &OutcomeLine<'_>| candidate.score + usize::from(candidate.number >= near_end);
        let mut best: Vec<&OutcomeLine<'_>> = self
            .found
            .values()
            .filter(|candidate| candidate.repeats <= MAX_REPEATS && worth(candidate) >= MIN_SCORE)
            .collect();
        best.sort_by_key(|candidate| {
            (std::cmp::Reverse(worth(candidate)), std::cmp::Reverse(candidate.number))
        });
        best.truncate(MAX_SHOWN);
        best.into_iter().map(|candidate| (candidate.number, shown(candidate.line, MAX_SHOWN_CHARS))).collect()
    }

    /// Returns up to `most` lines from the end, without the repetitive ones before the last two.
    pub(super) fn last_lines(&self, most: usize) -> Vec<(usize, String)> {
        let mut repeats: HashMap<String, usize> = HashMap::new();
        self.tail.iter().for_each(|(_, line)| *repeats.entry(first_words(line)).or_default() += 1);
        let mut last: Vec<(usize, String)> = self
            .tail
            .iter()
            .rev()
            .enumerate()
            .filter(|(at, (_, line))| *at < 2 || repeats[&first_words(line)] <= MAX_REPEATS)
            .map(|(_, (number, line))| (*number, shown(line, MAX_SHOWN_CHARS)))
            .filter(|(_, line)| line.contains(char::is_alphanumeric))
            .take(most)
            .collect();
        last.reverse();
        last
    }
}

/// Returns whether a line reports an outcome by itself.
pub(super) fn is_outcome(line: &str) -> bool {
    score(line) >= 3
}

/// Returns whether a line counts results and says so: the end of a test run.
pub(super) fn is_verdict(line: &str) -> bool {
    score(line) >= 4
}

/// Rates how likely a line reports an outcome, 0 if it does not.
fn score(line: &str) -> usize {
    let line = timestamp::without_timestamp(line);
    let line = line[..line.floor_char_boundary(MAX_READ_BYTES)].to_lowercase();
    // Quotations, markup and comments, and what people say to each other.
    let start = line.trim_start();
    if start.starts_with(['>', '<'])
        || start.starts_with("# ")
        || line.split(|c: char| !c.is_alphanumeric()).any(|word| SPEAKERS.contains(&word))
    {
        return 0;
    }
    if VERDICTS.contains(&line.trim_matches(|c: char| !c.is_ascii_alphanumeric())) {
        return 3;
    }
    let phrases = PHRASES.iter().filter(|phrase| says(&line, phrase)).count();
    let counts = counts(&line).len();
    // Rules of `=` and `-` frame titles.
    let framed = line.starts_with("==") || line.starts_with("--");
    3 * usize::from(counts >= 2)
        + 2 * phrases.min(2)
        + usize::from(counts == 1)
        + usize::from(framed && counts > 0)
}

/// Returns whether a line has a phrase that is no part of a name, and if it is one word, no key: not `total` in
/// `jobs_total` or `total = 0`.
fn says(line: &str, phrase: &str) -> bool {
    line.match_indices(phrase).any(|(at, _)| {
        let (before, after) = (&line[..at], &line[at + phrase.len()..]);
        let assigns = after.trim_start().starts_with('=')
            || after.strip_prefix(':').is_some_and(|rest| rest.starts_with(char::is_alphanumeric));
        let is_key = assigns && !phrase.contains(' ');
        !before.ends_with(is_name) && !after.starts_with(is_name) && !is_key
    })
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

fn without_digits(line: &str) -> String {
    let line = timestamp::without_timestamp(line);
    line[..line.floor_char_boundary(MAX_READ_BYTES)].chars().filter(|c| !c.is_ascii_digit()).collect()
}

fn first_words(line: &str) -> String {
    without_digits(line).split_whitespace().take(2).collect::<Vec<_>>().join(" ")
}

/// Things that outcomes count.
const COUNTED: [&str; 49] = split_list(
    "passed|passing|failed|failing|failure|failures|error|errors|warning|warnings|skipped|ignored|added|\
    changed|destroyed|removed|updated|installed|upgraded|packages|tests|suites|vulnerabilities|problems|\
    succeeded|ok|unreachable|deleted|created|modified|insertions|deletions|pending|critical|high|\
    moderate|low|add|change|destroy|run|total|tasks|targets|files|issues|rescued|unchanged|rejected",
);

/// Words that can be between a number and what it counts.
const LINKS: [&str; 4] = ["to", "previous", "of", "more"];

/// Maximum words of a line to read.
const MAX_READ_WORDS: usize = 80;

/// Returns what a line counts, in lower case: `2 failed`, `25 to add`, `failed=1`, `Errors: 0`.
pub(super) fn counts(line: &str) -> Vec<(&str, u64)> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut words: Vec<&str> = line.split(|c: char| !is_word(c)).filter(|word| !word.is_empty()).collect();
    words.truncate(MAX_READ_WORDS);
    let number = |at: Option<usize>| -> Option<u64> { words.get(at?)?.parse().ok() };
    // The words are parts of the line, so their ends are positions in it.
    let rest = |word: &str| &line[word.as_ptr() as usize - line.as_ptr() as usize + word.len()..];
    let is_key = |word: &str| rest(word).starts_with(['=', ':']);
    let count = |at: usize| {
        let after = number(Some(at + 1)).filter(|_| is_key(words[at]));
        let before = || {
            number(at.checked_sub(1))
                .or_else(|| number(at.checked_sub(2)).filter(|_| LINKS.contains(&words[at - 1])))
        };
        after.or_else(before).or_else(|| number(Some(at + 1)).filter(|_| rest(words[at]).starts_with(' ')))
    };
    (0..words.len())
        .filter(|at| COUNTED.contains(&words[*at]))
        .filter_map(|at| Some((words[at], count(at)?)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_counts_or_phrases() {
        for line in [
            "======= 2 failed, 206 passed, 6 skipped in 48.31s =======",
            "Plan: 25 to add, 3 to change, 2 to destroy.",
            "web-9 : ok=10 changed=2 unreachable=0 failed=1",
            "Tests run: 120, Failures: 2, Errors: 0",
            "2026-03-04T10:00:00Z ##[error]Process completed with exit code 1 and failed to stop",
            "error: could not compile `x` due to 2 previous errors",
        ] {
            assert!(is_outcome(line), "{line}");
        }
        for line in [
            "2026-03-04 10:00:07 ERROR disk 7 failed: no space",
            "the gate is open",
            "",
            "日本",
            "PASS part 7",
        ] {
            assert!(!is_outcome(line), "{line}");
        }
    }

    #[test]
    fn names_keys_and_talk_are_no_outcomes() {
        for line in [
            "jobs_refused_total{queue=\"web\"} 328",
            "SUMMARY:Workshop on cart",
            "total = 0",
            "> completed",
            "We succeeded in moving the ledger. Nothing failed,",
        ] {
            assert!(score(line) < MIN_SCORE, "{line}");
        }
        for line in ["exit code=1", "exit status:3", "Summary: all good", "done in 35 us"] {
            assert!(score(line) >= MIN_SCORE, "{line}");
        }
    }

    #[test]
    fn repeated_lines_are_steps_and_the_end_is_shown() {
        let steps: String = (0..500).map(|n| format!("part {n} successfully finished\n")).collect();
        let text = format!("{steps}1 failed, 499 passed\nbye\n");
        let mut reader = OutcomeReader::default();
        for (number, line) in (1..).zip(text.lines()) {
            reader.line(number, line);
            reader.candidate(number, line);
        }
        assert_eq!(reader.outcomes(), [(501, "1 failed, 499 passed".to_owned())]);
        assert_eq!(reader.last_lines(4), [(501, "1 failed, 499 passed".to_owned()), (502, "bye".to_owned())]);
    }

    #[test]
    fn counts_have_their_numbers() {
        assert_eq!(counts("failures: 0, 12 passed; 3 to add"), [("failures", 0), ("passed", 12), ("add", 3)]);
        assert_eq!(counts("ok=14 changed=2 failed=0"), [("ok", 14), ("changed", 2), ("failed", 0)]);
        assert_eq!(counts("tests: 1 failed, 9 passed"), [("tests", 1), ("failed", 1), ("passed", 9)]);
    }
}
