//! Digests a text with headings: an outline, and the sentences that summarize it or answer the query.

use gatehouse_core::ports::{TextCompressor as _, TokenCounter as _, text::TokenEncoding};

use super::{
    fit::DigestSection,
    kind::{TextKind, TextSample},
    lines::{MAX_SHOWN_CHARS, shown},
};
use crate::{
    BpeTokenCounter, Extractor,
    layout::{TextLayout, is_code},
};

pub(super) const KIND: TextKind = TextKind { name: "Markdown", is, sections };

const MIN_HEADINGS: usize = 2;

/// Percentage of the budget for headings, and tokens reserved for titles and inserted findings.
const HEADINGS_PERCENT: usize = 40;
const OVERHEAD_TOKENS: usize = 60;

const MAX_HEADINGS: usize = 160;

/// Maximum bytes from which sentences are extracted, without and with a query. Ranking more takes too long.
const MAX_RANKED_BYTES: [usize; 2] = [128 << 10, 1 << 20];

fn is(sample: &TextSample<'_>) -> bool {
    let text = sample.lines.join("\n");
    !is_code(&text) && TextLayout::from_text(&text).headings.len() >= MIN_HEADINGS
}

fn sections(text: &str, query: &str, budget: usize) -> Vec<DigestSection> {
    outline_sections(text, query, budget, true)
}

/// Returns the sections. `numbered` is true if the lines of `text` are those of the document.
pub(super) fn outline_sections(text: &str, query: &str, budget: usize, numbered: bool) -> Vec<DigestSection> {
    let layout = TextLayout::from_text(text);
    let mut levels = std::collections::BTreeMap::<usize, usize>::new();
    layout.headings.iter().for_each(|heading| *levels.entry(heading.level).or_default() += 1);
    let lines = text.lines().count();
    let words = text.split_whitespace().count();
    let count = layout.headings.len();
    let by_level: Vec<String> = levels.iter().map(|(level, n)| format!("{n} of level {level}")).collect();
    let mut findings = vec![format!(
        "The text has {lines} lines, {words} words and {count} headings: {}.",
        by_level.join(", ")
    )];
    let mut at = 0;
    let mut line = 1;
    let mut named = Vec::new();
    for heading in &layout.headings {
        line += text[at..heading.start].bytes().filter(|b| *b == b'\n').count();
        at = heading.start;
        let depth = layout.path(heading.parent).count();
        named.push((depth, line, shown(name(&text[heading.start..heading.end]), MAX_SHOWN_CHARS)));
    }
    if let Some((.., first)) = named.iter().min_by_key(|(depth, line, _)| (*depth, *line)) {
        findings.push(format!("Its first heading is: {first}."));
    }
    let deepest = (0..8)
        .rev()
        .find(|deepest| named.iter().filter(|(depth, ..)| depth <= deepest).count() <= MAX_HEADINGS);
    let mut headings: Vec<String> = named
        .iter()
        .filter(|(depth, ..)| deepest.is_none_or(|deepest| *depth <= deepest))
        .map(|(depth, line, name)| {
            let line = if numbered { format!(" ({line})") } else { String::new() };
            format!("{}{name}{line}", "  ".repeat((*depth).min(4)))
        })
        .collect();
    headings.truncate(MAX_HEADINGS);
    // Reserve the exact tokens for the sentences, because the section is included whole or not at all.
    let cost = |line: &String| BpeTokenCounter.count(line, TokenEncoding::O200k) + 2;
    let taken = headings.iter().map(cost).sum::<usize>().min(budget * HEADINGS_PERCENT / 100);
    let around = findings.iter().map(cost).sum::<usize>() + OVERHEAD_TOKENS;
    let left = u32::try_from(budget.saturating_sub(taken + around)).unwrap_or(u32::MAX);
    let kept = Extractor
        .extract(ranked_beginning(text, query), query, left.max(64))
        .map(|extract| vec![extract.text]);
    let kept = kept.unwrap_or_default();
    vec![
        DigestSection::with_lines(findings),
        DigestSection::with_title(
            if numbered { "Headings (with lines):" } else { "Headings:" },
            HEADINGS_PERCENT,
            headings,
        ),
        DigestSection::with_title("Text:", 95, kept),
    ]
}

pub(super) fn ranked_beginning<'a>(text: &'a str, query: &str) -> &'a str {
    &text[..text.floor_char_boundary(MAX_RANKED_BYTES[usize::from(!query.is_empty())])]
}

/// Returns a heading without markup. Of two lines, takes the one with letters.
fn name(heading: &str) -> &str {
    let line = heading.lines().find(|line| line.contains(char::is_alphanumeric)).unwrap_or(heading);
    line.trim().trim_matches(['#', '=']).trim()
}

#[cfg(test)]
mod tests {
    use crate::digest::digest;

    #[test]
    fn headings_with_lines_and_sentences_are_told() {
        let mut text = String::from("# Pumps\n\nHow pumps stay in service.\n\n");
        for n in 1..=30 {
            text += &format!(
                "## Part {n}\n\nThe part {n} of the pump wears out after {n}00 hours. {}\n\n",
                "It is oiled every day by hand. ".repeat(6)
            );
        }
        text += "## Seals\n\nThe seal is made of cork.\n";
        let digest = digest(&text, "what is the seal made of?", 700).unwrap();
        assert_eq!(digest.kind, "Markdown");
        for told in [
            "32 headings: 1 of level 1, 31 of level 2",
            "Pumps (1)",
            "  Part 12 (49)",
            "seal is made of cork",
        ] {
            assert!(digest.text.contains(told), "'{told}' is not in\n{}", digest.text);
        }
        assert!(digest.tokens_out > 450, "{}", digest.tokens_out);
    }

    #[test]
    fn hostile_headings_are_bounded() {
        let texts = [
            (0..5_000).map(|n| format!("# H{n}\ntext\n")).collect::<String>(),
            format!("# a\n# b\n{}", "w ".repeat(1 << 18)),
            "# \u{1b}[31m\u{202e}x\n## y\n".repeat(500),
        ];
        for text in texts {
            let digest = digest(&text, "", 300).unwrap();
            assert_eq!(digest.kind, "Markdown");
            assert!(digest.tokens_out <= 300);
        }
    }
}
