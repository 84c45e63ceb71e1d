//! Clients with a session: they are notified of list changes, and the host tracks whether they listed again.
//!
//! Stateless clients do not appear here; their subscriptions notify them.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use gatehouse_core::{
    Catalog, approval::ApprovalStore, catalog::CatalogGeneration, lock, names::quoted,
    ports::client::MessageLevel,
};
use rmcp::{RoleServer, service::Peer};
use serde::{Deserialize, Serialize};

use super::{lists::ListKind, served_presets::ClientsChanged, subscriptions::ResourceSubscriptions};

/// Maximum time to deliver a notification. A slow client misses it.
const MAX_NOTIFY_TIME: Duration = Duration::from_secs(5);

/// State of one client, shared by its handler and the client list.
#[derive(Default)]
pub(super) struct ClientState {
    /// Generation of each list that the client last received; 0 for never.
    listed: ListGenerations,
    /// Generation of the tool list that the client was last notified about; 0 for never.
    told: AtomicU64,
    /// Times of the last notification and of the last list request, in milliseconds since 1970; 0 for never.
    told_at: AtomicU64,
    listed_at: AtomicU64,
    pub(super) watched: ResourceSubscriptions,
    pub(super) approvals: ApprovalStore,
    /// Minimum level of log messages in this session. `None` if never set.
    pub(super) messages: Mutex<Option<MessageLevel>>,
}

type ListGenerations = [AtomicU64; 3];

impl ClientState {
    pub(super) fn lists(&self, list: ListKind, generation: CatalogGeneration) {
        self.listed[list as usize].store(generation.0, Ordering::SeqCst);
        if list == ListKind::Tools {
            self.listed_at.store(now_ms(), Ordering::Relaxed);
        }
    }
}

/// A connected client. Times are in milliseconds since 1970.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClientInfo {
    pub name: String,
    pub version: String,
    pub protocol: String,
    /// Last notification of changed tools.
    pub told_at: Option<u64>,
    /// Last request for the tool list.
    pub listed_at: Option<u64>,
    /// True if the client listed tools after the last notification.
    pub up_to_date: bool,
}

struct ConnectedClient {
    client: Arc<ClientState>,
    peer: Peer<RoleServer>,
}

pub(super) struct PresetClients {
    connected: Mutex<Vec<ConnectedClient>>,
    /// Generation of each list in the last notification; 0 for never.
    last: ListGenerations,
    news: ClientsChanged,
}

impl PresetClients {
    pub(super) fn new(news: ClientsChanged) -> Self {
        Self { connected: Mutex::default(), last: ListGenerations::default(), news }
    }

    /// Adds an initialized client, once. Notifies it of lists that changed since it received them.
    pub(super) fn join(&self, client: Arc<ClientState>, peer: Peer<RoleServer>) {
        let mut connected = lock(&self.connected);
        connected.retain(|known| !known.peer.is_transport_closed());
        if connected.iter().any(|known| Arc::ptr_eq(&known.client, &client)) {
            return;
        }
        for list in ListKind::ALL {
            let at = |generations: &ListGenerations| generations[list as usize].load(Ordering::SeqCst);
            let last = at(&self.last);
            if (1..last).contains(&at(&client.listed)) {
                notify_client(&client, &peer, list, last);
            }
        }
        connected.push(ConnectedClient { client, peer });
        drop(connected);
        self.changed();
    }

    /// Adds a client of a restored session. Its lists may be outdated, so it is notified of all of them.
    pub(super) fn rejoin(&self, client: Arc<ClientState>, peer: Peer<RoleServer>, catalog: &Catalog) {
        for list in ListKind::ALL.into_iter().filter(|list| list.exists_in(catalog)) {
            notify_client(&client, &peer, list, catalog.generation.0);
        }
        self.join(client, peer);
    }

    /// Wakes receivers that watch the client list.
    pub(super) fn changed(&self) {
        self.news.send_replace(());
    }

    /// Notifies all clients of these changes, without waiting.
    pub(super) fn notify_clients(&self, generation: CatalogGeneration, changed: &[ListKind]) {
        let mut connected = lock(&self.connected);
        connected.retain(|known| !known.peer.is_transport_closed());
        for list in changed {
            self.last[*list as usize].store(generation.0, Ordering::SeqCst);
            for ConnectedClient { client, peer } in connected.iter() {
                notify_client(client, peer, *list, generation.0);
            }
        }
        drop(connected);
        self.changed();
    }

    pub(super) fn infos(&self) -> Vec<ClientInfo> {
        let connected = lock(&self.connected);
        connected.iter().filter(|known| !known.peer.is_transport_closed()).map(info).collect()
    }
}

fn notify_client(client: &ClientState, peer: &Peer<RoleServer>, list: ListKind, generation: u64) {
    if list == ListKind::Tools {
        client.told.store(generation, Ordering::Relaxed);
        client.told_at.store(now_ms(), Ordering::Relaxed);
    }
    let peer = peer.clone();
    tokio::spawn(async move {
        if !tokio::time::timeout(MAX_NOTIFY_TIME, list.notify(&peer)).await.unwrap_or_default() {
            let what = list.as_str();
            tracing::warn!("cannot notify a client that its {what} changed");
        }
    });
}

fn info(ConnectedClient { client, peer }: &ConnectedClient) -> ClientInfo {
    let at = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|ms| *ms > 0);
    let (told_at, listed_at) = (at(&client.told_at), at(&client.listed_at));
    let said = peer.peer_info();
    let text = |text: Option<&str>| quoted(text.unwrap_or("unknown"), 64);
    ClientInfo {
        name: text(said.as_ref().map(|said| said.client_info.name.as_str())),
        version: text(said.as_ref().map(|said| said.client_info.version.as_str())),
        protocol: text(said.as_ref().map(|said| said.protocol_version.as_str())),
        told_at,
        listed_at,
        up_to_date: client.told.load(Ordering::Relaxed)
            <= client.listed[ListKind::Tools as usize].load(Ordering::Relaxed),
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
