//! From names to addresses that may be connected to. The addresses that are checked here are the ones that
//! the client connects to, so a name that changes its mind gains nothing.

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

/// What a lookup comes to.
pub(crate) type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

/// Asks for the addresses of a name.
pub(crate) type LookupFn = Arc<dyn Fn(String) -> LookupFuture + Send + Sync>;

/// Lookups at the same time, shared by gates. One that nobody waits for any more still holds its thread until
/// the system's own time is up, and threads are for others too.
const MAX_LOOKUPS: usize = 32;

tokio::task_local! {
    /// The gate whose request is sent: the client's interface to a resolver tells it nothing but the name.
    static GATE: Arc<str>;
}

/// Sends a request in a gate's name.
pub(super) async fn for_gate<F: Future>(gate: &Arc<str>, request: F) -> F::Output {
    GATE.scope(Arc::clone(gate), request).await
}

/// The lookup of the system: its hosts file and its name servers.
pub(crate) fn system_lookup() -> LookupFn {
    static TURNS: LazyLock<FairSemaphore> = LazyLock::new(|| FairSemaphore::new(MAX_LOOKUPS));
    Arc::new(|name| {
        // Where the client goes on with a connection on its own, nobody waits for it; they share one share.
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

/// All addresses of a name are forbidden ones.
#[derive(Debug, thiserror::Error)]
#[error("the name stands for no public address")]
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
