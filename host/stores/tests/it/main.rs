//! Integration tests of the stores through their ports, with real files and databases. One binary to link once; one
//! module per topic.
#![allow(clippy::unwrap_used)] // helpers are tests, too

mod artifact_behaviours;
mod audit_behaviours;
mod behaviours;
mod document_behaviours;
mod embedder;
mod engines;
mod key_behaviours;
mod kv_behaviours;
mod ledger;
mod ledger_behaviours;
mod support;
mod tool_behaviours;
