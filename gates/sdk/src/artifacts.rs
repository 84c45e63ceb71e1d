//! Storage for texts that are too large to show. A call sees only artifacts that its own caller created. Needs the
//! grant `artifacts`.

#[cfg(target_family = "wasm")]
use crate::bindings::gatehouse::gate::artifacts as host;
pub use crate::bindings::gatehouse::gate::artifacts::{
    Artifact, Changes, Draft, Filter, Fit, Hit, Part, Piece, Window,
};
#[cfg(target_family = "wasm")]
pub use crate::bindings::gatehouse::gate::artifacts::{
    change, delete, info, put, put_with_data, read, recent, search,
};
#[cfg(not(target_family = "wasm"))]
use crate::testing::artifacts as host;
#[cfg(not(target_family = "wasm"))]
pub use crate::testing::artifacts::{change, delete, info, put, put_with_data, read, recent, search};
use crate::{
    Fault,
    replies::{DataOrigin, ReplyData, ReplyView},
};

/// Stores a reply as it was sent, with the metadata of the draft: its text, and its structured data unless the text says
/// the same. A reply without text is stored as its data.
pub fn put_reply(draft: Draft, view: &ReplyView, structured: Option<&str>) -> Result<Artifact, Fault> {
    let is_structured = |data: &ReplyData| data.origin == DataOrigin::Structured;
    let structured = structured.filter(|_| view.data.as_ref().is_some_and(is_structured));
    let (text, data) = match structured {
        Some(json) if view.text.trim().is_empty() => (json, None),
        data => (view.text.as_str(), data),
    };
    let is_json = serde_json::from_str::<serde::de::IgnoredAny>(text).is_ok();
    let mime_type = if is_json { "application/json" } else { "text/plain" }.to_owned();
    let draft = Draft { text: text.to_owned(), mime_type, ..draft };
    match data {
        Some(data) => put_with_data(&draft, data),
        None => put(&draft),
    }
}

/// Returns the data of an artifact: that of its text, or the data that was stored with it. The view has no text.
pub fn view(id: &str) -> Result<ReplyView, Fault> {
    Ok(ReplyView::from_artifact(host::view(id)?))
}

impl Draft {
    /// Creates a draft without metadata, for the default lifetime.
    pub fn new(text: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            mime_type: mime_type.into(),
            tool: None,
            source: None,
            summary: None,
            tags: Vec::new(),
            ttl_ms: None,
        }
    }
}
