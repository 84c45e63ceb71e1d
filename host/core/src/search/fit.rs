//! How well a page answers a question, in absolute terms: scores are shares of the best and say nothing across
//! searches, so a question about something else has a best hit too.
//!
//! Two things are looked at that mean the same in every search and on every engine: how many of the question's words
//! the page holds, and how near it is by meaning.

use super::{NameMatch, SearchQuery};
use crate::page::MatchQuality;

/// A page without any word of the question has to be at least so near to it. Below, nearness says nothing: with the
/// local model questions about something else are .1 to .3 near to some page, and of the pages that answer a
/// question nine in ten are nearer than .2.
const MIN_COSINE: f32 = 0.2;

/// The same where no page holds any word of the question: it is likely to be about something else.
const MIN_COSINE_ALONE: f32 = 0.35;

/// Whether a page that holds no word of the question is near enough to be a hit. `words_found` is whether any page
/// that passes the filters holds one.
pub fn near_enough(cosine: f32, words_found: bool) -> bool {
    cosine >= if words_found { MIN_COSINE } else { MIN_COSINE_ALONE }
}

/// A question, prepared for many pages.
#[derive(Debug, Clone)]
pub struct FitScorer {
    /// What the words begin with, in lower case.
    pub(super) stems: Vec<WordStem>,
}

#[derive(Debug, Clone)]
pub(super) struct WordStem {
    text: String,
    /// Short ones are looked for as whole words, longer ones anywhere: inside identifiers too.
    whole: bool,
}

/// Shorter words are looked for as whole words.
const MIN_STEM_CHARS: usize = 5;

impl FitScorer {
    /// Prepares a question.
    pub fn new(question: &str) -> Self {
        let query = SearchQuery::new(question);
        let words = query.words.iter().map(|word| stem(word));
        let stretches =
            query.stretches.iter().map(|s| WordStem { text: s.text.to_lowercase(), whole: false });
        Self { stems: words.chain(stretches).collect() }
    }

    /// How well a page or a document answers that holds these texts. `cosine` is how near it is; none where question or
    /// page has no vector.
    pub fn fit(&self, name: NameMatch, cosine: Option<f32>, texts: &[&str]) -> MatchQuality {
        if name == NameMatch::Exact {
            return MatchQuality::Names;
        }
        let held = self.word_share(texts);
        match cosine {
            Some(cosine) => by_both(held, cosine),
            None => by_words(held),
        }
    }

    /// The share of the question's words that the texts hold; 0 where there are none.
    fn word_share(&self, texts: &[&str]) -> f32 {
        if self.stems.is_empty() {
            return 0.0;
        }
        let texts: Vec<String> = texts.iter().map(|text| text.to_lowercase()).collect();
        let holds = |stem: &&WordStem| texts.iter().any(|text| stem.is_in(text));
        self.stems.iter().filter(holds).count() as f32 / self.stems.len() as f32
    }
}

/// What the words count beside the cosine. With the two bounds below, of 60 questions about something else (30 asked of
/// two wikis each) 57 have a best hit that fits nothing; of 104 that the wikis answer 6 do, and 72 have a good one.
const WORD_WEIGHT: f32 = 0.3;

/// From here on a page is about what was asked.
const MIN_GOOD_FIT: f32 = 0.5;

/// From here on it shares something with the question.
const MIN_WEAK_FIT: f32 = 0.4;

fn by_both(held: f32, cosine: f32) -> MatchQuality {
    match WORD_WEIGHT * held + cosine {
        sum if sum >= MIN_GOOD_FIT => MatchQuality::Good,
        sum if sum >= MIN_WEAK_FIT => MatchQuality::Weak,
        _ => MatchQuality::Nothing,
    }
}

fn by_words(held: f32) -> MatchQuality {
    match held {
        held if held >= 0.75 => MatchQuality::Good,
        held if held >= 0.4 => MatchQuality::Weak,
        _ => MatchQuality::Nothing,
    }
}

/// What other forms of a word begin with too, roughly: an answer in words needs no more.
fn stem(word: &str) -> WordStem {
    let word = word.to_lowercase();
    let letters = word.chars().count();
    if letters < MIN_STEM_CHARS {
        return WordStem { text: word, whole: true };
    }
    let kept = (letters - 3).clamp(MIN_STEM_CHARS - 1, 8);
    WordStem { text: word.chars().take(kept).collect(), whole: false }
}

impl WordStem {
    fn is_in(&self, text: &str) -> bool {
        self.positions(text).next().is_some()
    }

    /// Where it begins in a text in lower case.
    pub(super) fn positions<'a>(&'a self, text: &'a str) -> impl Iterator<Item = usize> + 'a {
        let stands = move |(at, found): &(usize, &str)| {
            if !self.whole {
                return true;
            }
            let before = text[..*at].chars().next_back();
            let mut after = text[*at + found.len()..].chars();
            let ends = |c: Option<char>| !c.is_some_and(char::is_alphanumeric);
            // A plural is the same word.
            ends(before) && (ends(after.clone().next()) || (after.next() == Some('s') && ends(after.next())))
        };
        text.match_indices(self.text.as_str()).filter(stands).map(|(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_nearness_make_up_for_each_other() {
        let page = ["Retries", "A call is repeated after a pause; CircuitBreakers stop that.", "Reliability"];
        for (question, cosine, fit) in [
            ("repeating calls after pauses", Some(0.3), MatchQuality::Good),
            ("nothing of it", Some(0.55), MatchQuality::Good),
            ("repeat the moon landing", Some(0.35), MatchQuality::Weak),
            ("red wine in a carpet", Some(0.2), MatchQuality::Nothing),
            ("breaker reliability", None, MatchQuality::Good),
            ("breakers in the old town of London", None, MatchQuality::Nothing),
            ("", None, MatchQuality::Nothing),
        ] {
            assert_eq!(FitScorer::new(question).fit(NameMatch::No, cosine, &page), fit, "{question}");
        }
        assert_eq!(FitScorer::new("retries").fit(NameMatch::Exact, Some(0.0), &page), MatchQuality::Names);
    }

    #[test]
    fn short_words_are_whole_words() {
        let page = ["x", "Catalogs of SQL."];
        assert_eq!(FitScorer::new("cat").word_share(&page), 0.0);
        assert_eq!(FitScorer::new("sql").word_share(&page), 1.0);
        assert_eq!(FitScorer::new("catalogue").word_share(&page), 1.0);
        assert_eq!(FitScorer::new("模型").word_share(&page), 0.0);
    }

    #[test]
    fn without_any_word_in_any_page_a_page_has_to_be_nearer() {
        assert!(near_enough(0.2, true) && !near_enough(0.19, true));
        assert!(near_enough(0.35, false) && !near_enough(0.34, false));
    }
}
