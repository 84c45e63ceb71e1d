//! How the gates that search the knowledge graph show wiki pages: one hit, one preview, one way to say
//! that nothing was found. kg, idea and code differ in a [`View`] and share the rest.
//!
//! It is a library, not a gate. It decides nothing about what pages hold, keeps nothing, and names a
//! tool in a reply only where the caller has it.

mod data;
#[cfg(all(feature = "testing", not(target_family = "wasm")))]
pub mod fixture;
mod focused;
mod kind;
mod line;
mod nothing;
mod preview;
mod rerank;
mod search;

pub use data::{Found, HitData, RelatedData};
pub use focused::{Focus, FocusedParams, focused_gate};
pub use kind::Kind;
pub use line::{code, one_line, shorten};
pub use preview::preview;
pub use search::{Lookout, Query, TOP_K_MAX, View, pointer, related_line, search};
