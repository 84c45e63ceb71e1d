//! What an encrypted connection is checked against. A certificate that does not check out ends the connection,
//! in every mode.

use std::{path::Path, sync::Arc};

use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject as _},
};
use rustls_platform_verifier::BuilderVerifierExt as _;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{address::Tls, error::StoreError};

/// What makes encrypted connections; reads the files that hold the roots, so it may block.
pub(super) fn connector(tls: &Tls) -> Result<MakeRustlsConnect, StoreError> {
    let failed = |error: rustls::Error| StoreError::Tls(error.to_string());
    let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_safe_default_protocol_versions()
        .map_err(failed)?;
    let config = match tls {
        // Never asked, since no connection is encrypted; nothing would be trusted.
        Tls::Off => builder.with_root_certificates(RootCertStore::empty()).with_no_client_auth(),
        Tls::Verified(None) => builder.with_platform_verifier().map_err(failed)?.with_no_client_auth(),
        Tls::Verified(Some(file)) => builder.with_root_certificates(roots(file)?).with_no_client_auth(),
    };
    Ok(MakeRustlsConnect::new(config))
}

fn roots(file: &Path) -> Result<RootCertStore, StoreError> {
    let failed =
        |why: String| StoreError::Tls(format!("sslrootcert '{}' cannot be used: {why}", file.display()));
    let mut roots = RootCertStore::empty();
    for certificate in CertificateDer::pem_file_iter(file).map_err(|error| failed(error.to_string()))? {
        let certificate = certificate.map_err(|error| failed(error.to_string()))?;
        roots.add(certificate).map_err(|error| failed(error.to_string()))?;
    }
    if roots.is_empty() {
        return Err(failed("it holds no certificate".to_owned()));
    }
    Ok(roots)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_without_roots_is_named() {
        let dir = tempfile::tempdir().unwrap();
        for (name, text) in [("none.pem", None), ("empty.pem", Some("")), ("text.pem", Some("hello"))] {
            let file = dir.path().join(name);
            if let Some(text) = text {
                std::fs::write(&file, text).unwrap();
            }
            let error = connector(&Tls::Verified(Some(file))).err().unwrap();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(connector(&Tls::Off).is_ok());
    }
}
