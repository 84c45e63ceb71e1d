//! Text processing without a generative model: token counts, embeddings, and the extractor and digest that fit a text
//! into a token budget.
//!
//! Everything is computed locally. This crate uses no network and no database.

mod bm25;
mod chunks;
mod compact;
mod digest;
mod embed;
mod extract;
mod fnv;
mod layout;
mod tokens;
mod word_list;

pub use digest::rows;
pub use embed::{DIMENSION, LocalEmbedder};
pub use extract::Extractor;
pub use tokens::BpeTokenCounter;
pub use word_list::split_list;
