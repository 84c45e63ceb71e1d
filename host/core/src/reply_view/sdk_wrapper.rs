//! Objects that SDKs wrap around the value of a tool.

use super::{is_same_json, json_token, series};

/// An object with one member, whose value is what the text says.
pub(super) enum SdkWrapper<'a> {
    /// SDKs wrap a text, and servers of files the content of a file.
    Text,
    /// The list in `{"result": [...]}`.
    List(&'a str),
}

impl<'a> SdkWrapper<'a> {
    pub(super) fn find(text: &str, blocks: &[&str], structured: &'a str) -> Option<Self> {
        let (key, value) = json_token::only_member(structured)?;
        if serde_json::from_str::<String>(value).is_ok_and(|string| string.trim() == text.trim()) {
            return Some(Self::Text);
        }
        let is_list = key == "result" && value.starts_with('[') && says_list(text, blocks, value);
        is_list.then_some(Self::List(value))
    }
}

/// Whether the text is this list, or has a block for each of its elements.
fn says_list(text: &str, blocks: &[&str], list: &str) -> bool {
    let is_series = |text: &str| series(text.trim()).is_some_and(|series| is_same_json(&series, list));
    if is_same_json(text, list) || is_series(text) {
        return true;
    }
    let Some(elements) = json_token::elements(list) else { return false };
    if elements.len() != blocks.len() {
        // A stored text has the blocks in one.
        let texts = elements.iter().map(|element| serde_json::from_str::<String>(element).ok());
        return texts.collect::<Option<Vec<_>>>().is_some_and(|texts| texts.join("\n\n") == text);
    }
    let says = |(element, block): (&str, &&str)| {
        let is_text = serde_json::from_str::<String>(element).is_ok_and(|string| string == **block);
        is_text || is_same_json(block, element)
    };
    elements.into_iter().zip(blocks).all(says)
}
