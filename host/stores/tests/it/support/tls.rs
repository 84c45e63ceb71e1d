//! A front that encrypts, for a PostgreSQL server that was built without: what a client sees is a server with a
//! certificate.

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

/// What a client sends that wants encryption: its length, and a number that is not a version.
const SSL_REQUEST: [u8; 8] = [0, 0, 0, 8, 4, 210, 22, 47];

/// The front; it ends when this is dropped.
pub(crate) struct Front {
    address: SocketAddr,
    dir: TempDir,
    task: JoinHandle<()>,
}

impl Front {
    /// In front of a server on this port, with a certificate for this name that its own file vouches for.
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

    /// The file with the root that vouches for it.
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
        // One side that hangs up ends both, which is all there is to do.
        let _ = copy_bidirectional(&mut client, &mut server).await;
    }
}
