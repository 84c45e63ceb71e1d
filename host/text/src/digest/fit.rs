//! Fits sections of lines into a token budget.

use std::borrow::Cow;

use super::lines::matching;
use crate::tokens::{count, count_up_to};

/// Related lines, the most important first.
pub(super) struct DigestSection {
    /// Heading of the lines. Without a title, the lines form a list.
    pub(super) title: Cow<'static, str>,
    /// Percentage of the budget that it may use before the other sections have had theirs.
    pub(super) share: usize,
    pub(super) lines: Vec<String>,
}

impl DigestSection {
    /// Creates the section that starts the digest, as a list.
    pub(super) fn with_lines(lines: Vec<String>) -> Self {
        Self { title: Cow::Borrowed(""), share: 35, lines }
    }

    /// Creates the section of the lines that contain words of the query.
    pub(super) fn query_matches(share: usize, text: &str, query: &str) -> Self {
        Self::with_title("Lines that match the query:", share, matching(text, query))
    }

    pub(super) fn with_title(title: impl Into<Cow<'static, str>>, share: usize, lines: Vec<String>) -> Self {
        Self { title: title.into(), share, lines }
    }
}

pub(super) struct FittedSections {
    pub(super) text: String,
    pub(super) tokens: usize,
    /// For each section, which of its lines are in `text`.
    pub(super) kept: Vec<Vec<bool>>,
}

/// Selects the lines that fit `budget` tokens: first each section's share, then from the rest in order.
pub(super) fn fit(sections: &[DigestSection], budget: usize) -> FittedSections {
    let mut selection: Vec<Vec<bool>> = sections.iter().map(|s| vec![false; s.lines.len()]).collect();
    let mut remaining = budget;
    for shared in [true, false] {
        for (section, mask) in sections.iter().zip(&mut selection) {
            let mut allowed = if shared { remaining.min(budget * section.share / 100) } else { remaining };
            for (line, index) in section.lines.iter().zip(0..) {
                let first = !mask.iter().any(|included| *included);
                let title = if first { count_up_to(&section.title, allowed) } else { Some(0) };
                let needed = title.and_then(|title| Some(title + count_up_to(line, allowed)? + BULLET));
                let Some(needed) = needed.filter(|needed| !mask[index] && *needed <= allowed) else {
                    continue;
                };
                mask[index] = true;
                allowed -= needed;
                remaining -= needed;
            }
        }
    }
    let mut text = print(sections, &selection);
    let mut tokens = count(&text);
    // The counts of lines do not add up exactly, so drop lines until the whole fits.
    while tokens > budget {
        let last =
            selection.iter_mut().rev().find_map(|mask| mask.iter_mut().rev().find(|included| **included));
        let Some(last) = last else { break };
        *last = false;
        text = print(sections, &selection);
        tokens = count(&text);
    }
    FittedSections { text, tokens, kept: selection }
}

/// Maximum tokens of a list mark and a line end.
const BULLET: usize = 2;

fn print(sections: &[DigestSection], selection: &[Vec<bool>]) -> String {
    let mut text = String::new();
    for (section, mask) in sections.iter().zip(selection) {
        if mask.contains(&true) && !section.title.is_empty() {
            text.extend([&section.title, "\n"]);
        }
        let mark = if section.title.is_empty() { "- " } else { "" };
        for (line, _) in section.lines.iter().zip(mask).filter(|(_, included)| **included) {
            text.extend([mark, line, "\n"]);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections() -> [DigestSection; 2] {
        let lines = |word: &str| (0..50).map(|i| format!("{word} number {i}")).collect();
        [
            DigestSection { share: 30, ..DigestSection::with_lines(lines("first")) },
            DigestSection::with_title("More:", 30, lines("second")),
        ]
    }

    #[test]
    fn every_section_gets_its_share_and_the_rest_is_used() {
        let fitted = fit(&sections(), 200);
        assert!(fitted.tokens <= 200 && fitted.tokens > 160, "{}", fitted.tokens);
        assert!(fitted.text.starts_with("- first number 0\n"));
        assert!(fitted.text.contains("More:\nsecond number 0\n"));
    }

    #[test]
    fn what_does_not_fit_is_left_out_with_its_title() {
        let fitted = fit(&sections(), 7);
        assert_eq!(fitted.text, "- first number 0\n");
        assert_eq!(fit(&sections(), 2).text, "");
    }
}
