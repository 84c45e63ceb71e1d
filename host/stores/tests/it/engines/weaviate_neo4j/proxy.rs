//! A proxy for the Bolt server that can refuse, cut or swallow traffic.

use std::{net::SocketAddr, sync::Arc};

use tokio::{
    io::AsyncWriteExt as _,
    net::{TcpListener, TcpStream},
    sync::{Mutex, watch},
    task::{JoinHandle, JoinSet},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    Open,
    Swallows,
    /// Cuts the connection when a transaction commits.
    CutsCommits,
}

pub(super) struct Proxy {
    pub(super) address: SocketAddr,
    to: SocketAddr,
    way: watch::Sender<Way>,
    pub(super) connections: Arc<std::sync::atomic::AtomicUsize>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Proxy {
    pub(super) async fn to(to: SocketAddr) -> Self {
        let proxy = Self::closed(to).await;
        proxy.open().await;
        proxy
    }

    /// Creates a proxy that refuses connections until it is opened.
    pub(super) async fn closed(to: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let way = watch::channel(Way::Open).0;
        Self { address, to, way, connections: Arc::default(), task: Mutex::default() }
    }

    pub(super) async fn open(&self) {
        let listener = TcpListener::bind(self.address).await.unwrap();
        let (to, way, connections) = (self.to, self.way.subscribe(), Arc::clone(&self.connections));
        let task = tokio::spawn(async move {
            let mut pairs = JoinSet::new();
            while let Ok((client, _)) = listener.accept().await {
                connections.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                pairs.spawn(pass(client, to, way.clone()));
            }
        });
        *self.task.lock().await = Some(task);
    }

    pub(super) async fn close(&self) {
        if let Some(task) = self.task.lock().await.take() {
            task.abort();
            let _ = task.await;
        }
    }

    pub(super) fn make(&self, way: Way) {
        self.way.send_replace(way);
    }
}

async fn pass(mut client: TcpStream, to: SocketAddr, way: watch::Receiver<Way>) {
    let Ok(mut server) = TcpStream::connect(to).await else { return };
    let (mut from_client, mut to_client) = client.split();
    let (mut from_server, mut to_server) = server.split();
    let forth = async {
        let mut buffer = vec![0; 65536];
        while let Ok(read @ 1..) = tokio::io::AsyncReadExt::read(&mut from_client, &mut buffer).await {
            // COMMIT: a two-byte message, a structure without fields.
            let commits = buffer[..read].windows(6).any(|bytes| bytes == [0, 2, 0xb0, 0x12, 0, 0]);
            if commits && *way.borrow() == Way::CutsCommits {
                break;
            }
            if to_server.write_all(&buffer[..read]).await.is_err() {
                break;
            }
        }
        let _ = to_server.shutdown().await;
    };
    let back = async {
        let mut way = way.clone();
        let mut buffer = vec![0; 65536];
        loop {
            let Ok(read) = tokio::io::AsyncReadExt::read(&mut from_server, &mut buffer).await else { return };
            if read == 0 || way.wait_for(|way| *way != Way::Swallows).await.is_err() {
                return;
            }
            if to_client.write_all(&buffer[..read]).await.is_err() {
                return;
            }
        }
    };
    // Either side ends both.
    tokio::select! { () = forth => {}, () = back => {} }
}
