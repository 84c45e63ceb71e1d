//! A simple reading of replies for tests: structured data, or a text that is JSON.

use crate::{
    Fault,
    bindings::gatehouse::gate::replies::{DataOrigin, ReplyData, ReplyView},
};

/// Returns the structured data, or the text if it is JSON.
pub(crate) fn view(texts: &[String], structured: Option<&str>) -> Result<ReplyView, Fault> {
    let text = texts.join("\n\n");
    let data = |json: Option<String>, origin, beside: &str| {
        Some(ReplyData { json, origin, pointer: None, beside: beside.to_owned() })
    };
    let parsed = |json: &str| serde_json::from_str::<serde_json::Value>(json).ok();
    let is_same = structured.is_none_or(|data| parsed(data) == parsed(&text));
    let data = match structured {
        _ if is_same && parsed(&text).is_some() => data(None, DataOrigin::Text, ""),
        Some(json) => data(Some(json.to_owned()), DataOrigin::Structured, &text),
        None => None,
    };
    Ok(ReplyView { text: Some(text), data, whole: None, repeats: is_same })
}
