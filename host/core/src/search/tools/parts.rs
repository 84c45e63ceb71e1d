//! The texts that are searched for a question: the question, its gloss, and its sentences, because a tool often does
//! only one of them.

use std::{borrow::Cow, collections::HashSet};

use super::lexicon;
use crate::search::for_each_term;

pub(super) const MAX_QUESTION_BYTES: usize = 16 * 1024;

/// Each part costs as much as a separate search.
const MAX_PARTS: usize = 6;

/// Sentences with fewer distinct terms are greetings and thanks.
const MIN_PART_TERMS: usize = 2;

/// A text that is searched for a question.
#[derive(Debug, Clone, PartialEq)]
pub struct QueryPart<'a> {
    pub text: Cow<'a, str>,
    pub kind: QueryPartKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QueryPartKind {
    Question,
    /// The question in the words of English tools: translated, or with everyday phrases replaced. A word may have
    /// alternatives.
    Gloss,
    Sentence,
}

impl QueryPart<'_> {
    /// Returns the text to embed.
    pub fn embedded(&self) -> Cow<'_, str> {
        match self.kind {
            QueryPartKind::Gloss => lexicon::embedded_gloss(&self.text).into(),
            QueryPartKind::Question | QueryPartKind::Sentence => Cow::Borrowed(&self.text),
        }
    }
}

/// Returns the whole question, its gloss if it has one, and its sentences if it has several.
pub fn query_parts(question: &str) -> Vec<QueryPart<'_>> {
    let whole = &question[..question.floor_char_boundary(MAX_QUESTION_BYTES)];
    let mut parts = vec![QueryPart { text: whole.into(), kind: QueryPartKind::Question }];
    let gloss = lexicon::gloss(whole).map(|text| QueryPart { text: text.into(), kind: QueryPartKind::Gloss });
    parts.extend(gloss);
    let sentences: Vec<&str> = sentences(whole).filter(has_enough_terms).take(MAX_PARTS).collect();
    if sentences.len() > 1 {
        parts.extend(
            sentences.into_iter().map(|text| QueryPart { text: text.into(), kind: QueryPartKind::Sentence }),
        );
    }
    parts
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    std::iter::from_fn(move || {
        let after = |at: usize| rest[at..].chars().next();
        let ends = |(at, c): &(usize, char)| match c {
            '?' | '!' | ';' | '\n' | '。' | '？' | '！' | '；' => true,
            '.' => after(at + 1).is_none_or(char::is_whitespace),
            _ => false,
        };
        let (sentence, left) = match rest.char_indices().find(ends) {
            Some((at, c)) => (&rest[..at], &rest[at + c.len_utf8()..]),
            None => (rest, ""),
        };
        let more = !rest.is_empty();
        rest = left;
        more.then_some(sentence)
    })
}

fn has_enough_terms(part: &&str) -> bool {
    let mut terms = HashSet::new();
    for_each_term(part, |term| {
        if terms.len() < MIN_PART_TERMS {
            terms.insert(term.to_owned());
        }
    });
    terms.len() == MIN_PART_TERMS
}

#[cfg(test)]
mod tests {
    use super::query_parts;

    #[test]
    fn a_request_is_the_whole_and_its_sentences() {
        let request = "Send the report to Ann. Then reserve a room for v1.2! Thanks.";
        let texts = |question| query_parts(question).into_iter().map(|part| part.text).collect::<Vec<_>>();
        assert_eq!(texts(request), [request, "Send the report to Ann", " Then reserve a room for v1.2"]);
        assert_eq!(texts("read a file, please."), ["read a file, please."]);
        assert_eq!(texts("查询北京天气。发送电子邮件").len(), 4);
        assert_eq!(texts(""), [""]);
    }

    #[test]
    fn parts_are_bounded() {
        assert_eq!(query_parts(&"send a letter. ".repeat(100_000)).len(), 7);
        assert_eq!(query_parts(&"?".repeat(100_000)).len(), 1);
        assert!(query_parts(&"文".repeat(100_000))[0].text.len() <= super::MAX_QUESTION_BYTES);
    }
}
