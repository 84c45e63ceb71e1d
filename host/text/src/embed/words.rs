//! Splits a text into words like BERT's uncased tokenizer: lower case, without accents, each punctuation mark and each
//! Chinese character separately.

use icu_normalizer::{DecomposingNormalizer, DecomposingNormalizerBorrowed};
use icu_properties::{
    CodePointMapData, CodePointMapDataBorrowed,
    props::{GeneralCategory, GeneralCategoryGroup},
};

/// Maximum characters of a word. A longer one is never known.
const MAX_CHARS: usize = 100;

const DECOMPOSE: DecomposingNormalizerBorrowed<'static> = DecomposingNormalizer::new_nfd();
const CATEGORY: CodePointMapDataBorrowed<'static, GeneralCategory> = CodePointMapData::new();

/// Passes each word to the closure, in order. Skips words that are too long.
pub(super) fn for_each_word(text: &str, hear: impl FnMut(&str)) {
    let mut words = WordSplitter { word: String::with_capacity(64), chars: 0, on_word: hear };
    for c in text.chars() {
        if c.is_ascii() { words.plain(c) } else { words.other(c) }
    }
    words.end();
}

struct WordSplitter<F> {
    word: String,
    chars: usize,
    on_word: F,
}

impl<F: FnMut(&str)> WordSplitter<F> {
    fn plain(&mut self, c: char) {
        match c {
            'a'..='z' | '0'..='9' => self.push(c),
            'A'..='Z' => self.push(c.to_ascii_lowercase()),
            ' ' | '\t' | '\n' | '\r' => self.end(),
            c if c.is_ascii_punctuation() => self.alone(c),
            // Other control characters are removed and do not split a word.
            _ => {}
        }
    }

    fn other(&mut self, c: char) {
        // The replacement character marks invalid input.
        if c == '\u{FFFD}' || is_control(c) {
            return;
        }
        if c.is_whitespace() {
            self.end();
        } else if is_chinese(c) {
            self.alone(c);
        } else {
            for part in DECOMPOSE.normalize_iter(std::iter::once(c)) {
                if CATEGORY.get(part) == GeneralCategory::NonspacingMark {
                    continue;
                }
                part.to_lowercase().for_each(|lower| self.letter(lower));
            }
        }
    }

    /// Adds a character after decomposition.
    fn letter(&mut self, c: char) {
        if c.is_ascii() {
            self.plain(c);
        } else if c.is_whitespace() {
            self.end();
        } else if GeneralCategoryGroup::Punctuation.contains(CATEGORY.get(c)) {
            self.alone(c);
        } else {
            self.push(c);
        }
    }

    fn push(&mut self, c: char) {
        self.chars += 1;
        if self.chars <= MAX_CHARS {
            self.word.push(c);
        }
    }

    fn alone(&mut self, c: char) {
        self.end();
        self.push(c);
        self.end();
    }

    fn end(&mut self) {
        if (1..=MAX_CHARS).contains(&self.chars) {
            (self.on_word)(&self.word);
        }
        self.word.clear();
        self.chars = 0;
    }
}

fn is_control(c: char) -> bool {
    let category = CATEGORY.get(c);
    // Unassigned characters are in this group too, but BERT preserves them.
    GeneralCategoryGroup::Other.contains(category) && category != GeneralCategory::Unassigned
}

/// Returns true for the ideographs that BERT splits. Kana and hangul are not among them.
fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{4E00}'..='\u{9FFF}' | '\u{3400}'..='\u{4DBF}' | '\u{20000}'..='\u{2A6DF}'
        | '\u{2A700}'..='\u{2B73F}' | '\u{2B740}'..='\u{2B81F}' | '\u{2B920}'..='\u{2CEAF}'
        | '\u{F900}'..='\u{FAFF}' | '\u{2F800}'..='\u{2FA1F}')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        let mut all = Vec::new();
        for_each_word(text, |word| all.push(word.to_owned()));
        all
    }

    #[test]
    fn words_are_parted_as_the_model_knows_them() {
        assert_eq!(words("Hello, WÖRLD!"), ["hello", ",", "world", "!"]);
        assert_eq!(words("naïve e\u{301}te\u{301}"), ["naive", "ete"]);
        assert_eq!(words("a数据b"), ["a", "数", "据", "b"]);
        assert_eq!(words("don’t"), ["don", "’", "t"]);
        assert_eq!(words("a\0b\u{200B}c\u{FFFD}\u{7f}d"), ["abcd"]);
        assert_eq!(words("a\tb\nc\u{2028}d\u{A0}e"), ["a", "b", "c", "d", "e"]);
        assert_eq!(words("İ"), ["i"]);
        assert_eq!(words(""), [""; 0]);
    }

    #[test]
    fn words_that_are_too_long_are_left_out() {
        let text = format!("a {} b {}", "x".repeat(100), "y".repeat(1 << 20));
        assert_eq!(words(&text), ["a", &"x".repeat(100), "b"]);
    }
}
