//! Runs gates: WebAssembly components that implement the contract in `wit/`.
//!
//! The only crate that uses wasmtime. It contains no database, model or protocol code: capabilities come in as
//! [`Ports`], and a gate gets only those that presets.toml grants.
//!
//! Gates are untrusted. Each call gets a fresh instance unless presets.toml enables reuse, with a deadline, limits on
//! memory and transferred data, no environment variables, no sockets, and no files outside the configured folders.

#![cfg_attr(test, allow(clippy::duplicate_mod, reason = "tests include a contract version and its copy"))]

mod abi;
pub mod cache;
mod capability;
mod capacity;

mod compile_cost;
mod component_info;
mod engine;
mod folders;
mod function_cache;
mod gate;
mod index;
mod instance;

mod limits;
mod loader;
mod machine_code;
mod output;

mod source;
mod state;
#[cfg(test)]
#[path = "tests/testing.rs"]
mod testing;
mod version;
mod wasi;

use std::sync::Arc;

use gatehouse_core::ports::{
    ArtifactService, CallLedger, Clock, DocumentReader, Embedder, HttpFetcher, KnowledgeGraph, KvStore, Llm,
    PortSetup, ServerRegistry, TextCompressor, TokenCounter, ToolIndex,
};

pub use capability::caller_key_prefix;
pub use capacity::SystemLimits;
pub use compile_cost::CompileCostError;
pub use component_info::{ComponentInfo, MAX_FILE, NotAGate};
pub use folders::GuestFolder;
pub use gate::{Gate, GateInfo, ProbeOutcome, ProbeReport};
pub use index::{EmbeddedComponents, FileStamp};
pub use limits::{SandboxLimits, format_bytes, parse_bytes, parse_duration};
pub use loader::{GateSettings, LoadError, Sandbox};

/// Host services that gates can use, one field per capability.
#[derive(Clone)]
pub struct Ports {
    pub clock: Arc<dyn Clock>,
    pub knowledge: Arc<dyn PortSetup<dyn KnowledgeGraph>>,
    pub documents: Arc<dyn PortSetup<dyn DocumentReader>>,
    pub kv: Arc<dyn KvStore>,
    pub artifacts: Arc<dyn PortSetup<dyn ArtifactService>>,
    pub text: Arc<dyn TextCompressor>,
    pub http: Arc<dyn HttpFetcher>,
    pub models: ModelPorts,
    pub servers: Arc<dyn ServerRegistry>,
    /// Stored tool catalog of those servers.
    pub tools: Arc<dyn ToolIndex>,
    /// Outcomes of earlier calls. `None` if they are not recorded.
    pub ledger: Option<Arc<dyn CallLedger>>,
}

#[derive(Clone)]
pub struct ModelPorts {
    pub llm: Arc<dyn Llm>,
    pub embedder: Arc<dyn Embedder>,
    pub tokens: Arc<dyn TokenCounter>,
}
