//! The databases of the house. This crate keeps the knowledge graph, and what gates store under keys; it
//! knows SQLite, wiki folders and nothing of wires, sandboxes or models. What it stores for the house it offers
//! as the ports of `gatehouse-core`.
//!
//! `wiki` is shared by all engines, `sqlite` is one engine, `knowledge` joins the two behind the port.

mod engine;
mod knowledge;
mod sqlite;
pub mod wiki;

pub use engine::{EmbeddingHealth, Health};
pub use knowledge::{KnowledgeConfig, WikiKnowledge};
pub use sqlite::kv::SqliteKv;
pub use wiki::{IndexFile, SEARCH_BACKENDS, WikiRoots, write_atomic};
