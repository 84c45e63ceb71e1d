//! [`Reply`]: the result of a call, as text and as structured data.

use serde::Serialize;

use crate::Fault;
pub use crate::bindings::gatehouse::gate::types::{Content, Reply};

impl Reply {
    /// Creates a reply with one block of Markdown text.
    pub fn markdown(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], structured: None, is_error: false, meta: None }
    }

    /// Adds the same result as data, which must match the schema that the tool declares with `output`. Faults only if
    /// `data` cannot be JSON, for example a map whose keys are not strings.
    pub fn structured(mut self, data: &impl Serialize) -> Result<Self, Fault> {
        let json = serde_json::to_string(data)
            .map_err(|e| Fault::internal(format!("cannot serialize the reply as JSON: {e}")))?;
        self.structured = Some(json);
        Ok(self)
    }

    /// Adds a block of content.
    #[must_use]
    pub fn with(mut self, content: Content) -> Self {
        self.content.push(content);
        self
    }

    /// Returns the text blocks, joined by newlines.
    pub fn text(&self) -> String {
        let texts = self.content.iter().filter_map(|c| match c {
            Content::Text(text) => Some(text.as_str()),
            _ => None,
        });
        texts.collect::<Vec<_>>().join("\n")
    }
}
