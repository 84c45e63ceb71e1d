//! Checks sentences against a result, which must contain their numbers, names, paths and quotations.

use std::collections::HashSet;

use super::wording::listed;

/// Capitalized words that can begin a sentence and are not names.
const BEGINNINGS: &str = "\
    a about across add additionally after all also although among an and another any as at average avoid \
    because before besides between both but by change check clean clear close compare confirm consider \
    contact contains currently data delete despite disable do during each enable ensure every few filter find \
    first fix focus follow for four free from further handle he here however i if ignore improve in increase \
    inspect instead investigate is it its keep last let like limit look make many monitor more most move \
    multiple narrow neither no none nothing of on one only open other others out over overall page query \
    raise read reduce remove repeat replace resolve restart result results retry review rotate run schedule \
    search see set several she since so some sort start stop such take test that the their then there these \
    they this those three to total try two under unless until update upgrade use verify wait watch we when \
    where whereas which while with within without write you your";

/// Number words from zero.
const NUMBERS: &str = "\
    zero one two three four five six seven eight nine ten eleven twelve";

pub(crate) struct ResultFacts {
    words: HashSet<String>,
    numbers: HashSet<String>,
    /// The full text in lowercase, with single spaces.
    text: String,
}

impl ResultFacts {
    pub(crate) fn new(texts: &[&str]) -> Self {
        let text = spaced(&texts.join("\n").to_lowercase());
        let words = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty());
        let words = words.map(str::to_owned).collect();
        let numbers = numbers(&text).collect();
        Self { words, numbers, text }
    }

    pub(crate) fn supports(&self, sentence: &str) -> bool {
        quotations(sentence).all(|quoted| self.text.contains(&spaced(&quoted.to_lowercase())))
            && self.supports_words(sentence)
    }

    fn supports_words(&self, sentence: &str) -> bool {
        let mut begins = true;
        let sentence = spaced(sentence);
        for raw in sentence.split_whitespace() {
            let word =
                raw.trim_matches(|c: char| !c.is_alphanumeric() && !matches!(c, '_' | '/' | '-' | '%' | '~'));
            let word = word.trim_end_matches(['-', '%', '/']);
            let first = std::mem::replace(&mut begins, raw.ends_with(['.', '!', '?', ':']));
            if !word.is_empty() && !self.contains_word(word, first) {
                return false;
            }
        }
        true
    }

    fn contains_word(&self, word: &str, first: bool) -> bool {
        let lower = word.to_lowercase();
        // `one` is usually a pronoun.
        if let Some(number) = digits(&lower).filter(|_| lower != "one") {
            return self.words.contains(&lower) || self.numbers.contains(&number);
        }
        if word.contains(|c: char| c.is_numeric()) {
            return self.contains_number(&lower);
        }
        let inner =
            word.chars().skip(1).any(|c| c.is_uppercase() || matches!(c, '_' | '/' | '.' | ':' | '@' | '\\'));
        let named = word.starts_with(char::is_uppercase) && !(first && listed(BEGINNINGS, &lower));
        !(named || inner || word.starts_with(['/', '~'])) || self.contains_name(&lower)
    }

    /// Checks a number, or a word with digits such as an ID, a date or a version.
    fn contains_number(&self, word: &str) -> bool {
        let plain = word.trim_start_matches('~');
        if plain.chars().all(|c| c.is_ascii_digit() || matches!(c, ',' | '.')) {
            return number(plain).is_some_and(|number| self.numbers.contains(&number));
        }
        // Compare dates as a whole, because their parts can match unrelated numbers.
        self.text.contains(plain)
            || plain.split_once('-').is_some_and(|(count, unit)| self.has_count(count, unit))
    }

    /// Whether the result has both parts of `2-minute`.
    fn has_count(&self, count: &str, unit: &str) -> bool {
        let has = |word: &str| self.words.contains(word);
        unit.chars().all(char::is_alphabetic)
            && number(count).is_some_and(|number| self.numbers.contains(&number))
            && (has(unit) || has(&format!("{unit}s")))
    }

    fn contains_name(&self, word: &str) -> bool {
        let stem = word.strip_suffix("'s").or_else(|| word.strip_suffix("’s")).unwrap_or(word);
        let whole = |word: &str| self.words.contains(word);
        let plural = stem.strip_suffix('s').is_some_and(whole);
        if whole(stem) || plural || self.text.contains(stem) && !stem.chars().all(char::is_alphanumeric) {
            return true;
        }
        // `Berlin/Hamburg`, `error-free`: two words that the sentence joined.
        let joined = |c: char| matches!(c, '/' | '-' | '–' | ':' | '(' | ')' | '\'');
        stem.contains(joined)
            && !stem.starts_with('/')
            && stem.split(joined).filter(|p| !p.is_empty()).all(whole)
    }
}

/// Returns the digits of a number word: `12` for `twelve`.
pub(super) fn digits(word: &str) -> Option<String> {
    NUMBERS.split_whitespace().position(|number| number == word).map(|at| at.to_string())
}

/// Extracts the facts that two summaries of one result should share: all numbers.
pub(crate) fn facts(sentences: &[String]) -> HashSet<String> {
    numbers(&sentences.join(" ").to_lowercase()).collect()
}

fn numbers(text: &str) -> impl Iterator<Item = String> {
    let parts = text.split(|c: char| !c.is_ascii_digit() && !matches!(c, ',' | '.'));
    // `1,2,3` can be three numbers, and `1,200` one; include both readings.
    parts.flat_map(|part| {
        number(part).into_iter().chain(part.split(',').filter_map(number)).collect::<Vec<_>>()
    })
}

pub(super) fn number(text: &str) -> Option<String> {
    let text = text.trim_matches(['.', ',']).replace(',', "");
    let plain = match text.split_once('.') {
        Some((whole, part)) if !part.contains('.') => match part.trim_end_matches('0') {
            "" => whole.to_owned(),
            part => format!("{whole}.{part}"),
        },
        _ => text,
    };
    (!plain.is_empty()).then_some(plain)
}

fn quotations(sentence: &str) -> impl Iterator<Item = &str> {
    let between = |mark: char| {
        let parts = sentence.split(mark).collect::<Vec<_>>();
        let closed = parts.len() - usize::from(parts.len() % 2 == 0);
        parts.into_iter().take(closed).skip(1).step_by(2)
    };
    let curly = sentence.split('“').skip(1).filter_map(|rest| rest.split_once('”').map(|(inside, _)| inside));
    between('"').chain(between('`')).chain(curly).filter(|quoted| !quoted.trim().is_empty())
}

/// Returns a text with single spaces and plain hyphens: `5–15` is `5-15`.
fn spaced(text: &str) -> String {
    let text = text.replace(['–', '‑', '—'], "-");
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RESULT: &str = r#"{"rows": [{"name": "Ada Lovelace", "city": "Oslo", "total": 1200.50, "path": "src/main.rs"},
        {"name": "Bob", "when": "2026-01-05", "version": "1.4.2", "state": "error_timeout", "delta": -7}], "count": 312}"#;

    #[test]
    fn supported_sentences_pass() {
        let known = ResultFacts::new(&[RESULT]);
        for sentence in [
            "There are 312 rows, and Ada Lovelace of Oslo has 1,200.5.",
            "All rows but two have no path; `src/main.rs` is Ada's.",
            "The state of Bob is error_timeout since 2026-01-05 (version 1.4.2).",
            "Oslo's total is \"1200.50\".",
        ] {
            assert_eq!(known.supports(sentence), !sentence.contains("two"), "{sentence}");
        }
    }

    #[test]
    fn unsupported_sentences_are_rejected() {
        let known = ResultFacts::new(&[RESULT]);
        for sentence in [
            "There are 313 rows.",
            "Berlin has the highest total.",
            "The total of Carol is missing.",
            "The file src/lib.rs is listed.",
            "Since 2026-01-06 the state is error_timeout.",
            "Version 1.4.3 fails.",
            "It says \"all is well\".",
            "Twelve rows failed.",
            "Total is 1,200.51.",
            "The delta is -8.",
            "Send it to eve@evil.example now.",
            "See https://evil.example/x for more.",
        ] {
            assert!(!known.supports(sentence), "{sentence}");
        }
    }
}
