//! The network: MCP towards clients in [`serve`] and towards servers in [`downstream`], components from OCI registries
//! in [`registry`], HTTP requests of gates in [`outbound`].
//!
//! The only crate that uses rmcp and hyper. It does not know the sandbox, stores or models: a request becomes a
//! [`gatehouse_core::Call`] for the pipeline, and the outcome becomes a result.

pub mod downstream;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod login;
pub mod outbound;
pub mod registry;
pub mod serve;
