//! Shared presentation of wiki pages for the gates that search the knowledge graph (kg, idea and code): hits, previews,
//! pages and empty results. The gates differ in their [`SearchView`].
//!
//! Page text on its own lines is quoted or fenced, so that a page cannot forge parts of a reply. Replies name only
//! tools that the caller has.

mod blocks;
mod body;
mod data;
#[cfg(all(any(test, feature = "testing"), not(target_family = "wasm")))]
pub mod fixture;
mod focused_gate;
mod kind;
mod page;
mod preview;
mod quote;
mod rerank;
mod search;

pub use blocks::cut;
pub use data::{HitData, RelatedData, SearchResults};
pub use focused_gate::{FocusedGateSpec, FocusedParams, focused_gate};
pub use kind::Kind;
pub use page::{PageData, read_page};
pub use preview::ContentBudget;
pub use quote::{code, fenced, head, one_line, shorten};
pub use search::{MAX_TOP_K, PageQuery, RelatedTool, SearchView, search};
