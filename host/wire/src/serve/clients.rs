//! Who is connected to a preset: they are told when their lists change, and it is kept whether they
//! asked for them again. Only clients with a session are known here; stateless ones come and go with
//! each request, and those that subscribe are told by their subscription.

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

/// A client that does not take a notification for so long is left to find out by itself.
const MAX_NOTIFY_TIME: Duration = Duration::from_secs(5);

/// What one client did; shared between its handler and the list of clients.
#[derive(Default)]
pub(super) struct ClientState {
    /// The generation of each list that it got last, 0 for none.
    listed: ListGenerations,
    /// The generation of the list of tools that it was told of last, 0 for none.
    told: AtomicU64,
    /// The times, in milliseconds since 1970, when it was told of its tools last and listed them last; 0 for never.
    told_at: AtomicU64,
    listed_at: AtomicU64,
    /// The resources that it watches.
    pub(super) watched: ResourceSubscriptions,
    /// What was approved in its session.
    pub(super) approvals: ApprovalStore,
    /// What it wants to be told of, with a session; none where it never said so.
    pub(super) messages: Mutex<Option<MessageLevel>>,
}

/// A generation for each [`ListKind`].
type ListGenerations = [AtomicU64; 3];

impl ClientState {
    /// The client got the list of this generation.
    pub(super) fn lists(&self, list: ListKind, generation: CatalogGeneration) {
        self.listed[list as usize].store(generation.0, Ordering::SeqCst);
        if list == ListKind::Tools {
            self.listed_at.store(now_ms(), Ordering::Relaxed);
        }
    }
}

/// A connected client, for people. Times are milliseconds since 1970.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ClientInfo {
    /// As the client calls itself.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocol version it speaks.
    pub protocol: String,
    /// When it was last told that its tools changed.
    pub told_at: Option<u64>,
    /// When it last asked for the list.
    pub listed_at: Option<u64>,
    /// Whether it asked for the list since it was told.
    pub up_to_date: bool,
}

struct ConnectedClient {
    client: Arc<ClientState>,
    peer: Peer<RoleServer>,
}

/// The clients of one preset.
pub(super) struct PresetClients {
    connected: Mutex<Vec<ConnectedClient>>,
    /// The generation of each list that clients were told of last, 0 for none.
    last: ListGenerations,
    news: ClientsChanged,
}

impl PresetClients {
    pub(super) fn new(news: ClientsChanged) -> Self {
        Self { connected: Mutex::default(), last: ListGenerations::default(), news }
    }

    /// A client has shaken hands; doing so again makes it no other one. Where the list changed since it got
    /// one, on the way here, it is told.
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

    /// A client is back whose lists nobody here knows, so it is told that they may be others now.
    pub(super) fn rejoin(&self, client: Arc<ClientState>, peer: Peer<RoleServer>, catalog: &Catalog) {
        for list in ListKind::ALL.into_iter().filter(|list| list.exists_in(catalog)) {
            notify_client(&client, &peer, list, catalog.generation.0);
        }
        self.join(client, peer);
    }

    /// What is known about a client is another thing now.
    pub(super) fn changed(&self) {
        self.news.send_replace(());
    }

    /// Tells every client that these lists changed. Waits for none of them.
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

    /// Those whose connection stands.
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
            tracing::warn!("a client could not be told that its {what} changed");
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
