//! Towards OCI registries: brings a gate's component from one, and publishes one to it.
//!
//! Written on a plain HTTP client, because the registry is an adversary: every answer has a cap, every
//! digest is computed here, and credentials go to nobody but the registry and a token service that is its own.
//! `oci-client` (0.18) cannot be held to that. It makes its HTTP client itself, with neither a redirect policy nor a
//! time for a whole request, so redirects lead anywhere, out of TLS too; manifests, tokens and errors are read whole,
//! of any size; and it sends the credentials to whatever token service the registry names. It streams blobs alone, and
//! would bring a dozen crates more.
//!
//! The calls are those of the OCI distribution specification 1.1; the artifact is laid out as the CNCF
//! "Wasm OCI Artifact" says: a config, and one layer that is the component.

mod auth;
mod client;
mod manifest;
mod pull;
mod push;
mod reference;

use std::fmt;

pub use client::RegistryClient;
pub use manifest::{ComponentLayer, GatePackage};
pub use pull::PublishedArtifact;
pub use reference::OciReference;

/// Reads a manifest that a registry sent, whatever it is.
#[cfg(any(test, fuzzing))]
pub(crate) fn fuzz_manifest(input: &[u8]) {
    let _ = manifest::component(input, None);
}

/// Who we are to a registry.
#[derive(Clone)]
pub struct Credentials {
    /// The account.
    pub user: String,
    /// Its password or token.
    pub password: String,
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials(…)")
    }
}

/// What we want of a registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RegistryAccess {
    /// To read.
    Pull,
    /// To read and write.
    Push,
}

/// Why a registry did not serve.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct RegistryError {
    /// Who, and what is wrong.
    pub message: String,
    /// Whether (other) credentials could help.
    pub wants_credentials: bool,
}

impl RegistryError {
    fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), wants_credentials: false }
    }

    fn credentials(message: impl Into<String>) -> Self {
        Self { message: message.into(), wants_credentials: true }
    }
}
