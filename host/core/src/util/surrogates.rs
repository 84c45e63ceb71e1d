//! Lone surrogates in JSON, which `serde_json` rejects.

use std::borrow::Cow;

/// Replaces lone surrogates (`\ud83d` without its second half) with U+FFFD, as UTF-8 decoders do.
///
/// Clients that cut a string inside an emoji send them, and `serde_json` rejects the whole message.
pub fn replace_lone_surrogates(text: &[u8]) -> Cow<'_, [u8]> {
    let mut replaced = Cow::Borrowed(text);
    let mut at = 0;
    // In JSON, backslashes occur only in strings, and each starts an escape.
    while let Some(found) = text.get(at..).and_then(|rest| memchr::memchr(b'\\', rest)) {
        let escape = at + found;
        at = match code_unit(text, escape) {
            Some(0xD800..=0xDBFF) if matches!(code_unit(text, escape + 6), Some(0xDC00..=0xDFFF)) => {
                escape + 12
            }
            Some(0xD800..=0xDFFF) => {
                replaced.to_mut()[escape + 2..escape + 6].copy_from_slice(b"FFFD");
                escape + 6
            }
            Some(_) => escape + 6,
            None => escape + 2,
        };
    }
    replaced
}

/// Returns the code unit of the `\uXXXX` escape at this position.
fn code_unit(text: &[u8], at: usize) -> Option<u16> {
    let digits = text.get(at..at + 6)?.strip_prefix(b"\\u")?;
    let value = |digit: &u8| char::from(*digit).to_digit(16);
    let unit = digits.iter().try_fold(0, |unit, digit| Some(unit << 4 | value(digit)?))?;
    u16::try_from(unit).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_lone_surrogates_are_replaced() {
        for (text, expected) in [
            (r#""cut \ud83d""#, "cut \u{fffd}"),
            (r#""\uD83Dx""#, "\u{fffd}x"),
            (r#""\ude00\ud83d""#, "\u{fffd}\u{fffd}"),
            (r#""\ud83d\ud83d\ude00""#, "\u{fffd}\u{1f600}"),
            (r#""\ud83d\ude00\u0041""#, "\u{1f600}A"),
            (r#""\\ud83d""#, "\\ud83d"),
            (r#""\\\ud83d\n""#, "\\\u{fffd}\n"),
        ] {
            let replaced = replace_lone_surrogates(text.as_bytes());
            assert_eq!(serde_json::from_slice::<String>(&replaced).expect("a string"), expected, "{text}");
        }
        for text in ["", "\\", "\\u", "\\ud8", "\"\\u+123\"", "\\ud83d\\"] {
            let _ = replace_lone_surrogates(text.as_bytes());
        }
        let untouched = br#"{"a": "\ud83d\ude00 \"\\ud83d\""}"#;
        assert!(matches!(replace_lone_surrogates(untouched), Cow::Borrowed(_)));
    }
}
