//! The knowledge graph as the house meets it: through the port, on real folders and a real database.
//! One binary, so that it links once; one module per promise.
#![allow(clippy::unwrap_used)] // helpers are tests too

mod crash;
mod index;
mod lookup;
mod patch;
mod sample;
mod search;
mod support;
mod upsert;
