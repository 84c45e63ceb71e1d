//! N-grams for scripts other than Latin, because the word index splits at spaces and stems English.
//!
//! Chinese, Japanese, Korean and South East Asian scripts use bigrams: their words are mostly two letters long and have
//! no separators. Other scripts use trigrams, which also match inflected forms. The shorter n-grams at the end of each
//! run are indexed too, so that a query shorter than an n-gram matches as a prefix.

use std::borrow::Cow;

use super::fold::search_key;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ScriptKind {
    /// Covered by the word index: Latin letters, digits and everything that is not a letter.
    Latin,
    /// Written without spaces, or with inflected endings; indexed as bigrams.
    Bigrams,
    Trigrams,
}

fn script_kind(c: char) -> ScriptKind {
    match c {
        // ASCII, Latin-1 and the Latin extensions, including ª and º; IPA; full-width Latin.
        '\0'..='\u{2AF}' | '\u{1D00}'..='\u{1DBF}' | '\u{1E00}'..='\u{1EFF}' => ScriptKind::Latin,
        '\u{2C60}'..='\u{2C7F}'
        | '\u{A720}'..='\u{A7FF}'
        | '\u{AB30}'..='\u{AB6F}'
        | '\u{FF21}'..='\u{FF5A}' => ScriptKind::Latin,
        // Thai and Lao, Myanmar, Hangul Jamo, Khmer.
        '\u{E01}'..='\u{E4E}' | '\u{E81}'..='\u{ECD}' | '\u{1000}'..='\u{103F}' | '\u{1100}'..='\u{11FF}' => {
            ScriptKind::Bigrams
        }
        '\u{1780}'..='\u{17D3}' => ScriptKind::Bigrams,
        // 々 and 〇, kana, Bopomofo, Hangul, Han, half-width kana, Han beyond the basic plane.
        '\u{3005}'..='\u{3007}'
        | '\u{3041}'..='\u{3096}'
        | '\u{309D}'..='\u{309F}'
        | '\u{30A1}'..='\u{30FA}' => ScriptKind::Bigrams,
        '\u{30FC}'..='\u{318E}'
        | '\u{31A0}'..='\u{31BF}'
        | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}' => ScriptKind::Bigrams,
        '\u{4E00}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7FF}' | '\u{F900}'..='\u{FAFF}' => ScriptKind::Bigrams,
        '\u{FF66}'..='\u{FFDC}' | '\u{20000}'..='\u{3FFFF}' => ScriptKind::Bigrams,
        c if c.is_alphabetic() => ScriptKind::Trigrams,
        _ => ScriptKind::Latin,
    }
}

pub fn has_other(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|c| script_kind(c) != ScriptKind::Latin)
}

/// Returns whether the text has a script that is written without spaces.
pub fn has_spaceless(text: &str) -> bool {
    !text.is_ascii() && text.chars().any(|c| script_kind(c) == ScriptKind::Bigrams)
}

/// Returns the n-grams of the text in lower case, separated by spaces, for an index that splits at ASCII spaces only.
pub fn grams(text: &str) -> String {
    let mut pieces = String::new();
    if text.is_ascii() {
        return pieces;
    }
    for (script, run) in runs(text) {
        for start in 0..run.len() {
            let end = (start + ngram_len(script)).min(run.len());
            if !pieces.is_empty() {
                pieces.push(' ');
            }
            pieces.extend(&run[start..end]);
        }
    }
    pieces
}

/// Run of letters of one script in a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScriptRun {
    pub text: String,
    /// Distinct n-grams in lower case. A document with the run contains all of them.
    pub pieces: Vec<String>,
    /// True if the run is shorter than an n-gram, so it must match as a prefix.
    pub beginning: bool,
    /// True if one matching n-gram is enough, because a run without spaces contains several words.
    pub any: bool,
}

pub fn script_runs(text: &str, limit: usize) -> Vec<ScriptRun> {
    let mut results: Vec<ScriptRun> = Vec::new();
    if text.is_ascii() {
        return results;
    }
    for (script, mut run) in runs(text) {
        if results.len() >= limit {
            break;
        }
        run.truncate(MAX_RUN);
        let length = ngram_len(script).min(run.len());
        let mut pieces: Vec<String> = Vec::new();
        for window in run.windows(length) {
            let piece: String = window.iter().collect();
            if !pieces.contains(&piece) {
                pieces.push(piece);
            }
        }
        let beginning = length < ngram_len(script);
        let any = script == ScriptKind::Bigrams && !beginning;
        let run = ScriptRun { text: run.into_iter().collect(), pieces, beginning, any };
        if !results.contains(&run) {
            results.push(run);
        }
    }
    results
}

const MAX_RUN: usize = 64;

fn ngram_len(script: ScriptKind) -> usize {
    if script == ScriptKind::Bigrams { 2 } else { 3 }
}

/// Returns runs of one script in lower case, without Latin text.
fn runs(text: &str) -> Vec<(ScriptKind, Vec<char>)> {
    let text = search_key(text);
    let mut runs: Vec<(ScriptKind, Vec<char>)> = Vec::new();
    let mut last = ScriptKind::Latin;
    for c in text.chars() {
        let script = script_kind(c);
        if script != ScriptKind::Latin {
            if script != last {
                runs.push((script, Vec::new()));
            }
            if let Some((_, run)) = runs.last_mut() {
                run.extend(c.to_lowercase());
            }
        }
        last = script;
    }
    runs
}

/// Returns the [key](search_key) of a text for the word index, with spaces between Latin and scripts written without
/// spaces, so that the index finds `GGUF` in `导出GGUF格式`.
pub fn separate_scripts(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let key = search_key(text);
    let text = &*key;
    let mut out = String::new();
    let mut copied = 0;
    let mut before: Option<char> = None;
    for (at, c) in text.char_indices() {
        let touches = |pair: char, word: char| script_kind(pair) == ScriptKind::Bigrams && is_word(word);
        if before.is_some_and(|before| touches(before, c) || touches(c, before)) {
            out.push_str(&text[copied..at]);
            out.push(' ');
            copied = at;
        }
        before = Some(c);
    }
    if copied == 0 {
        return key;
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() && script_kind(c) == ScriptKind::Latin
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn pieces(text: &str) -> Vec<Vec<String>> {
        script_runs(text, 10).into_iter().map(|stretch| stretch.pieces).collect()
    }

    #[test]
    fn latin_text_has_no_ngrams() {
        for text in ["", "plain words", "Größe café naïve Ａ", "1 + 2 ∑ 🙂", "łódź ſ ɸ"] {
            assert_eq!((grams(text).as_str(), has_other(text)), ("", false), "{text}");
        }
    }

    #[test]
    fn chinese_uses_bigrams_and_russian_trigrams() {
        assert_eq!(grams("如何保存 model 模型"), "如何 何保 保存 存 模型 型");
        assert_eq!(grams("Модели да"), "мод оде дел ели ли и да а");
        assert_eq!(pieces("保存模型"), [["保存", "存模", "模型"]]);
        assert_eq!(pieces("модель"), [["мод", "оде", "дел", "ель"]]);
    }

    #[test]
    fn run_shorter_than_an_ngram_matches_as_prefix() {
        for (text, document) in [("猫", "黑猫"), ("猫", "猫咪"), ("да", "да"), ("да", "дать"), ("я", "моя")]
        {
            let stretch = &script_runs(text, 1)[0];
            assert!(stretch.beginning && stretch.pieces == [text.to_owned()]);
            assert!(grams(document).split(' ').any(|piece| piece.starts_with(text)), "{text} in {document}");
        }
    }

    #[test]
    fn latin_words_are_separated_from_other_scripts() {
        assert_eq!(separate_scripts("导出GGUF格式"), "导出 GGUF 格式");
        assert_eq!(separate_scripts("v2の3"), "v2 の 3");
        assert_eq!(separate_scripts("plain"), "plain");
        assert_eq!(separate_scripts("Größe и размер"), "Grosse и размер");
    }

    #[test]
    fn long_queries_are_bounded() {
        let long = "模".repeat(1_000_000);
        assert_eq!(script_runs(&long, 5)[0].text.chars().count(), MAX_RUN);
        let many = (0..5_000_u32)
            .filter_map(|n| char::from_u32(0x4E00 + n))
            .map(|c| format!("{c} "))
            .collect::<String>();
        assert_eq!(script_runs(&many, 5).len(), 5);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn run_is_found_in_every_text_that_contains_it(
            before in "[а-яёa-z ]{0,5}", word in "[а-яё]{1,8}|[一-龥]{1,6}|[ก-ฮ]{1,4}|[가-힣]{1,4}", after in "[а-яё一-龥a-z ]{0,5}",
        ) {
            let indexed = grams(&format!("{before}{word}{after}"));
            let indexed: Vec<&str> = indexed.split(' ').collect();
            for stretch in script_runs(&word, 10) {
                for piece in &stretch.pieces {
                    let held = indexed.iter().any(|held| {
                        if stretch.beginning { held.starts_with(piece.as_str()) } else { held == piece }
                    });
                    prop_assert!(held, "{} in {:?}", piece, indexed);
                }
            }
        }
    }
}
