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
    // Values without letters and digits, such as `★★`.
    let symbols: HashSet<&str> = text.split_whitespace().collect();
    let (mut proven, mut has_values) = (false, false);
    for (kind, place) in tokens(data) {
        let json = &data[place];
        let value = match kind {
            JsonTokenKind::String if json.len() > text.len() + 2 => return false,
            JsonTokenKind::String => serde_json::from_str(json).unwrap_or_default(),
            JsonTokenKind::Word if json != "null" => json.to_owned(),
            _ => continue,
        };
        has_values = true;
        let value_words: Vec<String> = self::words(&value).collect();
        let length = value_words.len().min(MAX_WORDS);
        let is_said = match length {
            0 => value.split_whitespace().all(|symbol| symbols.contains(symbol)),
            _ => value_words.windows(length).all(|row| rows.contains(&hash(row))),
        };
        if !is_said {
            return false;
        }
        proven |= value.chars().take(MIN_CHARS).count() == MIN_CHARS;
    }
    // Empty lists and objects say nothing that a text lacks.
    if has_values { proven } else { !text.trim().is_empty() }
}

/// Returns the words of a text in lower case. A minus before a number belongs to it.
fn words(text: &str) -> impl Iterator<Item = String> {
    let is_part = |c: char| c.is_alphanumeric() || c == '-';
    text.split(move |c: char| !is_part(c)).flat_map(|part| {
        let is_number = part.starts_with('-') && part[1..].starts_with(|c: char| c.is_ascii_digit());
        let rest = if is_number { &part[1..] } else { part };
        let sign = if is_number { "-" } else { "" };
        let words = rest.split('-').filter(|word| !word.is_empty()).enumerate();
        words.map(
            move |(at, word)| {
                if at == 0 { format!("{sign}{}", word.to_lowercase()) } else { word.to_lowercase() }
            },
        )
    })
}

fn hash(words: &[String]) -> u64 {
    let mut hasher = DefaultHasher::new();
    words.hash(&mut hasher);
    hasher.finish()
}
