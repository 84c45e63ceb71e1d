//! Clients with a session: they are notified of list changes, and the host tracks whether they listed again.
//!
//! Stateless clients do not appear here; their subscriptions notify them.

use std::{
    sync::{
        Arc, Mutex, OnceLock, Weak,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use gatehouse_core::{
    Caller, Catalog, approval::ApprovalStore, catalog::CatalogGeneration, lock, names::quoted,
    ports::client::MessageLevel,
};
use rmcp::{RoleServer, service::Peer};
use serde::{Deserialize, Serialize};

use super::{ListKind, subscriptions::ResourceSubscriptions};
use crate::serve::{elicitation::RootsCopy, served_presets::ClientsChanged, sessions::HttpSession};

/// Maximum time to deliver a notification. A slow client misses it.
const MAX_NOTIFY_TIME: Duration = Duration::from_secs(5);

/// State of one client, shared by its handler and the client list.
#[derive(Default)]
pub(crate) struct ClientState {
    /// Generation of each list that the client last received; 0 for never.
    listed: ListGenerations,
    /// Generation of the tool list that the client was last notified about; 0 for never.
    notified: AtomicU64,
    /// Times of the last notification and of the last list request, in milliseconds since 1970; 0 for never.
    notified_at: AtomicU64,
    listed_at: AtomicU64,
    pub(crate) watched: ResourceSubscriptions,
    pub(crate) approvals: ApprovalStore,
    /// Minimum level of log messages in this session. `None` if never set.
    pub(crate) messages: Mutex<Option<MessageLevel>>,
    pub(crate) roots: RootsCopy,
    /// The session over HTTP. Other clients leave when their pipe closes.
    pub(crate) session: OnceLock<Weak<HttpSession>>,
}

type ListGenerations = [AtomicU64; 3];

/// Time without a connection after which the client of a session has left.
const MAX_DISCONNECTED: Duration = Duration::from_secs(30);

impl ClientState {
    /// Waits until the client's session has had no connection for [`MAX_DISCONNECTED`].
    pub(crate) async fn has_left(&self) {
        let Some(session) = self.session.get() else { return std::future::pending().await };
        loop {
            let disconnected = session.upgrade().map(|session| session.time_disconnected());
            match disconnected {
                None => return,
                Some(Some(time)) if time >= MAX_DISCONNECTED => return,
                Some(time) => {
                    tokio::time::sleep(MAX_DISCONNECTED.saturating_sub(time.unwrap_or_default())).await;
                }
            }
        }
    }

    pub(crate) fn record_listed(&self, list: ListKind, generation: CatalogGeneration) {
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
    caller: Arc<Caller>,
    peer: Peer<RoleServer>,
}

pub(crate) struct PresetClients {
    connected: Mutex<Vec<ConnectedClient>>,
    /// Generation of each list in the last notification; 0 for never.
    announced: ListGenerations,
    watchers: ClientsChanged,
}

impl PresetClients {
    pub(crate) fn new(watchers: ClientsChanged) -> Self {
        Self { connected: Mutex::default(), announced: ListGenerations::default(), watchers }
    }

    /// Adds an initialized client, once. Notifies it of lists that changed since it received them.
    pub(crate) fn join(&self, client: Arc<ClientState>, caller: &Arc<Caller>, peer: Peer<RoleServer>) {
        let mut connected = lock(&self.connected);
        connected.retain(|entry| !entry.peer.is_transport_closed());
        if connected.iter().any(|entry| Arc::ptr_eq(&entry.client, &client)) {
            return;
        }
        for list in ListKind::ALL {
            let at = |generations: &ListGenerations| generations[list as usize].load(Ordering::SeqCst);
            let announced = at(&self.announced);
            if (1..announced).contains(&at(&client.listed)) {
                notify_client(&client, &peer, list, announced);
            }
        }
        connected.push(ConnectedClient { client, caller: Arc::clone(caller), peer });
        drop(connected);
        self.notify_watchers();
    }

    /// Adds a client of a restored session. Its lists may be outdated, so it is notified of all of them.
    pub(crate) fn rejoin(
        &self,
        client: Arc<ClientState>,
        caller: &Arc<Caller>,
        peer: Peer<RoleServer>,
        catalog: &Catalog,
    ) {
        for list in ListKind::ALL.into_iter().filter(|list| list.exists_in(catalog)) {
            notify_client(&client, &peer, list, catalog.generation.0);
        }
        self.join(client, caller, peer);
    }

    /// Wakes receivers that watch the client list.
    pub(crate) fn notify_watchers(&self) {
        self.watchers.send_replace(());
    }

    /// Notifies each client of the lists that changed for its caller, without waiting. `changed` are the lists that may
    /// have changed for clients that have yet to join.
    pub(crate) fn notify_clients(
        &self,
        generation: CatalogGeneration,
        changed: &[ListKind],
        changed_for: impl Fn(&Arc<Caller>) -> Vec<ListKind>,
    ) {
        let mut connected = lock(&self.connected);
        connected.retain(|entry| !entry.peer.is_transport_closed());
        for list in changed {
            self.announced[*list as usize].store(generation.0, Ordering::SeqCst);
        }
        for ConnectedClient { client, caller, peer } in connected.iter() {
            for list in changed_for(caller) {
                notify_client(client, peer, list, generation.0);
            }
        }
        drop(connected);
        self.notify_watchers();
    }

    pub(crate) fn infos(&self) -> Vec<ClientInfo> {
        let connected = lock(&self.connected);
        connected.iter().filter(|entry| !entry.peer.is_transport_closed()).map(info).collect()
    }
}

fn notify_client(client: &ClientState, peer: &Peer<RoleServer>, list: ListKind, generation: u64) {
    if list == ListKind::Tools {
        client.notified.store(generation, Ordering::Relaxed);
        client.notified_at.store(now_ms(), Ordering::Relaxed);
    }
    let peer = peer.clone();
    tokio::spawn(async move {
        if !tokio::time::timeout(MAX_NOTIFY_TIME, list.notify(&peer)).await.unwrap_or_default() {
            let list_name = list.as_str();
            tracing::warn!("cannot notify a client that its {list_name} changed");
        }
    });
}

fn info(ConnectedClient { client, peer, .. }: &ConnectedClient) -> ClientInfo {
    let at = |time: &AtomicU64| Some(time.load(Ordering::Relaxed)).filter(|ms| *ms > 0);
    let (told_at, listed_at) = (at(&client.notified_at), at(&client.listed_at));
    let peer_info = peer.peer_info();
    let text = |text: Option<&str>| quoted(text.unwrap_or("unknown"), 64);
    ClientInfo {
        name: text(peer_info.as_ref().map(|info| info.client_info.name.as_str())),
        version: text(peer_info.as_ref().map(|info| info.client_info.version.as_str())),
        protocol: text(peer_info.as_ref().map(|info| info.protocol_version.as_str())),
        told_at,
        listed_at,
        up_to_date: client.notified.load(Ordering::Relaxed)
            <= client.listed[ListKind::Tools as usize].load(Ordering::Relaxed),
    }
}

fn now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}
