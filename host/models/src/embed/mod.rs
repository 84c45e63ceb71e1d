//! Embedding providers: a file per provider, with requests and responses, and `batch` for all.

mod batch;
pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod openai;

pub(crate) use batch::ProviderEmbedder;
