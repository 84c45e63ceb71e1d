//! The text and the data of replies, however a server sent them. Always granted.

pub use crate::bindings::gatehouse::gate::replies::DataOrigin;
use crate::{
    Content, Fault, Reply, ResourceBody,
    bindings::gatehouse::gate::replies::{ReplyData as WitReplyData, ReplyView as WitReplyView},
};

/// The data of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyData {
    /// A JSON value.
    pub json: String,
    /// Part of the reply that holds it.
    pub origin: DataOrigin,
    /// JSON pointer to the string that holds the data, if the origin is JSON with JSON in a string.
    pub pointer: Option<String>,
    /// Text next to the data, such as the sentence before it. Empty if there is none.
    pub beside: String,
}

/// The text and the data of a reply.
#[derive(Debug, Clone, PartialEq)]
pub struct ReplyView {
    /// The text blocks as they were sent, joined by a blank line.
    pub text: String,
    /// The data, if the reply has any.
    pub data: Option<ReplyData>,
    /// The JSON that was sent, if the data is a part of it: the list in `{"result": [...]}`, or JSON in a string.
    pub whole: Option<String>,
    /// True if the text says everything that the structured data says.
    pub repeats: bool,
}

impl ReplyView {
    /// Reads text blocks and structured data.
    pub fn new(texts: Vec<String>, structured: Option<&str>) -> Result<Self, Fault> {
        let view = host::view(&texts, structured)?;
        let only = || texts.into_iter().next().unwrap_or_default();
        Ok(Self::from_wit(view, only))
    }

    /// Reads the data of a stored text. The view has no text.
    pub(crate) fn from_artifact(view: WitReplyView) -> Self {
        Self::from_wit(view, String::new)
    }

    fn from_wit(view: WitReplyView, only_text: impl FnOnce() -> String) -> Self {
        let WitReplyView { text, data, whole, repeats } = view;
        let text = text.unwrap_or_else(only_text);
        let data = data.map(|data| {
            let WitReplyData { json, origin, pointer, beside } = data;
            ReplyData { json: json.unwrap_or_else(|| text.clone()), origin, pointer, beside }
        });
        Self { text, data, whole, repeats }
    }
}

impl Content {
    /// Returns the text of a text block or an embedded text.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Embedded(resource) => match &resource.body {
                ResourceBody::Text(text) => Some(text),
                ResourceBody::Blob(_) => None,
            },
            _ => None,
        }
    }
}

impl Reply {
    /// Returns its text and its data, however the server sent them.
    pub fn view(&self) -> Result<ReplyView, Fault> {
        let texts = self.content.iter().filter_map(Content::as_text).map(str::to_owned);
        ReplyView::new(texts.collect(), self.structured.as_deref())
    }
}

#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::replies as host;
#[cfg(not(target_family = "wasm"))]
use crate::testing::replies as host;
