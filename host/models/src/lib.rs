//! The only crate that calls models, and the home of what works without one.
//!
//! It knows no database, no wire and no sandbox. Today it holds the local defaults: exact token counts
//! and the extractor that makes text fit a budget. Providers join as `embed/` and `llm/`, one file each.

mod bm25;
mod chunks;
mod digest;
pub mod extract;
mod pieces;
pub mod tokens;

pub use extract::Extractor;
pub use tokens::Tokens;
