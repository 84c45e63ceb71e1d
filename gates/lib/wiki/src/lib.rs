//! Shared presentation of wiki pages for the gates that search the knowledge graph (kg, idea and code): hits, previews,
//! pages and empty results. The gates differ in their [`SearchView`].
//!
//! Page text on its own lines is quoted or fenced, so that a page cannot forge parts of a reply. Replies name only
//! tools that the caller has.

mod blocks;
mod body;
mod cut;
mod data;
#[cfg(all(any(test, feature = "testing"), not(target_family = "wasm")))]
pub mod fixture;
mod focused;
#[cfg(all(any(test, feature = "testing"), not(target_family = "wasm")))]
pub mod focused_tests;
mod kind;
mod no_results;
mod page;
mod preview;
mod quote;
mod reader;
mod rerank;
mod search;

pub use cut::cut;
pub use data::{HitData, RelatedData, SearchResults};
pub use focused::{FocusedGateSpec, FocusedParams, focused_gate};
pub use kind::Kind;
pub use page::{PageData, read_page};
pub use preview::ContentBudget;
pub use quote::{code, one_line, shorten};
pub use search::{MAX_TOP_K, PageQuery, RelatedTool, SearchView, search};
