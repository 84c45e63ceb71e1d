//! Questions in the words that English tool descriptions use: translated word by word from German, Spanish, Japanese and
//! Chinese, or with everyday phrases replaced.
//!
//! The tables in `lexicon/` were written for this project. A line has a form, a tab, and English words, the most usual
//! first. Forms of words that only help to recognize a language have no English words.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    sync::LazyLock,
};

use icu_normalizer::ComposingNormalizerBorrowed;

use super::parts::MAX_QUESTION_BYTES;
use crate::search::{fold::search_key, script, terms::is_stop_word};

/// Separates the words that may stand for one word of a question.
const ALTERNATIVE: char = '/';

/// Forms with fewer letters match whole words only.
const MIN_STEM: usize = 4;

/// Maximum letters of an ending after a stem.
const MAX_ENDING: usize = 3;

/// Maximum stems in a compound.
const MAX_STEMS: usize = 4;

/// Maximum words of an everyday phrase.
const MAX_PHRASE: usize = 4;

/// Letters that German puts between the stems of a compound.
const LINKING: [&str; 4] = ["s", "n", "en", "es"];

/// Forms of one language and their English words.
struct Lexicon {
    entries: HashMap<&'static str, &'static str>,
    longest: usize,
}

impl Lexicon {
    fn new(table: &'static str) -> Self {
        let entries: HashMap<_, _> = table.lines().filter_map(|line| line.split_once('\t')).collect();
        let longest = entries.keys().map(|form| form.chars().count()).max().unwrap_or(0);
        Self { entries, longest }
    }

    /// Returns the English words of a word, split into stems. `None` if a part is unknown.
    fn word(&self, word: &str, stems_left: usize) -> Option<Vec<&'static str>> {
        if let Some(english) = self.entries.get(word) {
            return Some(vec![english]);
        }
        let longest =
            word.char_indices().map(|(at, _)| at).take(self.longest + 1).filter(|at| *at >= MIN_STEM);
        for end in longest.collect::<Vec<_>>().into_iter().rev() {
            let (stem, rest) = word.split_at(end);
            let Some(english) = self.entries.get(stem) else { continue };
            if rest.len() <= MAX_ENDING {
                return Some(vec![english]);
            }
            if stems_left == 1 {
                continue;
            }
            let unlinked = LINKING.iter().filter_map(|linking| rest.strip_prefix(linking));
            let rests = std::iter::once(rest).chain(unlinked);
            if let Some(others) = rests.filter_map(|rest| self.word(rest, stems_left - 1)).next() {
                return Some(std::iter::once(*english).chain(others).collect());
            }
        }
        None
    }

    /// Returns the longest entry that begins a text without spaces, and its length in bytes.
    fn beginning(&self, text: &str) -> Option<(&'static str, usize)> {
        let ends = text.char_indices().map(|(at, c)| at + c.len_utf8()).take(self.longest);
        let ends: Vec<usize> = ends.collect();
        ends.into_iter().rev().find_map(|end| Some((*self.entries.get(&text[..end])?, end)))
    }
}

static PHRASES: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(include_str!("lexicon/en.txt")));
static JAPANESE: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(include_str!("lexicon/ja.txt")));
static CHINESE: LazyLock<Lexicon> = LazyLock::new(|| Lexicon::new(include_str!("lexicon/zh.txt")));
/// Languages in Latin letters.
static LATIN: LazyLock<[Lexicon; 2]> = LazyLock::new(|| {
    [Lexicon::new(include_str!("lexicon/de.txt")), Lexicon::new(include_str!("lexicon/es.txt"))]
});
/// English words of all tables.
static ENGLISH: LazyLock<HashSet<&'static str>> = LazyLock::new(|| {
    let lexicons = LATIN.iter().chain([&*PHRASES, &*JAPANESE, &*CHINESE]);
    lexicons.flat_map(|lexicon| lexicon.entries.values().flat_map(|words| words.split(' '))).collect()
});

/// Returns the question in the words of tools, if a table has any of its words. Words are separated by spaces and their
/// alternatives by [`ALTERNATIVE`].
pub(super) fn gloss(question: &str) -> Option<String> {
    let question = &question[..question.floor_char_boundary(MAX_QUESTION_BYTES)];
    if script::has_spaceless(question) {
        return gloss_spaceless(question);
    }
    let words: Vec<Cow<'_, str>> = question
        .split(|c: char| !(c.is_alphanumeric() || c == '\''))
        .filter(|word| !word.is_empty())
        .map(folded)
        .collect();
    gloss_latin(&words).or_else(|| gloss_phrases(&words))
}

/// Returns the text that is embedded for a gloss.
pub(super) fn embedded_gloss(gloss: &str) -> String {
    let first = gloss.split(' ').map(|word| word.split(ALTERNATIVE).next().unwrap_or(word));
    first.collect::<Vec<_>>().join(" ")
}

/// Returns a word as glosses and tables have it: lower case, without diacritics.
pub(super) fn folded(word: &str) -> Cow<'_, str> {
    if word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit()) {
        return word.into();
    }
    search_key(&word.to_lowercase()).chars().filter(|c| c.is_alphanumeric()).collect::<String>().into()
}

/// Returns the gloss of a question that has more words of another language than English ones.
fn gloss_latin(words: &[Cow<'_, str>]) -> Option<String> {
    let english = words.iter().filter(|word| is_stop_word(word) || ENGLISH.contains(word.as_ref())).count();
    let glossed = |lexicon: &Lexicon| -> (usize, Vec<Option<Vec<&'static str>>>) {
        let words: Vec<_> = words.iter().map(|word| lexicon.word(word, MAX_STEMS)).collect();
        (words.iter().flatten().count(), words)
    };
    let (match_count, glossed) = LATIN.iter().map(glossed).max_by_key(|(match_count, _)| *match_count)?;
    if match_count <= english || 2 * match_count < words.len() {
        return None;
    }
    let text = words.iter().zip(glossed).flat_map(|(word, english)| match english {
        Some(english) => english.into_iter().filter(|words| !words.is_empty()).map(alternatives).collect(),
        None => vec![word.to_string()],
    });
    Some(text.collect::<Vec<_>>().join(" ")).filter(|text| !text.is_empty())
}

/// Returns the question with everyday phrases replaced, longest first.
fn gloss_phrases(words: &[Cow<'_, str>]) -> Option<String> {
    let (mut text, mut replaced, mut at) = (Vec::new(), false, 0);
    while at < words.len() {
        let longest = (1..=MAX_PHRASE.min(words.len() - at)).rev();
        let mut phrases = longest.filter_map(|length| {
            Some((length, *PHRASES.entries.get(words[at..at + length].join(" ").as_str())?))
        });
        match phrases.next() {
            Some((length, english)) => {
                text.push(alternatives(english));
                replaced = true;
                at += length;
            }
            None => {
                text.push(words[at].to_string());
                at += 1;
            }
        }
    }
    replaced.then(|| text.join(" "))
}

fn gloss_spaceless(question: &str) -> Option<String> {
    let normal = ComposingNormalizerBorrowed::new_nfkc().normalize(question).to_lowercase();
    let is_japanese = normal.chars().any(|c| matches!(c, '\u{3041}'..='\u{30FF}'));
    let lexicon = if is_japanese { &JAPANESE } else { &CHINESE };
    let (mut words, mut unknown, mut known, mut rest) = (Vec::new(), String::new(), false, normal.as_str());
    while let Some(c) = rest.chars().next() {
        let entry = lexicon.beginning(rest);
        let (english, length) = entry.unwrap_or(("", c.len_utf8()));
        rest = &rest[length..];
        // Names and unknown words stay. Hiragana are mostly endings.
        if entry.is_none() && c.is_alphanumeric() && !('\u{3041}'..='\u{309F}').contains(&c) {
            if unknown.chars().next_back().is_some_and(|last| last.is_ascii() != c.is_ascii()) {
                words.push(std::mem::take(&mut unknown));
            }
            unknown.push(c);
            continue;
        }
        words.extend((!unknown.is_empty()).then(|| std::mem::take(&mut unknown)));
        if !english.is_empty() {
            words.push(alternatives(english));
            known = true;
        }
    }
    words.extend((!unknown.is_empty()).then_some(unknown));
    known.then(|| words.join(" "))
}

fn alternatives(english: &str) -> String {
    english.replace(' ', &ALTERNATIVE.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_in_four_languages_become_words_of_tools() {
        for (question, expected) in [
            ("Verschiebe die Datei in einen anderen Ordner", "move file folder/directory"),
            ("Zeig mir die Wettervorhersage", "show/list/get weather forecast"),
            ("Muéstrame los archivos", "show/list/get file"),
            ("このファイルを別のフォルダに移動して", "file folder/directory move"),
            ("明天罗马天气怎么样", "tomorrow rome weather"),
            ("GitHub上のIssueを検索して", "github issue search"),
        ] {
            let gloss = gloss(question).unwrap_or_else(|| panic!("no gloss of {question}"));
            let words =
                |text: &str| text.split([' ', ALTERNATIVE]).map(str::to_owned).collect::<HashSet<_>>();
            let missing: Vec<_> = words(expected).difference(&words(&gloss)).cloned().collect();
            assert!(missing.is_empty(), "{question}: {gloss} lacks {missing:?}");
        }
    }

    #[test]
    fn english_questions_are_not_translated() {
        for question in
            ["list die cast models", "search el nino data", "open the issue list", "read_file", "", "?"]
        {
            assert_eq!(gloss(question), None, "{question}");
        }
    }

    #[test]
    fn everyday_phrases_become_words_of_tools() {
        let gloss = gloss("please wipe the old branches").expect("a gloss");
        assert!(gloss.contains("delete") && gloss.contains("branches"), "{gloss}");
    }

    #[test]
    fn long_and_odd_questions_are_glossed_in_bounded_time() {
        for piece in ["datei", "文件", "ﷺ", "archivo ", "a\u{301}"] {
            gloss(&piece.repeat(100_000));
        }
    }

    #[test]
    fn tables_are_well_formed() {
        for (name, table) in [
            ("en", include_str!("lexicon/en.txt")),
            ("de", include_str!("lexicon/de.txt")),
            ("es", include_str!("lexicon/es.txt")),
            ("ja", include_str!("lexicon/ja.txt")),
            ("zh", include_str!("lexicon/zh.txt")),
        ] {
            let mut last = "";
            for line in table.lines() {
                let (form, english) =
                    line.split_once('\t').unwrap_or_else(|| panic!("{name}: no tab in {line:?}"));
                assert!(form > last, "{name}: {form} is not sorted");
                assert!(
                    english.bytes().all(|b| b.is_ascii_alphanumeric() || b" -".contains(&b)),
                    "{name}: {line:?}"
                );
                last = form;
            }
        }
    }
}
