//! TLS configuration. The certificate is always verified.

use gatehouse_net::{TrustRoots, tls_config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{address::TlsMode, error::StoreError};

/// Creates a TLS connector. May block to read root certificates.
pub(super) fn connector(tls: &TlsMode) -> Result<MakeRustlsConnect, StoreError> {
    let roots = match tls {
        // Unused: no connection is encrypted.
        TlsMode::Off => TrustRoots::None,
        TlsMode::Verified(None) => TrustRoots::Platform,
        TlsMode::Verified(Some(file)) => TrustRoots::File(file),
    };
    let config = tls_config(&roots).map_err(|why| {
        StoreError::Tls(match tls {
            TlsMode::Verified(Some(file)) => {
                format!("cannot use sslrootcert '{}': {why}", file.display())
            }
            _ => why,
        })
    })?;
    Ok(MakeRustlsConnect::new(config))
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
            let error = connector(&TlsMode::Verified(Some(file))).err().unwrap();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(connector(&TlsMode::Off).is_ok());
    }
}
