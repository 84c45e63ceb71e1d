//! OCI registry client that pulls and publishes gate components.
//!
//! The registry is untrusted: every response has a size limit, every digest is computed here, and credentials go only
//! to the registry and its own token service. `oci-client` (0.18) does not allow that. It has no redirect policy and no
//! total timeout, reads manifests, tokens and errors of any size, and sends credentials to any token service that the
//! registry names.
//!
//! Implements the OCI distribution specification 1.1. The artifact layout is the CNCF "Wasm OCI Artifact": a config,
//! and one layer with the component.

mod auth;
mod client;
pub(crate) mod manifest;
mod reference;
mod transfer;

use std::fmt;

pub use client::RegistryClient;
pub use manifest::{ComponentLayer, GatePackage};
pub use reference::OciReference;
pub use transfer::PublishedArtifact;

#[derive(Clone)]
pub struct Credentials {
    pub user: String,
    /// Password or token.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistryAccess {
    Pull,
    Push,
}

#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct RegistryError {
    pub message: String,
    /// True if credentials, or other ones, could help.
    pub needs_credentials: bool,
}

impl RegistryError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), needs_credentials: false }
    }

    fn credentials(message: impl Into<String>) -> Self {
        Self { message: message.into(), needs_credentials: true }
    }
}
