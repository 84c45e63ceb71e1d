//! Databases: the knowledge graph, documents, artifacts, the tool catalog, key-value data of gates, the call ledger,
//! API keys and the audit.
//!
//! `knowledge`, `documents`, `artifacts`, `kv`, `ledger`, `audit` and `keys` implement ports of `gatehouse-core` on any
//! engine with the statements of `sql`. `sqlite`, `postgres`, `weaviate_neo4j` and `chroma` are the engines. `embedding`
//! computes vectors in the background, and `wiki` parses pages and finds their files. The crate knows no protocols,
//! sandboxes or models.

mod artifacts;
mod audit;
#[cfg(feature = "chroma")]
mod chroma;
mod documents;
mod embedding;
mod engine;
mod files;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod keys;
mod knowledge;
mod kv;
mod ledger;
mod nearest;
mod random;
#[cfg(any(feature = "chroma", feature = "weaviate-neo4j"))]
mod remote;
mod sql;
mod tools;
#[cfg(feature = "weaviate-neo4j")]
mod weaviate_neo4j;
pub mod wiki;
mod worker;

pub use artifacts::{ArtifactLimits, ArtifactStore, RowReader, Sweeper};
pub use audit::{
    AuditFilter, AuditRecord, AuditTables, BrokenEntry, ChainReport, KnownPrincipal, QuotaRefusals,
};
#[cfg(feature = "chroma")]
pub use chroma::ChromaConfig;
pub use documents::DocumentLibrary;
#[cfg(feature = "postgres")]
pub use documents::{DocumentTables, PostgresDocumentsConfig};
pub use engine::{EmbeddingHealth, StoreHealth};
pub use files::{DataFile, check, check_all, copy};
pub use keys::KeyTables;
pub use knowledge::{KnowledgeConfig, LinkedPage, WikiKnowledge};
pub use kv::KvTables;
pub use ledger::{LedgerHealth, LedgerRetention, LedgerTables};
#[cfg(feature = "postgres")]
pub use sql::postgres::{PostgresConfig, PostgresTimeouts};
pub use sql::sqlite::DatabaseLock;
pub use tools::ToolCatalogStore;
#[cfg(feature = "weaviate-neo4j")]
pub use weaviate_neo4j::{RemoteTimeouts, WeaviateNeo4jConfig};
pub use wiki::{IndexFile, SEARCH_BACKENDS, WikiRoots};
