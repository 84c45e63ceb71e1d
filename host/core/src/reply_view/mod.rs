//! The one reading of a reply: its text, its data, and the origin of the data.
//!
//! Servers send data as structured content, as JSON text, in a sentence, in a fence, or as JSON in a string. Everything
//! that reads a reply uses this view, so that a digest, a filter and a script see the same data. Reading takes time and
//! memory linear in the bytes of the reply.

mod island;
mod json_token;
pub mod near_json;
mod repeats;
mod sdk_wrapper;
mod server_data;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, ops::Range};

use serde::de::IgnoredAny;

use json_token::longest_string;
use sdk_wrapper::SdkWrapper;
pub(crate) use server_data::has_server_data;
pub use server_data::{data_apart, mark_server_data};

/// Maximum depth of JSON in strings of JSON.
const MAX_STRING_LEVELS: usize = 3;

/// Minimum percentage of its JSON that a string with JSON has.
const MIN_STRING_PERCENT: usize = 80;

/// Maximum bytes of JSON to parse for a comparison. Parsed JSON takes several times its length in memory.
const MAX_COMPARED_BYTES: usize = 1 << 20;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DataOrigin {
    /// The structured content.
    Structured,
    /// The text, which is JSON, or a series of JSON values.
    Text,
    /// One of several text blocks.
    Block,
    /// Part of the text.
    Island,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyData<'a> {
    /// A JSON value.
    pub json: Cow<'a, str>,
    pub origin: DataOrigin,
    /// JSON pointer to the string in the origin that holds the data.
    pub pointer: Option<String>,
    /// Text next to the data, such as the sentence before it. Empty if there is none.
    pub beside: String,
}

/// The text and the data of a reply. `text` and `structured` are exactly what was sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplyView<'a> {
    /// Its text blocks, joined by a blank line.
    pub text: Cow<'a, str>,
    pub data: Option<ReplyData<'a>>,
    /// The JSON that was sent, if `data` is only a part of it: a list in `{"result": [...]}`, or JSON in a string.
    pub whole: Option<Cow<'a, str>>,
    /// True if the text says everything that the structured content says.
    pub repeats: bool,
}

impl<'a> ReplyView<'a> {
    /// Reads the text blocks and the structured content of a reply.
    pub fn new(blocks: &[&'a str], structured: Option<&'a str>) -> Self {
        let text: Cow<'a, str> = match blocks {
            [one] => Cow::Borrowed(one),
            blocks => blocks.join("\n\n").into(),
        };
        match structured.map(str::trim) {
            None => Self::of_text(text, blocks),
            Some(structured) => Self::of_structured(text, blocks, structured),
        }
    }

    /// Copies what it borrows.
    pub fn into_owned(self) -> ReplyView<'static> {
        let Self { text, data, whole, repeats } = self;
        ReplyView {
            text: text.into_owned().into(),
            data: data.map(ReplyData::into_owned),
            whole: whole.map(|whole| whole.into_owned().into()),
            repeats,
        }
    }

    fn of_text(text: Cow<'a, str>, blocks: &[&'a str]) -> Self {
        let mut whole = None;
        let data = match text {
            Cow::Borrowed(text) => data_in_text(text, &mut whole),
            // Data of several blocks is found in one of them, or in all of them.
            Cow::Owned(ref joined) => data_in_blocks(joined, blocks, &mut whole),
        };
        Self { text, data, whole, repeats: true }
    }

    fn of_structured(text: Cow<'a, str>, blocks: &[&'a str], structured: &'a str) -> Self {
        match SdkWrapper::find(&text, blocks, structured) {
            Some(SdkWrapper::Text) => {
                let view = Self::of_text(text, blocks);
                return Self { whole: view.whole.or(Some(structured.into())), ..view };
            }
            Some(SdkWrapper::List(list)) => {
                let data = ReplyData::new(list.into(), DataOrigin::Structured);
                return Self { text, data: Some(data), whole: Some(structured.into()), repeats: true };
            }
            None => {}
        }
        if is_same_json(&text, structured) {
            return Self::of_text(text, blocks);
        }
        let repeats = repeats::says_all(&text, structured);
        let mut data = ReplyData::new(structured.into(), DataOrigin::Structured);
        let mut whole = None;
        if let Some(inner) = data_in_string(structured, 0) {
            whole = Some(structured.into());
            data = ReplyData { origin: DataOrigin::Structured, ..inner };
        }
        // A text that repeats the data can say more.
        join(&mut data.beside, text.trim());
        Self { text, data: Some(data), whole, repeats }
    }
}

impl<'a> ReplyData<'a> {
    fn new(json: Cow<'a, str>, origin: DataOrigin) -> Self {
        Self { json, origin, pointer: None, beside: String::new() }
    }

    fn into_owned(self) -> ReplyData<'static> {
        let Self { json, origin, pointer, beside } = self;
        ReplyData { json: json.into_owned().into(), origin, pointer, beside }
    }
}

fn join(beside: &mut String, text: &str) {
    if !beside.is_empty() && !text.is_empty() {
        beside.push_str("\n\n");
    }
    beside.push_str(text);
}

fn data_in_text<'a>(text: &'a str, whole: &mut Option<Cow<'a, str>>) -> Option<ReplyData<'a>> {
    let data = data_at(text, 0)?;
    if data.pointer.is_some() {
        *whole = json_in(text);
    }
    Some(data)
}

fn data_in_blocks<'a>(
    joined: &str,
    blocks: &[&'a str],
    whole: &mut Option<Cow<'a, str>>,
) -> Option<ReplyData<'a>> {
    if let Some(json) = json_in(joined).filter(|json| is_container(json)) {
        return Some(ReplyData::new(json.into_owned().into(), DataOrigin::Text));
    }
    let largest = blocks.iter().enumerate().max_by_key(|(_, block)| block.len());
    if let Some((index, block)) = largest
        && block.len() * 2 >= joined.len()
        && let Some(mut data) = data_in_text(block, whole)
    {
        for (_, other) in blocks.iter().enumerate().filter(|(at, _)| *at != index) {
            join(&mut data.beside, other.trim());
        }
        return Some(ReplyData { origin: DataOrigin::Block, ..data });
    }
    let mut of_joined = None;
    let data = data_in_text(joined, &mut of_joined)?.into_owned();
    *whole = of_joined.map(|json| Cow::Owned(json.into_owned()));
    Some(data)
}

/// Returns the data that a text is or contains.
fn data_at(text: &str, level: usize) -> Option<ReplyData<'_>> {
    if let Some(json) = json_in(text) {
        let inner = match &json {
            Cow::Borrowed(json) => data_in_string(json, level),
            Cow::Owned(json) => data_in_string(json, level).map(ReplyData::into_owned),
        };
        return Some(inner.unwrap_or_else(|| ReplyData::new(json, DataOrigin::Text)));
    }
    let (Range { start, end }, json) = island::largest(text)?;
    let inner = data_in_string(&json, level).map(|inner| ReplyData { origin: DataOrigin::Island, ..inner });
    let mut data = inner.unwrap_or_else(|| ReplyData::new(json, DataOrigin::Island));
    join(&mut data.beside, text[..start].trim());
    join(&mut data.beside, text[end..].trim());
    Some(data)
}

/// Returns the data in the string that makes up most of some JSON.
fn data_in_string(json: &str, level: usize) -> Option<ReplyData<'static>> {
    let literal = longest_string(json).filter(|literal| level < MAX_STRING_LEVELS && literal.len() > 4)?;
    if literal.len() * 100 < json.len() * MIN_STRING_PERCENT {
        return None;
    }
    let outer_pointer = json_token::pointer_to(json, &literal)?;
    let string: String = serde_json::from_str(&json[literal]).ok()?;
    let data = data_at(&string, level + 1)?.into_owned();
    if !is_container(&data.json) {
        return None;
    }
    let pointer = Some(outer_pointer + data.pointer.as_deref().unwrap_or_default());
    Some(ReplyData { pointer, origin: DataOrigin::Text, ..data })
}

fn is_container(json: &str) -> bool {
    json.trim_start().starts_with(['{', '['])
}

/// Returns a text as one JSON value, if it is one, or a list of them, if it is a series of objects or lists. Numbers
/// keep their digits.
fn json_in(text: &str) -> Option<Cow<'_, str>> {
    let trimmed = text.trim_start_matches('\u{feff}').trim();
    if let Some(json) = series(trimmed) {
        return Some(json);
    }
    let converted = near_json::converted(trimmed)?;
    Some(Cow::Owned(series(&converted)?.into_owned()))
}

/// Returns one JSON value as it is, or several objects or lists as a list.
fn series(text: &str) -> Option<Cow<'_, str>> {
    if serde_json::from_str::<IgnoredAny>(text).is_ok() {
        return Some(text.into());
    }
    if !text.starts_with(['{', '[', RECORD_SEPARATOR]) {
        return None;
    }
    let mut list = String::from("[");
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == RECORD_SEPARATOR);
        if rest.is_empty() {
            break;
        }
        if !is_container(rest) {
            return None;
        }
        let mut values = serde_json::Deserializer::from_str(rest).into_iter::<IgnoredAny>();
        values.next()?.ok()?;
        let (value, after) = rest.split_at(values.byte_offset());
        list.push_str(if list.len() > 1 { "," } else { "" });
        list.push_str(value);
        rest = after;
    }
    Some(Cow::Owned(list + "]"))
}

/// Starts each value of a JSON text sequence (RFC 7464).
const RECORD_SEPARATOR: char = '\u{1e}';

fn is_same_json(text: &str, json: &str) -> bool {
    let text = text.trim();
    if text.len().max(json.len()) > MAX_COMPARED_BYTES {
        let parts = |json| json_token::tokens(json).map(move |(kind, place)| (kind, &json[place]));
        return text.starts_with(['{', '[']) && parts(text).eq(parts(json));
    }
    text.as_bytes().first().is_some_and(|first| b"{[\"-tfn0123456789".contains(first))
        && match [text, json].map(serde_json::from_str::<serde_json::Value>) {
            [Ok(text), Ok(json)] => text == json,
            _ => false,
        }
}
