//! What is done with text without calling a model: exact token counts, the extractor and the digest that make text
//! fit a budget, and an embedding model of its own.
//!
//! Everything is computed on this machine. It knows no network, no database and no gate.

mod bm25;
mod chunks;
mod compact;
mod digest;
mod embed;
mod extract;
mod layout;
mod tokens;

pub use embed::{DIMENSION, LocalEmbedder};
pub use extract::Extractor;
pub use tokens::BpeTokenCounter;
