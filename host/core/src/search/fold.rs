//! Forms of text for comparison, in which different spellings of the same characters are equal.

use std::borrow::Cow;

use icu_normalizer::{ComposingNormalizerBorrowed, DecomposingNormalizerBorrowed};

/// Returns a text as indexes, queries and names compare it: compatibility forms, ligatures and special letters by their
/// plain ones, without the diacritics of Latin and Greek, the points of Hebrew and Arabic, and invisible characters.
/// Case stays. Never show it.
pub fn search_key(text: &str) -> Cow<'_, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let mut key = String::with_capacity(text.len());
    let mut has_plain_base = false;
    for c in DecomposingNormalizerBorrowed::new_nfkd().normalize(text).chars() {
        match c {
            // Combining marks. Elsewhere they tell letters apart, such as Cyrillic й or が of kana.
            '\u{300}'..='\u{36F}' if has_plain_base => {}
            // Soft hyphen, joiners, direction and byte order marks, and Arabic's lengthening.
            '\u{AD}' | '\u{200B}'..='\u{200F}' | '\u{2060}' | '\u{FEFF}' | '\u{640}' => {}
            // Points and marks of vowels.
            '\u{591}'..='\u{5BD}' | '\u{5BF}' | '\u{5C1}'..='\u{5C2}' | '\u{5C4}'..='\u{5C7}' => {}
            '\u{610}'..='\u{61A}' | '\u{64B}'..='\u{65F}' | '\u{670}' => {}
            c => {
                has_plain_base = is_latin_or_greek(c) || has_plain_base && matches!(c, '\u{300}'..='\u{36F}');
                match plain_letters(c) {
                    Some(letters) => key.push_str(letters),
                    None => key.push(c),
                }
            }
        }
    }
    Cow::Owned(ComposingNormalizerBorrowed::new_nfc().normalize(&key).into_owned())
}

/// Returns a text with composed characters (NFC), as file systems and keyboards spell it differently.
pub fn composed(text: &str) -> Cow<'_, str> {
    if text.is_ascii() { Cow::Borrowed(text) } else { ComposingNormalizerBorrowed::new_nfc().normalize(text) }
}

fn is_latin_or_greek(c: char) -> bool {
    c.is_alphabetic() && matches!(c, '\0'..='\u{24F}' | '\u{370}'..='\u{3FF}' | '\u{1E00}'..='\u{1FFF}')
}

/// Returns what stands for a letter that does not decompose.
fn plain_letters(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'ẞ' => "SS",
        'æ' => "ae",
        'Æ' => "AE",
        'œ' => "oe",
        'Œ' => "OE",
        'ø' => "o",
        'Ø' => "O",
        'ł' => "l",
        'Ł' => "L",
        'đ' => "d",
        'Đ' => "D",
        'ı' => "i",
        'ς' => "σ",
        // Of `CO₂` and `x²`, the digits decompose; of prices and fractions, these do not.
        '\u{2044}' => "/",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_the_same_text_are_equal() {
        for (text, key) in [
            ("plain_Text-1", "plain_Text-1"),
            ("cafe\u{301}", "cafe"),
            ("Nguyễn", "Nguyen"),
            ("보호", "보호"),
            ("\u{1107}\u{1169}\u{1112}\u{1169}", "보호"),
            ("ｶﾞｲﾄﾞ ＡＰＩ", "ガイド API"),
            ("か\u{3099}", "が"),
            ("oﬃce CO₂ x² ½", "office CO2 x2 1/2"),
            ("da\u{AD}ta\u{200B}ba\u{FEFF}se", "database"),
            ("Straße STRASSE", "Strasse STRASSE"),
            ("ὁδός ΟΔΟΣ", "οδοσ ΟΔΟΣ"),
            ("İSTANBUL Tromsø cœur", "ISTANBUL Tromso coeur"),
            ("שָׁלוֹם", "שלום"),
            ("مُحَمَّد", "محمد"),
            ("мой ёж", "мой ёж"),
            ("हिन्दी", "हिन्दी"),
        ] {
            assert_eq!(search_key(text), key, "{text}");
            assert_eq!(search_key(key), key, "{key} is its own key");
        }
    }
}
