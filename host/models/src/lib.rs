//! The only crate that calls models, and the home of what works without one.
//!
//! It knows no database, no wire and no sandbox. The local defaults are exact token counts, the extractor
//! that makes text fit a budget, and an embedding model of its own. Providers are in `embed/` and `llm/`,
//! one file each.

mod bm25;
mod chunks;
mod digest;
pub mod embed;
pub mod extract;
mod pieces;
pub mod tokens;

pub use embed::LocalEmbedder;
pub use extract::Extractor;
pub use tokens::Tokens;
