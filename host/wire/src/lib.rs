//! The network: speaks MCP towards clients in [`serve`], and later towards proxied servers; brings components
//! from OCI registries in [`registry`]; sends gates' HTTP requests in [`outbound`].
//!
//! The only crate that knows rmcp, hyper and the HTTP client. It knows no sandbox, no store and no model: a request
//! becomes a [`gatehouse_core::Call`], goes down the pipeline, and its outcome becomes a result.

pub mod outbound;
pub mod registry;
pub mod serve;
