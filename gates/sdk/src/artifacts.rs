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
use crate::{Fault, replies::ReplyView};

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
