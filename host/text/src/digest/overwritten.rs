//! Text as a reader sees it: lines that a program overwrote with carriage returns, and data in the middle of a text.

use std::borrow::Cow;

/// Returns the text with the last state of each line, as a terminal shows it. In a text without line feeds, carriage
/// returns end lines.
pub(super) fn with_last_states(text: &str) -> Cow<'_, str> {
    let overwrites = |line: &str| line.trim_end_matches('\r').contains('\r');
    if !text.contains('\r') || text.trim_start().starts_with(['{', '[']) || !text.lines().any(overwrites) {
        return Cow::Borrowed(text);
    }
    if !text.contains('\n') {
        return text.replace('\r', "\n").into();
    }
    let last = |line: &str| {
        let line = line.trim_end_matches('\r');
        line.rsplit('\r').find(|state| !state.trim().is_empty()).unwrap_or_default().to_owned()
    };
    let lines: Vec<String> = text.split('\n').map(last).collect();
    lines.join("\n").into()
}

/// Maximum bytes of a word. Longer ones are data, such as a picture in base64.
const MAX_WORD_BYTES: usize = 2_000;

/// Characters that stay of such a word.
const SHOWN_CHARS: usize = 40;

/// Returns the text with long words cut, so that they hide no lines. JSON and markup stay as they are.
pub(super) fn with_short_words(text: Cow<'_, str>) -> Cow<'_, str> {
    let is_long = |word: &str| word.len() > MAX_WORD_BYTES;
    if text.trim_start().starts_with(['{', '[', '<']) || !text.split_whitespace().any(is_long) {
        return text;
    }
    let cut = |word: &str| {
        let blank = &word[word.trim_end().len()..];
        let shown: String = word.chars().take(SHOWN_CHARS).collect();
        format!("{shown}… ({} characters){blank}", word.trim_end().chars().count())
    };
    let words = text.split_inclusive(char::is_whitespace);
    words
        .map(|word| if is_long(word.trim_end()) { cut(word) } else { word.to_owned() })
        .collect::<String>()
        .into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_in_the_middle_of_a_text_is_cut() {
        let text = format!("Taken.\n{}\nSaved as a.png\n", "QUJD".repeat(1_000));
        let cut = with_short_words(Cow::Borrowed(&text));
        assert_eq!(cut, format!("Taken.\n{}… (4000 characters)\nSaved as a.png\n", "QUJD".repeat(10)));
        let json = format!("[\"{}\"]", "x".repeat(9_000));
        assert_eq!(with_short_words(Cow::Borrowed(&json)), json);
    }

    #[test]
    fn the_last_state_of_a_line_remains_and_other_lines_stay() {
        let text = "begin\r\n10 %\r20 %\r100 %\rERROR: no\nnext\r\n\r50 %\r   \nend";
        assert_eq!(with_last_states(text), "begin\nERROR: no\nnext\n50 %\nend");
        assert_eq!(with_last_states("a\rb\rc\r"), "a\nb\nc\n");
        for text in ["a\r\nb\r\n", "a\nb", "[1,\r2]"] {
            assert!(matches!(with_last_states(text), Cow::Borrowed(_)), "{text:?}");
        }
    }
}
