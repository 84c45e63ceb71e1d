//! The text of a failed call for the ledger: one line, bounded, without anything that looks like a secret.

use serde_json::Value;

use super::call_bodies::parsed;
use crate::{
    ContentPart, Outcome, Source,
    http::{
        Redactor, Secret,
        secret::{is_secret_name, is_token},
    },
    names,
};

const MAX_STORED_CHARS: usize = 200;

const MAX_SCANNED_BYTES: usize = 16 << 10;

/// Argument values that are scanned for secrets.
const MAX_SCANNED_VALUES: usize = 10_000;

pub(super) const REDACTION_MARK: &str = "[redacted]";

/// Returns the error text of a call. `None` if the call succeeded or its error has no text.
pub(crate) fn failure_text(source: &dyn Source, arguments: &Value, outcome: &Outcome) -> Option<String> {
    let text = match outcome {
        Err(fault) => truncate(&fault.message).to_owned(),
        Ok(reply) if reply.is_error => {
            let texts = reply.content.iter().filter_map(|block| match block {
                ContentPart::Text(text) => Some(truncate(text)),
                _ => None,
            });
            truncate(&texts.take(8).collect::<Vec<_>>().join(" ")).to_owned()
        }
        Ok(_) => return None,
    };
    let text = source.redact(text);
    let mut secrets = Vec::new();
    collect_secrets(arguments, false, &mut secrets, &mut { MAX_SCANNED_VALUES });
    let text = redact_credentials(&Redactor::new(&secrets).redact_text(text));
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    (!text.is_empty()).then(|| names::quoted(&text, MAX_STORED_CHARS))
}

fn truncate(text: &str) -> &str {
    &text[..text.floor_char_boundary(MAX_SCANNED_BYTES)]
}

/// Collects strings under keys that sound like credentials.
pub(super) fn collect_secrets(value: &Value, secret: bool, into: &mut Vec<Secret>, remaining: &mut usize) {
    if *remaining == 0 {
        return;
    }
    *remaining -= 1;
    match value {
        Value::String(text) if secret => into.push(Secret::new(text.as_str())),
        Value::String(text) => {
            if let Some(data) = parsed(text) {
                collect_secrets(&data, false, into, remaining);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_secrets(item, secret, into, remaining)),
        Value::Object(members) => {
            members.iter().for_each(|(name, member)| {
                collect_secrets(member, secret || is_secret_name(name), into, remaining)
            });
        }
        _ => {}
    }
}

/// Redacts words that look like credentials, or that follow `bearer` or `basic`.
pub(super) fn redact_credentials(text: &str) -> String {
    let is_scheme = |word: &str| {
        let word = word.trim_matches(|c: char| !c.is_ascii_alphanumeric()).to_ascii_lowercase();
        word.ends_with("bearer") || word.ends_with("basic")
    };
    let mut after_scheme = false;
    let clean = text.split_inclusive(char::is_whitespace).map(|part| {
        let word = part.trim_end();
        if word.is_empty() {
            return part.to_owned();
        }
        let secret = after_scheme;
        after_scheme = is_scheme(word);
        let clean = if secret { REDACTION_MARK.to_owned() } else { redact_word(word) };
        clean + &part[word.len()..]
    });
    clean.collect()
}

/// Redacts tokens, values of secret-sounding names, and user information of URLs in a word.
fn redact_word(word: &str) -> String {
    let without_user = word.split_once("://").and_then(|(scheme, rest)| {
        let authority = rest.find('/').unwrap_or(rest.len());
        let at = rest[..authority].rfind('@')?;
        Some(format!("{scheme}://{REDACTION_MARK}{}", &rest[at..]))
    });
    let word = without_user.as_deref().unwrap_or(word);
    let parts = word.split_inclusive(['&', '?', ',', ';', '(', ')', '"', '\'', '<', '>']);
    let parts = parts.map(|part| {
        let end = part.trim_end_matches(['&', '?', ',', ';', '(', ')', '"', '\'', '<', '>', '.']).len();
        let (value, rest) = part.split_at(end);
        let named =
            value.split_once(['=', ':']).filter(|(name, value)| is_secret_name(name) && !value.is_empty());
        match named {
            Some((name, _)) => format!("{name}={REDACTION_MARK}{rest}"),
            None if is_token(value) => format!("{REDACTION_MARK}{rest}"),
            None => part.to_owned(),
        }
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{Fault, Reply, testing::Fixture};

    fn stored(text: &str, arguments: &Value) -> Option<String> {
        let source = Fixture::server("s", Vec::new());
        let fault = failure_text(&*source, arguments, &Err(Fault::unavailable(text)));
        let content = vec![ContentPart::Text(text.into())];
        let reply = Reply { content, structured: None, meta: None, is_error: true };
        assert_eq!(failure_text(&*source, arguments, &Ok(reply.clone())), fault);
        assert_eq!(failure_text(&*source, arguments, &Ok(Reply { is_error: false, ..reply })), None);
        fault
    }

    #[test]
    fn the_message_is_stored_in_one_line_and_bounded() {
        let none = json!({});
        assert_eq!(stored("No such\n  branch: main.", &none).as_deref(), Some("No such branch: main."));
        assert_eq!(stored(" \n", &none), None);
        let long = stored(&"word ".repeat(1 << 20), &none).expect("a text");
        assert_eq!((long.chars().count(), long.chars().last()), (MAX_STORED_CHARS + 1, Some('…')));
        assert!(stored(&"ü".repeat(MAX_SCANNED_BYTES), &none).is_some(), "cut between two characters");
    }

    #[test]
    fn secrets_are_taken_out() {
        let arguments =
            json!({"auth": {"value": ["hunter2hunter2"]}, "path": "/srv/data", "api_key": "0123456789"});
        for (text, expected) in [
            ("cannot use hunter2hunter2 for /srv/data", "cannot use [redacted] for /srv/data"),
            ("key \"0123456789\" is unknown", "key \"[redacted]\" is unknown"),
            ("401 for Authorization: Bearer abcdef.", "401 for Authorization: Bearer [redacted]"),
            (
                "GET https://me:pw@host/a?token=abc&x=1 failed",
                "GET https://[redacted]@host/a?token=[redacted]&x=1 failed",
            ),
            ("bad token (ghp_0123456789abcdefghij)", "bad token ([redacted])"),
            ("password=letmein, user=me", "password=[redacted], user=me"),
            ("C:/tmp/a.txt: not found: 12:30", "C:/tmp/a.txt: not found: 12:30"),
        ] {
            assert_eq!(stored(text, &arguments).as_deref(), Some(expected));
        }
    }
}
