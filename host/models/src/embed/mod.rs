//! Embedding providers, one file each. `local` needs no network and is the default.

mod batch;
pub(crate) mod gemini;
pub mod local;
pub(crate) mod ollama;
pub(crate) mod openai;

pub use local::LocalEmbedder;
