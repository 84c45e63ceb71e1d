//! Everything that is kept in SQLite, in files below the data folder. No server, nothing to set up.

pub(crate) mod claim;
pub(crate) mod copy;
#[cfg(feature = "weaviate-neo4j")]
pub(crate) mod cut;
mod db;
mod error;
mod functions;
pub(crate) mod knowledge;
pub(crate) mod kv;
mod migrations;
mod vector_cache;
mod vectors;
