//! DNS resolver that drops forbidden addresses. The client connects to exactly the addresses that were checked, so DNS
//! rebinding has no effect.

use std::{
    future::Future,
    io,
    net::{SocketAddr, ToSocketAddrs},
    pin::Pin,
    sync::{Arc, LazyLock},
};

use gatehouse_core::{
    fair_semaphore::FairSemaphore,
    http::{AddressScope, address::is_public},
};
use gatehouse_net::dns::{Addrs, Name, Resolve, Resolving};

pub(crate) type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

pub(crate) type LookupFn = Arc<dyn Fn(String) -> LookupFuture + Send + Sync>;

/// Concurrent lookups, shared fairly by gates. An abandoned lookup holds its thread until the system's timeout.
const MAX_LOOKUPS: usize = 32;

tokio::task_local! {
    /// Gate whose request is sent. The resolver interface of the HTTP client passes only the name.
    static GATE: Arc<str>;
}

pub(super) async fn for_gate<F: Future>(gate: &Arc<str>, request: F) -> F::Output {
    GATE.scope(Arc::clone(gate), request).await
}

pub(crate) fn system_lookup() -> LookupFn {
    static TURNS: LazyLock<FairSemaphore> = LazyLock::new(|| FairSemaphore::new(MAX_LOOKUPS));
    Arc::new(|name| {
        // The HTTP client may complete a connection in the background, without a gate. Such lookups share one slot
        // queue.
        let gate = GATE.try_with(Arc::clone).unwrap_or_default();
        Box::pin(async move {
            let turn = TURNS.acquire(&gate).await;
            let lookup = move || {
                let _turn = turn;
                (name.as_str(), 0).to_socket_addrs().map(Iterator::collect)
            };
            tokio::task::spawn_blocking(lookup).await?
        })
    })
}

/// All addresses of a name are forbidden.
#[derive(Debug, thiserror::Error)]
#[error("the name resolves to no public address")]
pub(crate) struct NoPublicAddress;

pub(crate) struct Resolver {
    reach: AddressScope,
    lookup: LookupFn,
}

impl Resolver {
    pub(crate) fn new(reach: AddressScope, lookup: LookupFn) -> Self {
        Self { reach, lookup }
    }
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (found, reach) = ((self.lookup)(name.as_str().to_owned()), self.reach);
        Box::pin(async move {
            let mut addresses = found.await?;
            let any = !addresses.is_empty();
            addresses.retain(|address| reach == AddressScope::Any || is_public(address.ip()));
            if any && addresses.is_empty() {
                return Err(NoPublicAddress.into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}
