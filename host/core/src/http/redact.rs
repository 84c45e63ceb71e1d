//! Removes secrets from responses.
//!
//! This protects against servers that echo a request. A malicious server can always reveal its own credential in an
//! encoding that is not searched.

use std::{fmt, ops::Range};

use memchr::memmem::Finder;

use super::{escapes::UnescapedText, secret::Secret};

const REDACTION_MARK: &[u8] = b"[redacted]";

/// Minimum length of a secret that is searched for in bodies. Shorter ones would match by chance.
const MIN_BODY_SECRET: usize = 8;

const MIN_SECRET: usize = 4;

/// Minimum entropy of a word of a secret that is searched for by itself, in bits for each character.
pub const MIN_ENTROPY: f64 = 3.0;

/// Layers of escapes that are decoded, such as JSON in HTML in a URL.
const MAX_ESCAPE_LAYERS: usize = 3;

/// Bytes that are unescaped at a time. Each takes eight more bytes for its offset.
const WINDOW_BYTES: usize = 256 << 10;

/// Maximum bytes that all layers of escapes usually make of one byte.
const MAX_ESCAPE_GROWTH: usize = 24;

/// A redactor for the secrets of a gate's rules, also when escaped for JSON, HTML or URLs.
#[derive(Clone, Default)]
pub struct Redactor {
    needles: Vec<Finder<'static>>,
    /// True if secrets below [`MIN_BODY_SECRET`] are searched for in bodies too, as whole words.
    finds_short: bool,
}

impl Redactor {
    /// Creates a redactor for `secrets` and each long random word in them, because `Bearer abc` may return as `abc`. JSON is
    /// no list of words.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut needles: Vec<Vec<u8>> = Vec::new();
        for secret in secrets {
            let whole = std::iter::once(secret.reveal().trim());
            let is_json = secret.reveal().trim_start().starts_with(['{', '[']);
            let words = secret
                .reveal()
                .split_whitespace()
                .filter(|word| !is_json && word.len() >= MIN_BODY_SECRET && is_random(word));
            for value in whole.chain(words).filter(|value| value.len() >= MIN_SECRET) {
                needles.push(value.into());
                // The secret may itself contain escapes, which are gone from unescaped text.
                let mut inner = UnescapedText::from_bytes(value.as_bytes());
                let layers = (0..MAX_ESCAPE_LAYERS).take_while(|_| inner.unescape_layer()).count();
                if layers > 0 && inner.bytes.len() >= MIN_SECRET {
                    needles.push(inner.bytes);
                }
            }
        }
        needles.sort();
        needles.dedup();
        let needles = needles.iter().map(|needle| Finder::new(needle).into_owned()).collect();
        Self { needles, finds_short: false }
    }

    /// Finds secrets from 4 characters on in bodies too. Those below 8 characters must be whole words.
    #[must_use]
    pub fn with_short_secrets(self) -> Self {
        Self { finds_short: true, ..self }
    }

    /// Returns true if there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    pub fn with_secret(&self, secret: &Secret) -> Self {
        let mut needles = self.needles.clone();
        needles.extend(Self::new([secret]).needles);
        Self { needles, ..*self }
    }

    pub fn redact_header(&self, value: Vec<u8>) -> Vec<u8> {
        self.redact(value, ShortSecrets::Anywhere)
    }

    /// Returns true if a header name contains a secret. Ignores case, because HTTP lowercases names.
    pub fn name_has_secret(&self, name: &str) -> bool {
        let name = name.to_ascii_lowercase();
        self.needles.iter().any(|needle| {
            let needle = needle.needle().to_ascii_lowercase();
            memchr::memmem::find(name.as_bytes(), &needle).is_some()
        })
    }

    pub fn redact_body(&self, body: Vec<u8>) -> Vec<u8> {
        self.redact(body, self.short_in_body())
    }

    /// Redacts binary content. `None` if it has no secret. In what is not text, escapes are not decoded, and secrets below 8
    /// characters are not searched for, because they would match by chance.
    pub fn redact_binary(&self, bytes: &[u8]) -> Option<Vec<u8>> {
        let clean = match std::str::from_utf8(bytes) {
            Ok(text) => self.redact_text(text.to_owned()).into_bytes(),
            Err(_) => {
                let long = self.needles.iter().filter(|needle| needle.needle().len() >= MIN_BODY_SECRET);
                let mut matches = Vec::new();
                for needle in long {
                    let length = needle.needle().len();
                    matches.extend(needle.find_iter(bytes).map(|at| at..at + length));
                }
                replaced(bytes, matches)
            }
        };
        (clean != bytes).then_some(clean)
    }

    pub fn redact_text(&self, text: String) -> String {
        let bytes = self.redact(text.into_bytes(), self.short_in_body());
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn short_in_body(&self) -> ShortSecrets {
        if self.finds_short { ShortSecrets::WholeWords } else { ShortSecrets::Nowhere }
    }

    fn redact(&self, text: Vec<u8>, short: ShortSecrets) -> Vec<u8> {
        let is_short = |needle: &Finder<'static>| needle.needle().len() < MIN_BODY_SECRET;
        let searched =
            self.needles.iter().filter(|needle| short != ShortSecrets::Nowhere || !is_short(needle));
        let needles: Vec<_> = searched.collect();
        let Some(longest) = needles.iter().map(|needle| needle.needle().len()).max() else { return text };
        let mut matches = Vec::new();
        // Windows overlap by the escaped length of the longest secret.
        let overlap = longest * MAX_ESCAPE_GROWTH;
        let mut from = 0;
        loop {
            let end = text.len().min(from + WINDOW_BYTES + overlap);
            find(&needles, &text[from..end], from, short, &mut matches);
            if end == text.len() {
                break;
            }
            from += WINDOW_BYTES;
        }
        if matches.is_empty() { text } else { replaced(&text, matches) }
    }
}

/// Returns the text with a mark instead of each range.
fn replaced(text: &[u8], mut matches: Vec<Range<usize>>) -> Vec<u8> {
    matches.sort_by_key(|range| range.start);
    let mut clean = Vec::with_capacity(text.len());
    let mut done = 0;
    for Range { start, end } in matches {
        if start >= done {
            clean.extend_from_slice(&text[done..start]);
            clean.extend_from_slice(REDACTION_MARK);
        }
        done = done.max(end);
    }
    clean.extend_from_slice(&text[done..]);
    clean
}

/// Where secrets below [`MIN_BODY_SECRET`] are searched for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShortSecrets {
    Nowhere,
    WholeWords,
    Anywhere,
}

impl ShortSecrets {
    /// Returns true if a match at this place counts.
    fn accept(self, text: &[u8], at: usize, length: usize) -> bool {
        self != Self::WholeWords || length >= MIN_BODY_SECRET || is_whole_word(text, at, length)
    }
}

/// Returns true if no letter or digit is next to a match. The letter of an escape such as `\n` does not count.
fn is_whole_word(text: &[u8], at: usize, length: usize) -> bool {
    let is_letter = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    let is_escape = at >= 2 && text[at - 2] == b'\\';
    let before = at.checked_sub(1).and_then(|index| text.get(index));
    (is_escape || !is_letter(before)) && !is_letter(text.get(at + length))
}

/// Returns the Shannon entropy of the characters of a text, in bits for each of them.
pub fn entropy(text: &str) -> f64 {
    let mut counts = std::collections::BTreeMap::<char, f64>::new();
    for c in text.chars() {
        *counts.entry(c).or_default() += 1.0;
    }
    let total: f64 = counts.values().sum();
    counts.values().map(|count| count / total * (total / count).log2()).sum()
}

/// Returns true if a word of a secret is not only a word, such as `PRIVATE`.
fn is_random(word: &str) -> bool {
    word.contains(|c: char| c.is_ascii_digit()) || entropy(word) >= MIN_ENTROPY
}

/// Finds secrets in `piece`, which starts at offset `from` of the text, in each layer of escapes.
fn find(
    needles: &[&Finder<'static>],
    piece: &[u8],
    from: usize,
    short: ShortSecrets,
    matches: &mut Vec<Range<usize>>,
) {
    for needle in needles {
        let length = needle.needle().len();
        let accepted = needle.find_iter(piece).filter(|at| short.accept(piece, *at, length));
        matches.extend(accepted.map(|at| from + at..from + at + length));
    }
    if !may_hide(needles, piece) {
        return;
    }
    let mut layer = UnescapedText::from_bytes(piece);
    for _ in 0..MAX_ESCAPE_LAYERS {
        if !layer.unescape_layer() {
            return;
        }
        for needle in needles {
            let length = needle.needle().len();
            let accepted =
                needle.find_iter(&layer.bytes).filter(|at| short.accept(&layer.bytes, *at, length));
            matches.extend(accepted.map(|at| {
                let origin = layer.original_range(at..at + length);
                from + origin.start..from + origin.end
            }));
        }
    }
}

/// Returns true if escapes in `piece` could spell a secret.
///
/// Most backslashes in JSON precede `n` or `"`, and most secrets contain neither.
fn may_hide(needles: &[&Finder<'static>], piece: &[u8]) -> bool {
    if memchr::memchr2(b'%', b'&', piece).is_some() {
        return true;
    }
    let Some(first) = memchr::memchr(b'\\', piece) else { return false };
    let is_escaped = |byte: &u8| byte.is_ascii_control() || matches!(byte, b'"' | b'\'' | b'\\' | b'/');
    let spells_any = |escape: &[u8; 2]| memchr::memmem::find(&piece[first..], escape).is_some();
    spells_any(b"\\u")
        || spells_any(b"\\x")
        || needles.iter().any(|needle| needle.needle().iter().any(is_escaped))
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor of {} values", self.needles.len())
    }
}

#[cfg(test)]
mod tests;
