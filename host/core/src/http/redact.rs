//! Takes secrets out of what comes back. It keeps an honest server's echo from a gate; a server that wants
//! to tell its own credential to a gate can always say it in other words.

use std::fmt;

use memchr::memmem::Finder;

use super::secret::Secret;

/// What stands in the place of a secret.
const MARK: &[u8] = b"[redacted]";

/// A shorter secret is looked for in headers alone: in a body it would be found by chance.
const MIN_IN_BODY: usize = 8;

/// A shorter value is no secret at all.
const MIN: usize = 4;

/// Finds the secrets of a gate's rules, also as JSON and percent-encoded.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Longest first, so that a secret within another one leaves nothing of it.
    needles: Vec<Finder<'static>>,
}

impl Redactor {
    /// Looks for these, and for every long word of them: `Bearer abc` may come back without `Bearer`.
    pub fn new<'a>(secrets: impl IntoIterator<Item = &'a Secret>) -> Self {
        let mut needles: Vec<Vec<u8>> = Vec::new();
        for secret in secrets {
            let whole = std::iter::once(secret.reveal().trim());
            let words = secret.reveal().split_whitespace().filter(|word| word.len() >= MIN_IN_BODY);
            for value in whole.chain(words).filter(|value| value.len() >= MIN) {
                let json = serde_json::to_string(value).unwrap_or_default();
                let json = json.strip_prefix('"').and_then(|json| json.strip_suffix('"')).unwrap_or_default();
                // Some writers of JSON escape the slash, and percent codes come in both cases.
                let forms = [
                    value.to_owned(),
                    json.to_owned(),
                    json.replace('/', "\\/"),
                    percent(value, |byte| format!("%{byte:02X}")),
                    percent(value, |byte| format!("%{byte:02x}")),
                ];
                needles.extend(forms.map(String::into_bytes));
            }
        }
        needles.retain(|needle| needle.len() >= MIN);
        needles.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        needles.dedup();
        Self { needles: needles.iter().map(|needle| Finder::new(needle).into_owned()).collect() }
    }

    /// A header's value without secrets.
    pub fn header(&self, value: Vec<u8>) -> Vec<u8> {
        self.without(value, MIN)
    }

    /// A body without secrets.
    pub fn body(&self, body: Vec<u8>) -> Vec<u8> {
        self.without(body, MIN_IN_BODY)
    }

    /// An address or a message without secrets.
    pub fn text(&self, text: String) -> String {
        let bytes = self.without(text.into_bytes(), MIN_IN_BODY);
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    }

    fn without(&self, mut text: Vec<u8>, min: usize) -> Vec<u8> {
        for needle in self.needles.iter().filter(|needle| needle.needle().len() >= min) {
            if needle.find(&text).is_none() {
                continue;
            }
            let mut rest = text.as_slice();
            let mut clean = Vec::with_capacity(text.len());
            while let Some(at) = needle.find(rest) {
                clean.extend_from_slice(&rest[..at]);
                clean.extend_from_slice(MARK);
                rest = &rest[at + needle.needle().len()..];
            }
            clean.extend_from_slice(rest);
            text = clean;
        }
        text
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Redactor of {} forms", self.needles.len())
    }
}

/// Everything but letters, digits and `-._~` as `%XX` (RFC 3986 section 2.1).
fn percent(text: &str, code: impl Fn(u8) -> String) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
    text.bytes().map(|byte| if plain(byte) { char::from(byte).to_string() } else { code(byte) }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clean(secret: &str, text: &str) -> String {
        Redactor::new([&Secret::new(secret)]).text(text.to_owned())
    }

    #[test]
    fn an_echo_is_cleaned_in_every_spelling() {
        assert_eq!(clean("s3cret-token", "a=s3cret-token&b=s3cret-token"), "a=[redacted]&b=[redacted]");
        assert_eq!(clean("a\"b c/d+ef", r#"{"echo":"a\"b c/d+ef"}"#), r#"{"echo":"[redacted]"}"#);
        assert_eq!(clean("a b/c+defg", "?q=a%20b%2Fc%2Bdefg"), "?q=[redacted]");
        assert_eq!(clean("a b/c+defg", "?q=a%20b%2fc%2bdefg"), "?q=[redacted]");
        assert_eq!(clean("abc/defgh", r#"{"echo":"abc\/defgh"}"#), r#"{"echo":"[redacted]"}"#);
        assert_eq!(clean("Bearer 0123456789", "token 0123456789."), "token [redacted].");
    }

    #[test]
    fn short_secrets_are_looked_for_in_headers_alone() {
        let redactor = Redactor::new([&Secret::new("12345")]);
        assert_eq!(redactor.header(b"x 12345".to_vec()), b"x [redacted]");
        assert_eq!(redactor.body(b"x 12345".to_vec()), b"x 12345");
        assert_eq!(Redactor::new([&Secret::new("1"), &Secret::new("")]).header(b"1".to_vec()), b"1");
    }

    #[test]
    fn it_does_not_show_what_it_looks_for() {
        let shown = format!("{:?}", Redactor::new([&Secret::new("s3cret-token")]));
        assert!(!shown.contains("s3cret"), "{shown}");
    }
}
