//! Splits a text into pieces before it is encoded, by the regular expression of the vocabulary.
//!
//! Matching it over the whole text would dominate a digest's run time. For o200k, hand-written code therefore splits
//! ASCII, and the expression is used only if a piece touches another character. A property test checks that both agree.

use regex_automata::{Anchored, Input, meta::Regex};

pub(super) struct PieceSplitter {
    expression: Regex,
    /// True if hand-written code splits ASCII.
    by_hand: bool,
}

/// Index and expression for whitespace before its last character: `\s+(?!\S)` without a look-ahead.
const BEFORE_THE_LAST: (usize, &str) = (1, r"\s+\s");

impl PieceSplitter {
    pub(super) fn o200k() -> Self {
        let word = r"[^\r\n\p{L}\p{N}]?";
        let (upper, lower) = (r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]");
        let contraction = "(?i:'s|'t|'re|'ve|'m|'ll|'d)?";
        let other_pieces = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+$";
        let words = format!("{word}{upper}*{lower}+{contraction}|{word}{upper}+{lower}*{contraction}");
        Self { expression: expression(&format!("{words}|{other_pieces}")), by_hand: true }
    }

    pub(super) fn cl100k() -> Self {
        let words = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+";
        let other_pieces = r"\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+$";
        Self { expression: expression(&format!("{words}|{other_pieces}")), by_hand: false }
    }

    /// Returns the pieces in order. Joined, they are the text.
    pub(super) fn split<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a [u8]> {
        let mut at = 0;
        std::iter::from_fn(move || {
            let begin = at;
            let by_hand = if self.by_hand { ascii(text.as_bytes(), at) } else { None };
            at = by_hand.unwrap_or_else(|| self.end(text, begin));
            (begin < text.len()).then(|| &text.as_bytes()[begin..at])
        })
    }

    /// Returns the end of the piece that starts at `at`, by the expression.
    fn end(&self, text: &str, at: usize) -> usize {
        let rest = &text[at..];
        let Some(found) = self.expression.find(Input::new(rest).anchored(Anchored::Yes)) else {
            return text.len();
        };
        let mut piece = &rest[..found.end()];
        if found.pattern().as_usize() == BEFORE_THE_LAST.0 {
            let last = piece.chars().next_back().map_or(0, char::len_utf8);
            piece = &piece[..piece.len() - last];
        }
        at + piece.len()
    }
}

fn expression(all_but_white: &str) -> Regex {
    Regex::new_many(&[all_but_white, BEFORE_THE_LAST.1, r"\s+"]).expect("the expressions are valid")
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Upper,
    Lower,
    Digit,
    NewLine,
    Space,
    Mark,
    Beyond,
}

const CLASSES: [CharClass; 256] = {
    let mut classes = [CharClass::Beyond; 256];
    let mut byte = 0;
    while byte < 128 {
        classes[byte] = match byte as u8 {
            b'A'..=b'Z' => CharClass::Upper,
            b'a'..=b'z' => CharClass::Lower,
            b'0'..=b'9' => CharClass::Digit,
            b'\r' | b'\n' => CharClass::NewLine,
            b'\t' | 0x0B | 0x0C | b' ' => CharClass::Space,
            _ => CharClass::Mark,
        };
        byte += 1;
    }
    classes
};

/// Returns the end of the piece that starts at `at`, `None` if that depends on characters outside ASCII. The branches
/// follow the order of the alternatives in the expression.
fn ascii(text: &[u8], at: usize) -> Option<usize> {
    let class = |at: usize| text.get(at).map(|byte| CLASSES[*byte as usize]);
    let first = class(at)?;
    match first {
        CharClass::Beyond => None,
        CharClass::Upper | CharClass::Lower => word(text, at),
        CharClass::Digit => {
            let end = (at + 1..at + 3).find(|i| class(*i) != Some(CharClass::Digit)).unwrap_or(at + 3);
            // Digits also exist outside ASCII.
            (end == at + 3 || class(end) != Some(CharClass::Beyond)).then_some(end)
        }
        CharClass::Mark | CharClass::Space => match class(at + 1) {
            Some(CharClass::Upper | CharClass::Lower) => word(text, at + 1),
            Some(CharClass::Beyond) => None,
            Some(CharClass::Mark) if text[at] == b' ' => marks(text, at + 1),
            _ if first == CharClass::Mark => marks(text, at),
            _ => space(text, at),
        },
        CharClass::NewLine => space(text, at),
    }
}

/// Matches upper-case letters, then lower-case letters, then a contraction.
fn word(text: &[u8], at: usize) -> Option<usize> {
    let run = |from: usize, class: CharClass| {
        text[from..].iter().position(|b| CLASSES[*b as usize] != class).map_or(text.len(), |n| from + n)
    };
    let end = run(run(at, CharClass::Upper), CharClass::Lower);
    match text.get(end) {
        Some(byte) if !byte.is_ascii() => None,
        Some(b'\'') => contraction(text, end),
        _ => Some(end),
    }
}

fn contraction(text: &[u8], at: usize) -> Option<usize> {
    let letter = |i: usize| text.get(at + i).map_or(b' ', u8::to_ascii_lowercase);
    match (letter(1), letter(2)) {
        (first, second) if !first.is_ascii() || !second.is_ascii() => None,
        (b's' | b't' | b'm' | b'd', _) => Some(at + 2),
        (b'r', b'e') | (b'v', b'e') | (b'l', b'l') => Some(at + 3),
        _ => Some(at),
    }
}

/// Matches punctuation, then line ends and slashes.
fn marks(text: &[u8], at: usize) -> Option<usize> {
    let run = text[at..].iter().take_while(|b| CLASSES[**b as usize] == CharClass::Mark).count();
    if text.get(at + run).is_some_and(|byte| !byte.is_ascii()) {
        return None;
    }
    let tail = text[at + run..].iter().take_while(|b| matches!(b, b'\r' | b'\n' | b'/')).count();
    Some(at + run + tail)
}

/// Matches whitespace up to its last line end. Without a line end, leaves the last character to the next piece, unless
/// the text ends there or it is the only character.
fn space(text: &[u8], at: usize) -> Option<usize> {
    let white = |b: &u8| matches!(CLASSES[*b as usize], CharClass::Space | CharClass::NewLine);
    let end = text[at..].iter().position(|b| !white(b)).map_or(text.len(), |n| at + n);
    if text.get(end).is_some_and(|byte| !byte.is_ascii()) {
        return None;
    }
    let line_end = text[at..end].iter().rposition(|b| matches!(b, b'\r' | b'\n'));
    Some(match line_end {
        Some(last) => at + last + 1,
        None if end == text.len() || end - at == 1 => end,
        None => end - 1,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use crate::tokens::O200K;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        // Both alphabets contain the characters that the expression treats specially. The second also has those that
        // make ASCII ambiguous (a long s after an apostrophe, a no-break space, a combining mark).
        #[test]
        fn what_is_cut_by_hand_is_cut_as_the_expression_has_it(
            ascii in r#"([A-Ca-cslLvVreRE0-9'"{}:,/. \t\r\n\x0b\x1c\x7f]|the|\\n){0,80}"#,
            mixed in "([A-Cas0-9' \n\t.,/é\u{301}\u{17f}\u{212a}\u{a0}\u{2028}中٣Ⅷ😀ǅ]){0,60}",
        ) {
            for text in [&ascii, &mixed, &format!("{ascii}{mixed}")] {
                let mut at = 0;
                for piece in O200K.pieces.split(text) {
                    prop_assert_eq!(at + piece.len(), O200K.pieces.end(text, at), "{:?}", text);
                    at += piece.len();
                }
                prop_assert_eq!(at, text.len());
            }
        }
    }
}
