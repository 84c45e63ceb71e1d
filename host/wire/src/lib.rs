//! The network: speaks MCP towards clients in [`serve`] and towards servers behind the host in [`downstream`]; brings components
//! from OCI registries in [`registry`]; sends gates' HTTP requests in [`outbound`].
//!
//! The only crate that knows rmcp, hyper and the HTTP client. It knows no sandbox, no store and no model: a request
//! becomes a [`gatehouse_core::Call`], goes down the pipeline, and its outcome becomes a result.

pub mod downstream;
#[cfg(any(test, fuzzing))]
pub mod fuzz;
pub mod login;
pub mod outbound;
pub mod registry;
pub mod serve;
