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
    Fault, Principal,
    fair_semaphore::FairSemaphore,
    http::{AddressScope, address::is_public},
};
use gatehouse_net::{
    Client, HttpClients, Url,
    dns::{Addrs, Name, Resolve, Resolving},
};

pub(crate) type LookupFuture = Pin<Box<dyn Future<Output = io::Result<Vec<SocketAddr>>> + Send>>;

pub(crate) type LookupFn = Arc<dyn Fn(String) -> LookupFuture + Send + Sync>;

/// Concurrent lookups, shared fairly by gates. An abandoned lookup holds its thread until the system's timeout.
const MAX_LOOKUPS: usize = 32;

tokio::task_local! {
    /// Principal and gate whose request is sent. The resolver interface of the HTTP client passes only the name.
    static SENDER: (Principal, Arc<str>);
}

pub(super) async fn for_gate<F: Future>((principal, gate): (&Principal, &Arc<str>), request: F) -> F::Output {
    SENDER.scope((principal.clone(), Arc::clone(gate)), request).await
}

pub(crate) fn system_lookup() -> LookupFn {
    static SLOTS: LazyLock<FairSemaphore> = LazyLock::new(|| FairSemaphore::new(MAX_LOOKUPS));
    Arc::new(|name| {
        // The HTTP client may complete a connection in the background, without a gate. Such lookups share one slot
        // queue.
        let (principal, gate) = SENDER.try_with(Clone::clone).unwrap_or_default();
        Box::pin(async move {
            let slot = SLOTS.acquire(&principal, &gate).await;
            let lookup = move || {
                let _slot = slot;
                (name.as_str(), 0).to_socket_addrs().map(Iterator::collect)
            };
            tokio::task::spawn_blocking(lookup).await?
        })
    })
}

/// All addresses of a name are forbidden.
#[derive(Debug, thiserror::Error)]
#[error("the name resolves to no public address")]
pub(super) struct NoPublicAddress;

/// True if a request failed because its host has only forbidden addresses.
pub(crate) fn has_no_public_address(error: &gatehouse_net::Error) -> bool {
    let mut causes = std::iter::successors(Some(error as &dyn std::error::Error), |error| error.source());
    causes.any(|cause| cause.is::<NoPublicAddress>())
}

/// HTTP clients for public addresses and for any address. The pools are separate, so that requests never share a
/// connection across scopes.
pub(crate) struct ScopedClients {
    public: HttpClients,
    any: HttpClients,
}

impl ScopedClients {
    pub(crate) fn new(lookup: &LookupFn, idle_per_host: usize) -> Self {
        let clients = |scope: AddressScope| {
            let lookup = LookupFn::clone(lookup);
            HttpClients::new(move |builder| {
                let resolver = Resolver { scope, lookup: LookupFn::clone(&lookup) };
                builder.dns_resolver(resolver).pool_max_idle_per_host(idle_per_host)
            })
        };
        Self { public: clients(AddressScope::Public), any: clients(AddressScope::Any) }
    }

    pub(crate) fn for_url(&self, scope: AddressScope, url: &Url) -> Result<&Client, Fault> {
        match scope {
            AddressScope::Public => self.public.for_url(url),
            AddressScope::Any => self.any.for_url(url),
        }
    }
}

pub(super) struct Resolver {
    pub(super) scope: AddressScope,
    pub(super) lookup: LookupFn,
}

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (lookup, scope) = ((self.lookup)(name.as_str().to_owned()), self.scope);
        Box::pin(async move {
            let mut addresses = lookup.await?;
            let is_known = !addresses.is_empty();
            addresses.retain(|address| scope == AddressScope::Any || is_public(address.ip()));
            if is_known && addresses.is_empty() {
                return Err(NoPublicAddress.into());
            }
            let addresses: Addrs = Box::new(addresses.into_iter());
            Ok(addresses)
        })
    }
}
