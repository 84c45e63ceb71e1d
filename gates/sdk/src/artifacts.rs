//! Storage for texts that are too large to show. A call sees only artifacts that its own caller created. Needs the
//! grant `artifacts`.

pub use crate::bindings::gatehouse::gate::artifacts::{
    Artifact, Changes, Draft, Filter, Fit, Hit, Part, Piece, Window,
};
#[cfg(target_family = "wasm")]
pub use crate::bindings::gatehouse::gate::artifacts::{change, delete, info, put, read, recent, search};
#[cfg(not(target_family = "wasm"))]
pub use crate::testing::artifacts::{change, delete, info, put, read, recent, search};

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
