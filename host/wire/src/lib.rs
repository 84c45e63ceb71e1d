//! Speaks MCP: towards clients in [`serve`], and later towards proxied servers.
//!
//! The only crate that knows rmcp and axum. It knows no sandbox, no store and no model: a request
//! becomes a [`gatehouse_core::Call`], goes down the pipeline, and its outcome becomes a result.

pub mod serve;
