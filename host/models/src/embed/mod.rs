//! Embedding providers, one file each.

mod batch;
pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod openai;
