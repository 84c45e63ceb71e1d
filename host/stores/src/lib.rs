//! The databases. This crate keeps the knowledge graph, what gates store under keys, and how calls went; it knows SQLite, PostgreSQL,
//! Weaviate, Neo4j and wiki folders, and nothing of wires, sandboxes or models. What it stores it offers as the ports
//! of `gatehouse-core`.
//!
//! `knowledge` is the graph on any engine: it plans what is stored, and judges what is found. `engine` is what an
//! engine has to do; `sqlite`, `postgres` and `weaviate_neo4j` are engines. `embedding` gives what is searched by
//! meaning its vectors; `wiki` is about pages and their files.

mod artifacts;
#[cfg(feature = "chroma")]
mod chroma;
mod documents;
mod embedding;
mod engine;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
mod knowledge;
mod nearest;
#[cfg(feature = "postgres")]
mod postgres;
mod sqlite;
mod tools;
#[cfg(feature = "weaviate-neo4j")]
mod weaviate_neo4j;
pub mod wiki;
mod worker;

pub use artifacts::{ArtifactHealth, ArtifactLimits, ArtifactStore, Sweeper, engine::ArtifactEngineHealth};
#[cfg(feature = "chroma")]
pub use chroma::ChromaConfig;
pub use documents::{DocumentLibrary, LibraryHealth, engine::DocumentHealth};
pub use engine::{EmbeddingHealth, KnowledgeHealth};
pub use knowledge::{KnowledgeConfig, LinkedPage, WikiKnowledge};
#[cfg(feature = "postgres")]
pub use postgres::{DocumentTables, PostgresConfig, PostgresDocumentsConfig, PostgresTimeouts};
pub use sqlite::{
    copy::{DataFile, check, check_all, copy},
    kv::SqliteKv,
    ledger::{LedgerHealth, SqliteLedger},
    lock::DatabaseLock,
};
pub use tools::ToolCatalogStore;
#[cfg(feature = "weaviate-neo4j")]
pub use weaviate_neo4j::{RemoteTimeouts, WeaviateNeo4jConfig};
pub use wiki::{IndexFile, SEARCH_BACKENDS, WikiRoots};
