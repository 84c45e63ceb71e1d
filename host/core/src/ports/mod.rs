//! Ports: traits for services that other crates implement, such as engines, models and clocks.
//!
//! Nothing in this module opens a file or a socket.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use crate::Fault;

pub mod artifacts;
pub mod audit;
pub mod auth;
pub mod client;
pub mod converter;
pub mod documents;
pub mod embed;
pub mod http;
pub mod keys;
pub mod knowledge;
pub mod kv;
pub mod ledger;
pub mod llm;
pub mod quota;
pub mod readiness;
pub mod servers;
pub mod text;
pub mod tool_index;

pub use artifacts::ArtifactService;
pub use audit::AuditLog;
pub use auth::Authenticator;
pub use client::CallingClient;
pub use converter::DocumentConverter;
pub use documents::{DocumentReader, DocumentStore};
pub use embed::Embedder;
pub use http::HttpFetcher;
pub use keys::KeyStore;
pub use knowledge::KnowledgeGraph;
pub use kv::KvStore;
pub use ledger::CallLedger;
pub use llm::Llm;
pub use quota::QuotaStore;
pub use servers::ServerRegistry;
pub use text::{TextCompressor, TokenCounter};
pub use tool_index::ToolIndex;

/// A port that may be set up on first use, which the functions of the port therefore need not know.
pub trait PortSetup<P: ?Sized>: Send + Sync {
    /// Returns the port, set up if necessary. `unavailable` if its configuration is invalid.
    fn port(&self) -> Result<&P, Fault>;
}

/// The time of day, as a port so that tests and replays can set it. Deadlines use the runtime's monotonic timer instead.
pub trait Clock: Send + Sync {
    /// Returns milliseconds since 1970-01-01T00:00:00Z.
    fn now_ms(&self) -> u64;
}

/// Workflow marks: files in a project directory. Paths outside the allowed directories are `denied`; a path that is not
/// a directory is `invalid-arguments`.
#[async_trait]
pub trait WorkflowMarks: Send + Sync {
    /// Returns the canonical project directory if it is in one of the `allowed` directories.
    ///
    /// `origin` names the source of `root` in messages.
    async fn project(&self, origin: &str, root: &str, allowed: &[PathBuf]) -> Result<PathBuf, Fault>;

    /// Returns true if the file exists and is a regular file.
    async fn exists(&self, project: &Path, file: &str) -> Result<bool, Fault>;

    /// Creates the file if it does not exist. Follows no symbolic links.
    async fn create(&self, project: &Path, file: &str) -> Result<(), Fault>;
}
