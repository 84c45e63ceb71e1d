//! Embedding providers, one file each: what they are sent and how their answers are read. The rest they have in common.

mod batch;
pub(crate) mod gemini;
pub(crate) mod ollama;
pub(crate) mod openai;

pub(crate) use batch::ProviderEmbedder;
