//! The knowledge graph, the library of documents, the artifacts and the store of the gates as the house meets them: through the ports, on real folders
//! and real databases.
//! One binary, so that it links once; one module per promise.
#![allow(clippy::unwrap_used)] // helpers are tests too

mod artifact_behaviours;
mod behaviours;
mod document_behaviours;
mod embedder;
mod engines;
mod kv;
mod ledger;
mod support;
mod tools;
