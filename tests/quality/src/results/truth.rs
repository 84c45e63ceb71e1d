//! Checks that digests contain only true statements. Words and quotations must be in the result or in the vocabulary of
//! digests, numbered lines must match, and numbers must be in the result or equal a count of something in it. The
//! counts come from an independent implementation.
//!
//! The subject of a number is not checked: a wrong count passes if it is the right one of something else.

mod counted;
mod words;

use std::collections::HashSet;

use gatehouse_core::ports::{TextCompressor as _, TokenCounter as _, text::TokenEncoding};
use gatehouse_text::{BpeTokenCounter, Extractor};

use super::gold::Gold;
use words::{OWN, Words, quotations, split};

/// Maximum tokens of the checked digests: the short form, and a follow-up.
const BUDGETS: [u32; 2] = [1_200, 1_000];

/// Start of the message for a number that is neither in the result nor a known count.
pub(super) const NUMBER: &str = "the number ";

/// Returns the false statements in the digests of a result, each with its line. Checks one digest without a question
/// and one for the first question.
pub(super) fn untrue(gold: &Gold) -> Vec<String> {
    let known = Known::of(&gold.text);
    let raw = u32::try_from(BpeTokenCounter.count(&gold.text, TokenEncoding::O200k)).unwrap_or(u32::MAX);
    let asked = gold.questions.first().map_or("", |asked| asked.q.as_str());
    let mut untrue = Vec::new();
    for (query, budget) in ["", asked].into_iter().zip(BUDGETS) {
        let Ok(digest) = Extractor.digest(&gold.text, query, budget.min(raw / 4)) else { continue };
        if !digest.shortened {
            continue;
        }
        let lines = digest.text.lines().chain(digest.findings.iter().map(String::as_str));
        untrue.extend(
            lines.filter_map(|line| Some(format!("{}: {} in: {line}", gold.file, known.wrong(line)?))),
        );
    }
    untrue
}

pub(super) struct Known<'a> {
    words: Words,
    lines: Vec<&'a str>,
    numbers: HashSet<String>,
    /// Largest line number or list index.
    most: usize,
}

impl<'a> Known<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let (numbers, longest) = counted::numbers(text);
        Self { words: Words::of(text), most: longest.max(lines.len()), lines, numbers }
    }

    /// Returns the first false statement in a line. `None` if all are true.
    pub(super) fn wrong(&self, line: &str) -> Option<String> {
        let line = line.strip_prefix("- ").unwrap_or(line);
        let (number, rest) = self.numbered(line);
        if let Some((number, shown)) = number
            && !self.is_line(number, shown)
        {
            return Some(format!("line {number} differs"));
        }
        let mut quoted = quotations(rest);
        if let Some(quoted) = quoted.find(|quoted| !self.words.holds(quoted)) {
            return Some(format!("the quotation {quoted:?}"));
        }
        let text = rest.replace("\\n", " ").replace("\\\"", " ");
        let mut words = split(&text).into_iter().filter(|word| !self.holds(word, rest));
        words.next().map(|word| match word.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("{NUMBER}{word}"),
            false => format!("the word {word:?}"),
        })
    }

    fn numbered<'l>(&self, line: &'l str) -> (Option<(usize, &'l str)>, &'l str) {
        let head = line.split_once(": ").and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        (head, head.map_or(line, |(_, rest)| rest))
    }

    fn is_line(&self, number: usize, shown: &str) -> bool {
        let Some(line) = number.checked_sub(1).and_then(|at| self.lines.get(at)) else { return false };
        // A heading or name may lack its marks, and a long line its end.
        let words = Words::of(line);
        let of_line = split(shown).into_iter().filter(|word| words.has(word)).count();
        of_line * 2 >= split(shown).len()
    }

    fn holds(&self, word: &str, line: &str) -> bool {
        let plain = word.replace(',', "");
        let is_number = plain.starts_with(|c: char| c.is_ascii_digit())
            && plain.chars().all(|c| c.is_ascii_digit() || c == '.');
        if !is_number {
            return self.words.has(word) || OWN.split_whitespace().any(|own| own.eq_ignore_ascii_case(word));
        }
        let number = plain.trim_end_matches('.');
        self.words.has(word)
            || self.words.has(number)
            || self.numbers.contains(number)
            || number.parse().is_ok_and(|n| self.is_place(n, word, line) || self.is_rest(n, word, line))
            || line.contains(&format!("{word} ×")) && self.is_form(line)
            || number.parse().is_ok_and(|n| self.is_definition(n, word, line))
    }

    /// Returns `true` if the number is a position: a line, or an index in a list.
    fn is_place(&self, number: usize, word: &str, line: &str) -> bool {
        let marks = ["line ", "lines ", "[", "-", "("];
        let marked = marks.into_iter().any(|mark| line.contains(&format!("{mark}{word}")));
        marked && number <= self.most
    }

    /// Returns `true` for `name 12` if that line contains the name.
    fn is_definition(&self, number: usize, word: &str, line: &str) -> bool {
        let before = line.split_once(&format!(" {word}")).map_or("", |(before, _)| before);
        let there = number.checked_sub(1).and_then(|at| self.lines.get(at));
        split(before).last().zip(there).is_some_and(|(name, there)| there.contains(name.as_str()))
    }

    /// Returns `true` if the number counts omissions: tokens of hidden lines, or other values out of a preceding count.
    fn is_rest(&self, number: usize, word: &str, line: &str) -> bool {
        let before =
            line.split_once(" different: ").and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok());
        line.contains(&format!("{word} tokens"))
            || line.contains(&format!("{word} other")) && number < before.unwrap_or(self.most)
            || line.contains(&format!("{word} more"))
    }

    /// Checks `12 × form … of lines`: at least that many lines have the words of the form in order.
    fn is_form(&self, line: &str) -> bool {
        let Some((times, form)) = line.split_once(" × ") else { return false };
        let form = form.split(" (").next().unwrap_or_default();
        let words: Vec<&str> = form.split_whitespace().filter(|word| *word != "…").collect();
        let has = |line: &&&str| {
            let mut there = line.split_whitespace();
            words.iter().all(|word| there.any(|it| it == *word))
        };
        let lines = self.lines.iter().filter(has).count();
        times.trim().replace(',', "").parse().is_ok_and(|times: usize| times <= lines)
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::results::gold;

    #[test]
    fn digests_of_the_fixtures_say_what_holds() {
        let golds = gold::read(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../fixtures/results")).unwrap();
        let untrue: Vec<String> = golds.iter().flat_map(untrue).collect();
        assert!(untrue.is_empty(), "{untrue:#?}");
    }

    #[test]
    fn lies_are_found() {
        let known = Known::of("name,size\nant,12\nbee,700\nbee,1200\n");
        for true_ in
            ["name: 2 different: bee ×2", "- size: 12 to 1200, sum 1912", "2: ant,12", "\"bee\" (line 3)"]
        {
            assert_eq!(known.wrong(true_), None);
        }
        for lie in [
            "cat ×2",
            "- size: 12 to 1300",
            "2: bee,700",
            "\"ant bee\"",
            "size: 4711 rows",
            "\"ants\" (line 31)",
        ] {
            assert!(known.wrong(lie).is_some(), "{lie}");
        }
    }
}
