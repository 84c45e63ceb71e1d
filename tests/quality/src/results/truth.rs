//! Whether digests say only what the results hold: each word and each quotation stands in the result or is one of the
//! words that digests are written with, each line that is shown under a number is that line, and each number stands in
//! the result or counts something in it, counted here once more from another reading.
//!
//! What a number counts is not checked: a wrong count that is the right one of something else passes.

mod counted;
mod words;

use std::collections::HashSet;

use gatehouse_core::ports::{TextCompressor as _, TokenCounter as _, text::TokenEncoding};
use gatehouse_text::{BpeTokenCounter, Extractor};

use super::gold::Gold;
use words::{OWN, Words, quotations, split};

/// Tokens of the digests that are checked at most, as of the short form and of a follow-up.
const BUDGETS: [u32; 2] = [1_200, 1_000];

/// How a number begins that neither stands in the result nor was counted again.
pub(super) const NUMBER: &str = "the number ";

/// What the digests of a result say that it does not hold, with the sentence that says it: one without a question, and
/// one for its first question.
pub(super) fn untrue(gold: &Gold) -> Vec<String> {
    let known = Known::of(&gold.text);
    let raw = u32::try_from(BpeTokenCounter.count(&gold.text, TokenEncoding::O200k)).unwrap_or(u32::MAX);
    let asked = gold.questions.first().map_or("", |asked| asked.q.as_str());
    let mut untrue = Vec::new();
    for (query, budget) in ["", asked].into_iter().zip(BUDGETS) {
        let Ok(digest) = Extractor.digest(&gold.text, query, budget.min(raw / 4)) else { continue };
        // A digest that is the result says nothing of its own.
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

/// What is known of a result.
pub(super) struct Known<'a> {
    words: Words,
    lines: Vec<&'a str>,
    numbers: HashSet<String>,
    /// The largest number of a line or of an element.
    most: usize,
}

impl<'a> Known<'a> {
    pub(super) fn of(text: &'a str) -> Self {
        let lines: Vec<&str> = text.lines().collect();
        let (numbers, longest) = counted::numbers(text);
        Self { words: Words::of(text), most: longest.max(lines.len()), lines, numbers }
    }

    /// The first thing that a line says and that is not so.
    pub(super) fn wrong(&self, line: &str) -> Option<String> {
        let line = line.strip_prefix("- ").unwrap_or(line);
        let (number, rest) = self.numbered(line);
        if let Some((number, shown)) = number
            && !self.is_line(number, shown)
        {
            return Some(format!("line {number} is another"));
        }
        let mut quoted = quotations(rest);
        if let Some(quoted) = quoted.find(|quoted| !self.words.holds(quoted)) {
            return Some(format!("the quotation {quoted:?}"));
        }
        // Escapes are no words.
        let said = rest.replace("\\n", " ").replace("\\\"", " ");
        let mut words = split(&said).into_iter().filter(|word| !self.holds(word, rest));
        words.next().map(|word| match word.starts_with(|c: char| c.is_ascii_digit()) {
            true => format!("{NUMBER}{word}"),
            false => format!("the word {word:?}"),
        })
    }

    /// `12: text`
    fn numbered<'l>(&self, line: &'l str) -> (Option<(usize, &'l str)>, &'l str) {
        let head = line.split_once(": ").and_then(|(number, rest)| Some((number.parse().ok()?, rest)));
        (head, head.map_or(line, |(_, rest)| rest))
    }

    fn is_line(&self, number: usize, shown: &str) -> bool {
        let Some(line) = number.checked_sub(1).and_then(|at| self.lines.get(at)) else { return false };
        // A heading or name may be shown without its marks, and a long line without its end.
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

    /// Whether a number says where something stands: a line, or an element of a list.
    fn is_place(&self, number: usize, word: &str, line: &str) -> bool {
        let marks = ["line ", "lines ", "[", "-", "("];
        let marked = marks.into_iter().any(|mark| line.contains(&format!("{mark}{word}")));
        marked && number <= self.most
    }

    /// `name 12`: the name stands in that line.
    fn is_definition(&self, number: usize, word: &str, line: &str) -> bool {
        let before = line.split_once(&format!(" {word}")).map_or("", |(before, _)| before);
        let there = number.checked_sub(1).and_then(|at| self.lines.get(at));
        split(before).last().zip(there).is_some_and(|(name, there)| there.contains(name.as_str()))
    }

    /// Whether it is what was left out: tokens of lines that are not shown, or others of those that are counted before it.
    fn is_rest(&self, number: usize, word: &str, line: &str) -> bool {
        let before =
            line.split_once(" different: ").and_then(|(before, _)| before.rsplit(' ').next()?.parse().ok());
        line.contains(&format!("{word} tokens"))
            || line.contains(&format!("{word} other")) && number < before.unwrap_or(self.most)
            || line.contains(&format!("{word} more"))
    }

    /// `12 × form … of lines`: at least as many lines have the words of the form in their order.
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
