//! Ports: traits for services that other crates implement, such as engines, models and clocks.
//!
//! Nothing in this module opens a file or a socket.

pub mod artifacts;
pub mod client;
pub mod clock;
pub mod documents;
pub mod embed;
pub mod http;
pub mod knowledge;
pub mod kv;
pub mod ledger;
pub mod llm;
pub mod marks;
pub mod servers;
pub mod text;
pub mod tool_index;

pub use artifacts::ArtifactService;
pub use client::CallingClient;
pub use clock::Clock;
pub use documents::{DocumentReader, DocumentStore};
pub use embed::Embedder;
pub use http::HttpFetcher;
pub use knowledge::KnowledgeGraph;
pub use kv::KvStore;
pub use ledger::CallLedger;
pub use llm::Llm;
pub use marks::WorkflowMarks;
pub use servers::ServerRegistry;
pub use text::{TextCompressor, TokenCounter};
pub use tool_index::ToolIndex;
