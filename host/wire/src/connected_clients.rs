//! Clients of this host, as far as servers may know about them: the features that some client has, and the only client
//! if there is a single one.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::{
    Principal, lock,
    ports::client::{ClientFeatures, ClientRoot, MAX_ROOTS, MessageLevel},
    question::message_data,
};
use rmcp::{
    RoleServer,
    model::{ClientCapabilities, CustomNotification, SKILLS_EXTENSION_ID, ServerNotification},
    service::Peer,
};
use serde_json::{Map, Value, json};
use tokio::{sync::watch, time::timeout};

use crate::serve::ClientState;

/// Extension of MCP for interfaces (MCP Apps).
const APPS_EXTENSION: &str = "io.modelcontextprotocol/ui";

const APPS_MIME_TYPE: &str = "text/html;profile=mcp-app";

/// Maximum wait for the roots of a client, outside of calls.
const MAX_ROOTS_WAIT: Duration = Duration::from_secs(5);

/// The clients of a host. Servers outside of calls see a client only if it is the only one and belongs to the local user:
/// no user may answer for another.
#[derive(Default)]
pub struct ConnectedClients {
    declared: watch::Sender<ClientFeatures>,
    sessions: Mutex<Vec<ClientSession>>,
    roots_changes: watch::Sender<u64>,
}

struct ClientSession {
    peer: Peer<RoleServer>,
    client: Arc<ClientState>,
    is_local: bool,
    has_roots: bool,
}

impl ConnectedClients {
    /// Adds the features of a client to those that are declared to servers from now on.
    pub(crate) fn add(&self, client: &ClientCapabilities) {
        self.declared.send_if_modified(|declared_features| {
            let before = std::mem::take(declared_features);
            *declared_features = before.union(features(client));
            *declared_features != before
        });
    }

    pub(crate) fn declared(&self) -> ClientFeatures {
        *self.declared.borrow()
    }

    pub(crate) fn declarations(&self) -> watch::Receiver<ClientFeatures> {
        self.declared.subscribe()
    }

    /// Adds a client with a session.
    pub(crate) fn join(&self, principal: &Principal, client: &Arc<ClientState>, peer: &Peer<RoleServer>) {
        let has_roots = peer.peer_info().is_some_and(|info| info.capabilities.roots.is_some());
        let session = ClientSession {
            peer: peer.clone(),
            client: Arc::clone(client),
            is_local: *principal == Principal::Local,
            has_roots,
        };
        let mut sessions = lock(&self.sessions);
        // A client may send `initialized` again.
        sessions.retain(|existing| {
            !existing.peer.is_transport_closed() && !Arc::ptr_eq(&existing.client, client)
        });
        sessions.push(session);
    }

    pub(crate) fn roots_changed(&self) {
        self.roots_changes.send_modify(|changes| *changes += 1);
    }

    pub(crate) fn roots_changes(&self) -> watch::Receiver<u64> {
        self.roots_changes.subscribe()
    }

    fn with_only_client<T>(&self, get: impl FnOnce(&ClientSession) -> Option<T>) -> Option<T> {
        let mut sessions = lock(&self.sessions);
        sessions.retain(|session| !session.peer.is_transport_closed());
        match &sessions[..] {
            [only] if only.is_local => get(only),
            _ => None,
        }
    }

    /// Returns the roots of the only client. Empty if there are several, or if it does not answer in time.
    // rmcp deprecates roots, but servers of all versions ask for them.
    #[allow(deprecated)]
    pub(crate) async fn only_roots(&self) -> Vec<ClientRoot> {
        let Some(peer) = self.with_only_client(|only| only.has_roots.then(|| only.peer.clone())) else {
            return Vec::new();
        };
        match timeout(MAX_ROOTS_WAIT, peer.list_roots()).await {
            Ok(Ok(listed)) => {
                let root = |root: rmcp::model::Root| ClientRoot { uri: root.uri, name: root.name };
                listed.roots.into_iter().take(MAX_ROOTS).map(root).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Sends a log message to the only client if it wants this level.
    pub(crate) fn log_to_only(&self, level: MessageLevel, logger: &str, data: Value) {
        let wants = |only: &ClientSession| {
            let is_wanted = lock(&only.client.messages).is_some_and(|least| level >= least);
            is_wanted.then(|| only.peer.clone())
        };
        if let (Some(peer), Some(data)) = (self.with_only_client(wants), message_data(data)) {
            let params = json!({"level": level, "logger": logger, "data": data});
            let message = CustomNotification::new("notifications/message", Some(params));
            tokio::spawn(async move {
                let sending = peer.send_notification(ServerNotification::CustomNotification(message));
                // A client that reads nothing misses it.
                let _ = timeout(MAX_ROOTS_WAIT, sending).await;
            });
        }
    }
}

pub(crate) fn has_apps(client: &ClientCapabilities) -> bool {
    client.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(APPS_EXTENSION))
}

pub(crate) fn has_skills(client: &ClientCapabilities) -> bool {
    client.extensions.as_ref().is_some_and(|extensions| extensions.contains_key(SKILLS_EXTENSION_ID))
}

/// Returns the features that a client declares.
pub(crate) fn features(client: &ClientCapabilities) -> ClientFeatures {
    let elicitation = client.elicitation.as_ref();
    ClientFeatures {
        // Clients without URL elicitation always support forms.
        forms: elicitation.is_some_and(|can| can.form.is_some() || can.url.is_none()),
        urls: elicitation.is_some_and(|can| can.url.is_some()),
        sampling: client.sampling.is_some(),
        sampling_tools: client.sampling.as_ref().is_some_and(|can| can.tools.is_some()),
        roots: client.roots.is_some(),
        apps: has_apps(client),
        skills: has_skills(client),
    }
}

/// Adds the features to the capabilities that a server is told.
pub(crate) fn declare(features: ClientFeatures, capabilities: &mut Value) {
    let ClientFeatures { forms, urls, sampling, sampling_tools, roots, apps, skills } = features;
    let elicitation = [("form", forms), ("url", urls)].into_iter().filter(|(_, has)| *has);
    let elicitation: Map<String, Value> = elicitation.map(|(mode, _)| (mode.to_owned(), json!({}))).collect();
    if !elicitation.is_empty() {
        capabilities["elicitation"] = elicitation.into();
    }
    if sampling {
        capabilities["sampling"] = if sampling_tools { json!({"tools": {}}) } else { json!({}) };
    }
    if roots {
        capabilities["roots"] = json!({"listChanged": true});
    }
    if apps {
        capabilities["extensions"][APPS_EXTENSION] = json!({"mimeTypes": [APPS_MIME_TYPE]});
    }
    if skills {
        capabilities["extensions"][SKILLS_EXTENSION_ID] = json!({});
    }
}
