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
}

impl Redactor {
    /// Creates a redactor for `secrets` and each long word in them, because `Bearer abc` may return as `abc`.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut needles: Vec<Vec<u8>> = Vec::new();
        for secret in secrets {
            let whole = std::iter::once(secret.reveal().trim());
            let words = secret.reveal().split_whitespace().filter(|word| word.len() >= MIN_BODY_SECRET);
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
        Self { needles: needles.iter().map(|needle| Finder::new(needle).into_owned()).collect() }
    }

    /// Returns true if there is nothing to redact.
    pub fn is_empty(&self) -> bool {
        self.needles.is_empty()
    }

    pub fn with_secret(&self, secret: &Secret) -> Self {
        let mut needles = self.needles.clone();
        needles.extend(Self::new([secret]).needles);
        Self { needles }
    }

    pub fn redact_header(&self, value: Vec<u8>) -> Vec<u8> {
        self.redact(value, MIN_SECRET)
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
        self.redact(body, MIN_BODY_SECRET)
    }

    pub fn redact_text(&self, text: String) -> String {
        let bytes = self.redact(text.into_bytes(), MIN_BODY_SECRET);
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn redact(&self, text: Vec<u8>, min: usize) -> Vec<u8> {
        let needles: Vec<_> = self.needles.iter().filter(|needle| needle.needle().len() >= min).collect();
        let Some(longest) = needles.iter().map(|needle| needle.needle().len()).max() else { return text };
        let mut matches = Vec::new();
        // Windows overlap by the escaped length of the longest secret.
        let overlap = longest * MAX_ESCAPE_GROWTH;
        let mut from = 0;
        loop {
            let end = text.len().min(from + WINDOW_BYTES + overlap);
            find(&needles, &text[from..end], from, &mut matches);
            if end == text.len() {
                break;
            }
            from += WINDOW_BYTES;
        }
        if matches.is_empty() {
            return text;
        }
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
}

/// Finds secrets in `piece`, which starts at offset `from` of the text, in each layer of escapes.
fn find(needles: &[&Finder<'static>], piece: &[u8], from: usize, matches: &mut Vec<Range<usize>>) {
    for needle in needles {
        let length = needle.needle().len();
        matches.extend(needle.find_iter(piece).map(|at| from + at..from + at + length));
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
            matches.extend(needle.find_iter(&layer.bytes).map(|at| {
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
mod tests {
    use super::*;

    fn clean(secret: &str, text: &str) -> String {
        Redactor::new([&Secret::new(secret)]).redact_text(text.to_owned())
    }

    #[test]
    fn an_echo_is_cleaned_in_every_spelling() {
        assert_eq!(clean("s3cret-token", "a=s3cret-token&b=s3cret-token"), "a=[redacted]&b=[redacted]");
        assert_eq!(clean("a\"b c/d+ef", r#"{"echo":"a\"b c/d+ef"}"#), r#"{"echo":"[redacted]"}"#);
        assert_eq!(clean("a b/c+defg", "?q=a%20b%2Fc%2Bdefg"), "?q=[redacted]");
        assert_eq!(clean("a b/c+defg", "?q=a%20b%2fc%2bdefg"), "?q=[redacted]");
        assert_eq!(clean("abc/defgh", r#"{"echo":"abc\/defgh"}"#), r#"{"echo":"[redacted]"}"#);
        assert_eq!(clean("a&b<c'd+efg", "<p>a&amp;b&lt;c&#39;d+efg</p>"), "<p>[redacted]</p>");
        assert_eq!(clean("a&b<c'd+efg", r"a\u0026b\u003cc\u0027d\u002befg!"), "[redacted]!");
        assert_eq!(
            clean("a&b<c'd+efg", "q=a%26amp%3Bb%26lt%3Bc%26%2339%3Bd%2Befg&x=%20"),
            "q=[redacted]&x=%20"
        );
        assert_eq!(
            clean("a%41b&cdefg", "a%41b&amp;cdefg a%2541b%26cdefg a%41b&cdefg"),
            ["[redacted]"; 3].join(" ")
        );
        assert_eq!(clean("Bearer 0123456789", "token 0123456789."), "token [redacted].");
    }

    #[test]
    fn a_name_that_says_a_secret_is_known_in_any_case() {
        let redactor = Redactor::new([&Secret::new("S3cret-Token")]);
        assert!(redactor.name_has_secret("s3cret-token") && redactor.name_has_secret("X-S3CRET-TOKEN-1"));
        assert!(!redactor.name_has_secret("x-token") && !Redactor::default().name_has_secret("x"));
    }

    #[test]
    fn a_secret_is_found_wherever_windows_meet() {
        let redactor = Redactor::new([&Secret::new("s3cret&token")]);
        for at in [
            0,
            1,
            WINDOW_BYTES - 8,
            WINDOW_BYTES,
            WINDOW_BYTES + 12 * MAX_ESCAPE_GROWTH - 9,
            2 * WINDOW_BYTES - 3,
        ] {
            let mut body = vec![b'%'; at];
            body.extend_from_slice(b"s3cret&amp;tokens3cret&token");
            body.extend_from_slice(&vec![b'%'; 3 * WINDOW_BYTES - at]);
            let clean = redactor.redact_body(body);
            assert_eq!(clean.len(), 3 * WINDOW_BYTES + 20, "{at}");
            assert!(memchr::memmem::find(&clean, b"s3cret").is_none(), "{at}");
        }
    }

    #[test]
    fn short_secrets_are_looked_for_in_headers_alone() {
        let redactor = Redactor::new([&Secret::new("12345")]);
        assert_eq!(redactor.redact_header(b"x 12345".to_vec()), b"x [redacted]");
        assert_eq!(redactor.redact_body(b"x 12345".to_vec()), b"x 12345");
        assert_eq!(Redactor::new([&Secret::new("1"), &Secret::new("")]).redact_header(b"1".to_vec()), b"1");
    }

    #[test]
    fn debug_output_shows_no_secrets() {
        let shown = format!("{:?}", Redactor::new([&Secret::new("s3cret-token")]));
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
