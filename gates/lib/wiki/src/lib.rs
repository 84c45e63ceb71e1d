//! How the gates that search the knowledge graph show wiki pages: one hit, one preview, one page, one way to say
//! that nothing was found. kg, idea and code differ in a [`SearchView`] and share the rest.
//!
//! What pages say is quoted or fenced wherever it has lines of its own, so that no page can forge a part of a reply.
//!
//! It is a library, not a gate. It decides nothing about what pages hold, keeps nothing, and names a
//! tool in a reply only where the caller has it.

mod blocks;
mod body;
mod cut;
mod data;
#[cfg(all(any(test, feature = "testing"), not(target_family = "wasm")))]
pub mod fixture;
mod focused;
mod kind;
mod line;
mod no_results;
mod page;
mod preview;
#[cfg(all(any(test, feature = "testing"), not(target_family = "wasm")))]
pub mod promises;
mod quote;
mod reader;
mod rerank;
mod search;

pub use cut::cut;
pub use data::{HitData, RelatedData, SearchResults};
pub use focused::{FocusedGateSpec, FocusedParams, focused_gate};
pub use kind::Kind;
pub use line::{code, one_line, shorten};
pub use page::{PageData, read_page};
pub use preview::ContentBudget;
pub use search::{MAX_TOP_K, PageQuery, RelatedTool, SearchView, search};
