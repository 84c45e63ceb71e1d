//! Converts text of other formats with members into JSON, which is then digested, and read by pointers and jq.

mod description;
mod feed;
mod metrics;
mod yaml;

use serde_json::Value;

use super::{fit::DigestSection, json, kind::TextSample, scan};

/// Maximum size of a text. Beyond it, the copies would cost too much memory.
const MAX_TEXT_BYTES: usize = 16 << 20;

/// A text of another format as JSON.
pub(super) struct JsonForm {
    /// Name of the format, for display.
    pub(super) kind: &'static str,
    pub(super) json: String,
    /// A sentence about how the text was read.
    pub(super) note: String,
}

impl JsonForm {
    /// Returns the form of a text. `None` if its format is not one of these.
    pub(super) fn from_text(text: &str, sample: &TextSample<'_>) -> Option<Self> {
        if text.len() > MAX_TEXT_BYTES {
            return None;
        }
        [feed::read, metrics::read, yaml::read, description::read].iter().find_map(|read| read(text, sample))
    }

    /// Returns the sections of a digest.
    pub(super) fn sections(&self, query: &str, budget: usize) -> Option<Vec<DigestSection>> {
        let mut document = scan::rows(&self.json, query).ok()?;
        let notes: Vec<_> = std::iter::once(self.note.clone()).chain(document.note.take()).collect();
        document.note = Some(notes.join(". "));
        Some(json::sections(&document, query, budget))
    }
}

/// Writes a value as JSON: a number as it is spelled if JSON has that form, other text as a string.
pub(super) fn value(text: &str) -> String {
    let is_number = text.starts_with(|c: char| c == '-' || c.is_ascii_digit())
        && serde_json::from_str::<serde_json::Number>(text).is_ok();
    if is_number { text.to_owned() } else { string(text) }
}

pub(super) fn string(text: &str) -> String {
    Value::String(text.to_owned()).to_string()
}

pub(super) fn array(values: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", values.into_iter().collect::<Vec<_>>().join(","))
}

/// Writes an object of keys and JSON values.
pub(super) fn object<'a>(members: impl IntoIterator<Item = (&'a str, String)>) -> String {
    let member = |(key, value)| format!("{}:{value}", string(key));
    format!("{{{}}}", members.into_iter().map(member).collect::<Vec<_>>().join(","))
}
