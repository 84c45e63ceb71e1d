//! TLS configuration, and the cryptographic library.

use std::{path::Path, sync::Arc};

use gatehouse_core::Fault;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Selects the cryptographic library for clients that open their own TLS connections.
pub fn install_crypto() {
    // Fails only if it was selected before.
    let _ = ring::default_provider().install_default();
}

pub fn random_bytes<const N: usize>() -> Result<[u8; N], Fault> {
    let mut bytes = [0; N];
    let filled = ring::default_provider().secure_random.fill(&mut bytes);
    filled.map_err(|_| Fault::internal("the system cannot provide random numbers"))?;
    Ok(bytes)
}

pub enum TrustRoots<'a> {
    /// For connections that are never encrypted.
    None,
    Platform,
    /// Path of a PEM file.
    File(&'a Path),
}

/// Creates a TLS client configuration. Blocks while it reads certificates.
pub fn tls_config(roots: &TrustRoots<'_>) -> Result<ClientConfig, String> {
    let failed = |error: rustls::Error| error.to_string();
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let builder = match roots {
        TrustRoots::None => builder.with_root_certificates(RootCertStore::empty()),
        TrustRoots::Platform => builder.with_platform_verifier().map_err(failed)?,
        TrustRoots::File(file) => builder.with_root_certificates(read_roots(file)?),
    };
    Ok(builder.with_no_client_auth())
}

fn read_roots(file: &Path) -> Result<RootCertStore, String> {
    let failed = |error: rustls::pki_types::pem::Error| error.to_string();
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(failed)? {
        roots.add(certificate.map_err(failed)?).map_err(|error| error.to_string())?;
    }
    if roots.is_empty() { Err("the file contains no certificates".to_owned()) } else { Ok(roots) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_roots_is_refused() {
        let dir = tempfile::tempdir().expect("a folder");
        for (name, text) in [("none.pem", None), ("empty.pem", Some("")), ("text.pem", Some("hello"))] {
            let file = dir.path().join(name);
            text.map_or(Ok(()), |text| std::fs::write(&file, text)).expect("written");
            assert!(tls_config(&TrustRoots::File(&file)).is_err(), "{name}");
        }
        assert!(tls_config(&TrustRoots::None).is_ok());
    }
}
