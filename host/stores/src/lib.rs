//! The databases of the house. This crate keeps the knowledge graph, and what gates store under keys; it
//! knows SQLite, PostgreSQL, wiki folders and nothing of wires, sandboxes or models. What it stores for the
//! house it offers as the ports of `gatehouse-core`.
//!
//! `wiki` is shared by all engines and so is `embedding`, which gives pages their vectors; `sqlite` and
//! `postgres` are engines, `knowledge` joins all of them behind the port.

mod embedding;
mod engine;
mod knowledge;
#[cfg(feature = "postgres")]
mod postgres;
mod private;
mod sqlite;
#[cfg(feature = "weaviate-neo4j")]
mod weaviate_neo4j;
pub mod wiki;

pub use engine::{EmbeddingHealth, Health};
pub use knowledge::{KnowledgeConfig, WikiKnowledge};
#[cfg(feature = "postgres")]
pub use postgres::{PostgresConfig, Times};
pub use private::make_private;
pub use sqlite::{
    claim::Claim,
    copy::{Kept, check, copy},
    kv::SqliteKv,
};
#[cfg(feature = "weaviate-neo4j")]
pub use weaviate_neo4j::{Timing, WeaviateNeo4jConfig};
pub use wiki::{IndexFile, SEARCH_BACKENDS, WikiRoots, write_atomic};
