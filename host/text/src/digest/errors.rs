//! Detects words for errors, and finds errors in the values of a document.

use super::{
    anomalies::{Anomaly, MIN_ROWS, PlaceAnalysis},
    document::{NodeIndex, NodeKind},
};
use crate::split_list;

/// Prefixes of words, in lower case. Each includes its inflections.
const ERRORS: [&str; 24] = split_list(
    "error|fail|fatal|exception|traceback|panic|crash|abort|denied|refused|timeout|timed out|unauthorized|\
    forbidden|invalid|unavailable|unreachable|corrupt|overflow|segfault|rejected|exceeded|missing|\
    not found",
);

/// Maximum length of an inflection: `s` to `ures`.
const MAX_SUFFIX_BYTES: usize = 4;

/// Maximum bytes to scan. A log of megabytes shows its errors early or in its rows.
const MAX_SCANNED_BYTES: usize = 16 << 10;

/// Last words of keys for messages of programs.
const MESSAGE_KEYS: [&str; 24] = split_list(
    "message|msg|error|errors|reason|detail|details|cause|exception|stderr|output|log|note|notes|status|\
    state|result|conclusion|outcome|event|body|response|level|severity",
);

/// Last words of keys for names, paths and descriptions, whose values are not errors.
const NAME_KEYS: [&str; 49] = split_list(
    "name|id|key|path|file|filename|url|uri|href|package|description|summary|title|subject|keywords|tags|\
    readme|doc|docs|help|section|depends|dependencies|features|default|type|version|license|dist|\
    requires|classifiers|query|question|prompt|q|search|term|topic|overview|markdown|heading|\
    label|caption|abstract|snippet|command|cmd|args|argv",
);

/// Maximum offset in bytes of an error word in a value that is not a message.
const MAX_EARLY_OFFSET: usize = 48;

/// Maximum bytes of a message with an error word anywhere.
const MAX_MESSAGE_BYTES: usize = 2_000;

/// Returns the offset of the first error word if the value reports an error. The key matters too: the package name
/// `libgpg-error-dev` does not report one.
pub(super) fn says_error(key: &str, text: &str) -> Option<usize> {
    let last = last_word(key);
    let at = error_at(text)?;
    if MESSAGE_KEYS.contains(&last.as_str()) {
        // A document that a tool returns mentions errors somewhere.
        return (at <= MAX_EARLY_OFFSET || text.len() <= MAX_MESSAGE_BYTES).then_some(at);
    }
    let has_several_words = text.split_ascii_whitespace().nth(1).is_some();
    let is_message = has_several_words && at <= MAX_EARLY_OFFSET && text.len() <= MAX_MESSAGE_BYTES;
    (!NAME_KEYS.contains(&last.as_str()) && is_message).then_some(at)
}

/// Returns the last word of a key in lower case: `error` for `lastError` and `$.runs[].error`.
fn last_word(key: &str) -> String {
    let key = key.trim_end_matches(|c: char| !c.is_alphanumeric());
    // Headers of tables such as `STATUS` are one word.
    let lower = key.to_lowercase();
    let key = if key.contains(char::is_lowercase) { key } else { &lower };
    let start = key
        .char_indices()
        .rev()
        .scan(false, |ended, (at, c)| {
            if *ended || !c.is_alphanumeric() {
                return None;
            }
            *ended = c.is_uppercase();
            Some(at)
        })
        .last();
    start.map_or(String::new(), |at| key[at..].to_lowercase())
}

pub(super) fn error_at(text: &str) -> Option<usize> {
    let bytes = &text.as_bytes()[..text.len().min(MAX_SCANNED_BYTES)];
    let begins = |at: usize, word: &str| {
        bytes.get(at..at + word.len()).is_some_and(|part| part.eq_ignore_ascii_case(word.as_bytes()))
    };
    let mut inside = false;
    for (at, byte) in bytes.iter().enumerate() {
        let letter = byte.is_ascii_alphabetic();
        // `IOException` and `read_error` count: a word also starts at a capital next to a small letter.
        let small = |at: Option<usize>| at.and_then(|at| bytes.get(at)).is_some_and(u8::is_ascii_lowercase);
        let capital = byte.is_ascii_uppercase() && (small(at.checked_sub(1)) || small(Some(at + 1)));
        let may = letter && (!inside || capital) && MAY_BEGIN[(byte | 0x20) as usize];
        // With a longer suffix, it is another word: `exceptiongroup`.
        let ends = |word: &str| {
            let tail = bytes[at + word.len()..].iter().take_while(|b| b.is_ascii_lowercase()).count();
            tail <= MAX_SUFFIX_BYTES
        };
        if may && ERRORS.iter().any(|word| begins(at, word) && ends(word)) {
            return Some(at);
        }
        // The letter of an escape (`\n`) is not part of a word.
        inside = letter && !(at > 0 && bytes[at - 1] == b'\\');
    }
    None
}

/// First letters of the words, to skip most comparisons.
const MAY_BEGIN: [bool; 256] = {
    let mut may = [false; 256];
    let mut word = 0;
    while word < ERRORS.len() {
        may[ERRORS[word].as_bytes()[0] as usize] = true;
        word += 1;
    }
    may
};

impl PlaceAnalysis<'_, '_> {
    pub(super) fn errors(&self) -> Option<Anomaly> {
        let says = |id: NodeIndex| says_error(self.place.key(), self.document.raw(id));
        let is_error = |id: NodeIndex| self.document.kind(id) == NodeKind::String && says(id).is_some();
        let scalars = self.stats.scalars.iter().copied();
        let mut errors: Vec<_> = scalars.filter(|(_, id)| is_error(*id)).collect();
        // A text that starts with an error word is an error; a text with one further on only mentions it.
        errors.sort_by_key(|(_, id)| says(*id));
        let times: usize = errors.iter().map(|(n, _)| n).sum();
        if times == 0 || times * 10 > self.rows.max(10) {
            return None;
        }
        let list = self.list(errors.iter().map(|(_, id)| *id));
        let text = match self.rows {
            1 => format!("{} reports an error: {list}", self.place.name),
            rows => format!("{} reports errors in {times} of {rows} rows: {list}", self.place.name),
        };
        // Prose mentions errors; a short text with an error word is one.
        let short = errors.iter().any(|(_, id)| self.document.size(*id) <= 200);
        let alone = if self.rows < MIN_ROWS { 6.0 } else { 0.0 };
        let score = self.surprise_bits(times, times) + alone + if short { 5.0 } else { 0.0 };
        self.anomaly(score, text, Some(errors[0].1))
    }

    pub(super) fn error_key(&self) -> Option<Anomaly> {
        let (place, document) = (self.place, self.document);
        if place.is_row || error_at(place.key()).is_none() {
            return None;
        }
        let empty =
            |id: NodeIndex| matches!(document.source(id), "null" | "false" | "0" | "\"\"" | "[]" | "{}");
        let values: Vec<NodeIndex> = place.values.iter().copied().filter(|id| !empty(*id)).collect();
        if values.is_empty() || values.len() * 10 > self.rows.max(10) {
            return None;
        }
        let list = self.list(values.iter().copied());
        let text = format!("{} is present in {} of {}: {list}", place.name, values.len(), self.rows);
        self.anomaly(self.surprise_bits(values.len(), 1) + 6.0, text, values.first().copied())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_no_messages() {
        for (key, text) in [
            ("package", "libgpg-error-dev"),
            ("description", "library for errors"),
            ("$.a[].keywords[]", "error"),
            ("x", "error"),
            ("path", "/usr/share/doc/fail here"),
        ] {
            assert_eq!(says_error(key, text), None, "{key} {text}");
        }
        for (key, text) in
            [("lastError", "timeout"), ("x", "failed to open"), ("run_status", "FAILED"), ("[]", "fatal: no")]
        {
            assert!(says_error(key, text).is_some(), "{key} {text}");
        }
    }

    #[test]
    fn words_of_errors_are_found_in_their_forms() {
        for text in [
            "Connection refused",
            "java.io.IOException: x",
            "TimeoutError",
            "3 tests FAILED",
            "read_error",
            "a\\nerror",
        ] {
            assert!(error_at(text).is_some(), "{text}");
        }
        for text in ["ok", "terrors", "a mirror", "prevail", "", "undenied", "日本"] {
            assert!(error_at(text).is_none(), "{text}");
        }
    }
}
