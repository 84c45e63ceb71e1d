//! The network: speaks MCP towards clients in [`serve`], and later towards proxied servers; sends gates'
//! HTTP requests in [`outbound`].
//!
//! The only crate that knows rmcp, axum and an HTTP client. It knows no sandbox, no store and no model: a request
//! becomes a [`gatehouse_core::Call`], goes down the pipeline, and its outcome becomes a result.

pub mod outbound;
pub mod serve;
