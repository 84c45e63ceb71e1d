//! The only crate that calls models, and the home of what works without one.
//!
//! It knows no database, no wire and no sandbox. The local defaults are exact token counts, the extractor
//! that makes text fit a budget, and an embedding model of its own. Providers are in `embed/` and `llm/`,
//! one file each.

mod bm25;
mod chunks;
pub mod config;
mod digest;
pub mod embed;
pub mod extract;
mod llm;
mod models;
mod not_set_up;
mod pieces;
mod provider;
mod remedy;
pub mod tokens;

pub use config::ModelsConfig;
pub use embed::LocalEmbedder;
pub use extract::Extractor;
pub use models::{Missing, Models};
pub use tokens::Tokens;
