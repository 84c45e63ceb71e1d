//! Checks a model's text against the document and drops statements with numbers, names or code that the document lacks.
//! Statements are sentences of prose, lines of lists and tables, and whole code blocks.

use std::collections::HashSet;

use crate::params::longest_fitting;

pub(crate) struct SupportedText {
    pub(crate) text: String,
    pub(crate) dropped: usize,
}

/// Removes statements that the document does not support.
pub(crate) fn drop_unsupported(text: &str, document: &str) -> SupportedText {
    let terms = DocumentTerms::new(document);
    let mut supported = String::new();
    let mut dropped = 0;
    for block in blocks(text) {
        match block {
            MarkdownBlock::Code(code) if terms.contains_lines(code) => supported += code,
            MarkdownBlock::Code(_) => dropped += 1,
            MarkdownBlock::Line(line) => {
                let sentences = sentences(line);
                let good: Vec<&str> = sentences.iter().copied().filter(|s| terms.supports(s)).collect();
                dropped += sentences.len() - good.len();
                if good.len() == sentences.len() {
                    supported += line;
                } else if !good.is_empty() {
                    supported += &format!("{}\n", good.concat().trim_end());
                }
            }
        }
    }
    SupportedText { text: supported.trim_end().to_owned(), dropped }
}

/// Returns the longest prefix of whole statements that `fits` accepts.
pub(crate) fn keep_supported(
    text: &str,
    fits: impl Fn(&str) -> Result<bool, String>,
) -> Result<String, String> {
    if fits(text)? {
        return Ok(text.to_owned());
    }
    let mut ends = vec![0];
    for block in blocks(text) {
        let last = ends.last().copied().unwrap_or_default();
        match block {
            MarkdownBlock::Code(code) => ends.push(last + code.len()),
            MarkdownBlock::Line(line) => {
                let mut at = last;
                for sentence in sentences(line) {
                    at += sentence.len();
                    ends.push(at);
                }
            }
        }
    }
    let count = longest_fitting(ends.len() - 1, |count| fits(text[..ends[count]].trim_end()))?;
    Ok(text[..ends[count]].trim_end().to_owned())
}

enum MarkdownBlock<'a> {
    Code(&'a str),
    Line(&'a str),
}

fn blocks(text: &str) -> Vec<MarkdownBlock<'_>> {
    let mut blocks = Vec::new();
    let mut at = 0;
    let mut open: Option<usize> = None;
    for line in text.split_inclusive('\n') {
        let fence = line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~");
        let end = at + line.len();
        match (fence, open) {
            (true, None) => open = Some(at),
            (true, Some(start)) => {
                blocks.push(MarkdownBlock::Code(&text[start..end]));
                open = None;
            }
            (false, None) => blocks.push(MarkdownBlock::Line(line)),
            (false, Some(_)) => {}
        }
        at = end;
    }
    blocks.extend(open.map(|start| MarkdownBlock::Code(&text[start..])));
    blocks
}

/// Splits a line into sentences whose concatenation is the line.
fn sentences(line: &str) -> Vec<&str> {
    let mut sentences = Vec::new();
    let mut start = 0;
    let mut characters = line.char_indices().peekable();
    while let Some((at, c)) = characters.next() {
        let next = characters.peek().map(|(_, next)| *next);
        if matches!(c, '.' | '!' | '?') && next == Some(' ') {
            let end = at + 2;
            let begins = line[end..].chars().next();
            if begins.is_some_and(|b| b.is_uppercase() || b == '`' || b == '*') {
                sentences.push(&line[start..end]);
                start = end;
            }
        }
    }
    sentences.push(&line[start..]);
    sentences
}

struct DocumentTerms {
    /// Lowercase words; numbers also without thousands separators.
    words: HashSet<String>,
    text: String,
    lines: HashSet<String>,
}

impl DocumentTerms {
    fn new(document: &str) -> Self {
        let mut words = HashSet::new();
        for word in words_of(document) {
            words.insert(normalize_word(word));
            words.extend(word.split(|c: char| !c.is_alphanumeric()).map(normalize_word));
        }
        Self { words, text: spaced(document).to_lowercase(), lines: document.lines().map(spaced).collect() }
    }

    fn contains_lines(&self, code: &str) -> bool {
        let lines: Vec<String> = code.lines().map(spaced).collect();
        let inner = lines.iter().filter(|line| !line.starts_with("```") && !line.starts_with("~~~"));
        inner
            .filter(|line| !line.is_empty())
            .all(|line| self.lines.contains(line) || self.text.contains(&line.to_lowercase()))
    }

    /// Returns whether the document contains every number, name and code span of a statement.
    fn supports(&self, statement: &str) -> bool {
        let mut spans = statement.split('`').skip(1).step_by(2);
        let spans_hold = spans.all(|span| self.contains_text(span));
        let heading = statement.trim_start().starts_with('#');
        let first = words_of(statement).next();
        spans_hold
            && words_of(statement).all(|word| {
                let named = word.chars().any(|c| c.is_ascii_digit() || c == '_')
                    || word.chars().skip(1).any(char::is_uppercase)
                    || (!heading && Some(word) != first && word.starts_with(char::is_uppercase));
                !named || self.contains_word(word)
            })
    }

    fn contains_text(&self, code: &str) -> bool {
        self.text.contains(&spaced(code).to_lowercase())
    }

    fn contains_word(&self, word: &str) -> bool {
        let plain = normalize_word(word);
        // "GPUs" matches "GPU" in the document; "Kalman's" matches "Kalman".
        let stem = plain.strip_suffix("'s").or_else(|| plain.strip_suffix('s')).unwrap_or(&plain);
        let whole = |word: &str| self.words.contains(word);
        whole(&plain) || whole(stem) || parts(&plain).all(whole)
    }
}

/// Splits a word at its marks, as in `A/B` or `32-bit`.
fn parts(word: &str) -> impl Iterator<Item = &str> {
    // A decimal number stays whole, so '.' is not a mark.
    let marks =
        |c: char| matches!(c, '/' | '-' | '–' | ':' | '=' | '(' | ')' | '[' | ']' | '+' | '×' | '%' | '°');
    word.split(marks).filter(|part| !part.is_empty())
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    let edge = |c: char| !c.is_alphanumeric() && c != '_';
    text.split_whitespace().map(move |word| word.trim_matches(edge)).filter(|word| !word.is_empty())
}

fn spaced(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn normalize_word(word: &str) -> String {
    let word = word.to_lowercase().replace('’', "'");
    let number = word.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.'));
    if number { word.replace(',', "") } else { word }
}
