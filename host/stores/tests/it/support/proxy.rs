//! A TCP proxy that simulates a bad network.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Network {
    Whole,
    Silent,
    /// Ends a connection after its next COMMIT, whose answer is lost.
    CutsCommits,
}

/// A proxy in front of a server. Stops on drop.
pub(crate) struct Proxy {
    address: SocketAddr,
    network: watch::Sender<Network>,
    accepted: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Proxy {
    pub(crate) async fn to(port: u16, network: Network) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (network, accepted) = (watch::Sender::new(network), Arc::new(AtomicUsize::new(0)));
        let (state, count) = (network.subscribe(), Arc::clone(&accepted));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                count.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(carry(client, port, state.clone()));
            }
        });
        Self { address, network, accepted, task }
    }

    pub(crate) fn port(&self) -> u16 {
        self.address.port()
    }

    pub(crate) fn turn(&self, network: Network) {
        self.network.send_replace(network);
    }

    pub(crate) fn accepted(&self) -> usize {
        self.accepted.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

async fn carry(client: TcpStream, port: u16, network: watch::Receiver<Network>) {
    let Ok(server) = TcpStream::connect(("127.0.0.1", port)).await else { return };
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let cut = Arc::new(AtomicBool::new(false));
    tokio::join!(
        pass(from_client, to_server, network.clone(), (Arc::clone(&cut), true)),
        pass(from_server, to_client, network, (cut, false)),
    );
}

async fn pass(
    mut from: tokio::net::tcp::OwnedReadHalf,
    mut to: tokio::net::tcp::OwnedWriteHalf,
    network: watch::Receiver<Network>,
    (cut, is_client): (Arc<AtomicBool>, bool),
) {
    let mut buffer = vec![0; 64 * 1024];
    while let Ok(read @ 1..) = from.read(&mut buffer).await {
        let network = *network.borrow();
        if network == Network::CutsCommits
            && is_client
            && buffer[..read].windows(6).any(|part| part == b"COMMIT")
        {
            cut.store(true, Ordering::SeqCst);
        }
        if !is_client && cut.load(Ordering::SeqCst) {
            return;
        }
        if network != Network::Silent && to.write_all(&buffer[..read]).await.is_err() {
            return;
        }
    }
}
