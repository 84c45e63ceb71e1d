//! The answer to a call: text for people and models, and the same answer as data.

use serde::Serialize;

use crate::Fault;
pub use crate::bindings::gatehouse::gate::types::{Content, Reply};

impl Reply {
    /// A reply of one text block, written as markdown.
    pub fn markdown(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], structured: None, is_error: false, meta: None }
    }

    /// Adds the same answer as data; it must match the schema that the tool declares with `output`.
    /// Faults only where `data` cannot be JSON at all, a map with keys that are not strings for example.
    pub fn structured(mut self, data: &impl Serialize) -> Result<Self, Fault> {
        let json = serde_json::to_string(data)
            .map_err(|e| Fault::internal(format!("the reply cannot be written as JSON: {e}")))?;
        self.structured = Some(json);
        Ok(self)
    }

    /// Adds one block of content.
    #[must_use]
    pub fn with(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }

    /// The text blocks, one after the other.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|c| match c {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
