//! TLS connections, with verified certificates.

use gatehouse_net::{TrustRoots, tls_config};
use tokio_postgres_rustls::MakeRustlsConnect;

use super::{
    address::TlsMode,
    error::{Result, StoreError},
};

/// Creates a TLS connector. May block to read root certificates.
pub(super) fn tls_connector(tls: &TlsMode) -> Result<MakeRustlsConnect> {
    let roots = match tls {
        // Unused: no connection is encrypted.
        TlsMode::Off => TrustRoots::None,
        TlsMode::Verified(None) => TrustRoots::Platform,
        TlsMode::Verified(Some(file)) => TrustRoots::File(file),
    };
    let config = tls_config(&roots).map_err(|reason| {
        StoreError::Tls(match tls {
            TlsMode::Verified(Some(file)) => {
                format!("cannot use sslrootcert '{}': {reason}", file.display())
            }
            _ => reason,
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
            let error = tls_connector(&TlsMode::Verified(Some(file))).err().unwrap();
            assert!(error.to_string().contains(name), "{error}");
        }
        assert!(tls_connector(&TlsMode::Off).is_ok());
    }
}
