//! The databases of the house. This crate keeps the knowledge graph, and what gates store under keys; it
//! knows SQLite, wiki folders and nothing of wires, sandboxes or models. What it stores for the house it offers
//! as the ports of `gatehouse-core`.
//!
//! `wiki` is shared by all engines, `sqlite` is one engine, `knowledge` joins the two behind the port.

mod engine;
mod knowledge;
mod sqlite;
#[cfg(feature = "weaviate-neo4j")]
mod weaviate_neo4j;
pub mod wiki;

pub use engine::Health;
pub use knowledge::{KnowledgeConfig, WikiKnowledge};
pub use sqlite::kv::SqliteKv;
#[cfg(feature = "weaviate-neo4j")]
pub use weaviate_neo4j::{Timing, WeaviateNeo4jConfig};
pub use wiki::{IndexFile, SEARCH_BACKENDS, WikiRoots, write_atomic};
