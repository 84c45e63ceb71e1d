//! Whether a text says what structured content says.

use std::{
    collections::HashSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::json_token::{JsonTokenKind, tokens};

/// Words in a row to look up at once.
const MAX_WORDS: usize = 4;

/// Minimum characters of a value that proves something. Shorter ones occur in any text.
const MIN_CHARS: usize = 4;

/// Maximum bytes of a text to compare, because each word takes up to 64 bytes of memory.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// Returns true if the text has each value of the data, as whole words in a row. Takes time linear in both.
pub(super) fn says_all(text: &str, data: &str) -> bool {
    if text.len() > MAX_TEXT_BYTES {
        return false;
    }
    let words: Vec<String> = words(text).collect();
    let mut rows: HashSet<u64> = HashSet::new();
    for length in 1..=MAX_WORDS {
        rows.extend(words.windows(length).map(hash));
    }
    let mut proven = false;
    for (kind, place) in tokens(data) {
        let value = match kind {
            JsonTokenKind::String => serde_json::from_str(&data[place]).unwrap_or_default(),
            JsonTokenKind::Word
                if data[place.clone()].starts_with(|c: char| c == '-' || c.is_ascii_digit()) =>
            {
                data[place].to_owned()
            }
            _ => continue,
        };
        if value.chars().take(MIN_CHARS).count() < MIN_CHARS {
            continue;
        }
        let value: Vec<String> = self::words(&value).collect();
        let length = value.len().min(MAX_WORDS);
        if length == 0 {
            continue;
        }
        if !value.windows(length).all(|row| rows.contains(&hash(row))) {
            return false;
        }
        proven = true;
    }
    proven
}

fn words(text: &str) -> impl Iterator<Item = String> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

fn hash(words: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}
