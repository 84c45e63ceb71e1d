//! A TLS front for a PostgreSQL server without TLS support.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use tempfile::TempDir;
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};
use tokio_rustls::{
    TlsAcceptor,
    rustls::{
        ServerConfig,
        crypto::ring,
        pki_types::{PrivateKeyDer, pem::PemObject as _},
    },
};

/// SSLRequest message of PostgreSQL: length and request code.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

pub(crate) struct Front {
    address: SocketAddr,
    dir: TempDir,
    task: JoinHandle<()>,
}

impl Front {
    /// Starts a front for a port with a self-signed certificate for this name.
    pub(crate) async fn of(port: u16, name: &str) -> Self {
        let made = rcgen::generate_simple_self_signed([name.to_owned()]).unwrap();
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("root.pem"), made.cert.pem()).unwrap();
        let key = PrivateKeyDer::from_pem_slice(made.signing_key.serialize_pem().as_bytes()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![made.cert.der().clone()], key)
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(carry(client, acceptor.clone(), port));
            }
        });
        Self { address, dir, task }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.dir.path().join("root.pem")
    }
}

impl Drop for Front {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(mut client: TcpStream, acceptor: TlsAcceptor, port: u16) {
    let mut asked = [0; 8];
    if client.read_exact(&mut asked).await.is_err() || asked != SSL_REQUEST {
        return;
    }
    if client.write_all(b"S").await.is_err() {
        return;
    }
    let Ok(mut client) = acceptor.accept(client).await else { return };
    if let Ok(mut server) = TcpStream::connect(("127.0.0.1", port)).await {
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}
