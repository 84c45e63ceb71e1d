//! The protocol behind the port: one service for each preset that a client asked for.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use bytes::Bytes;
use gatehouse_core::Principal;
use http::{Request, StatusCode};
use http_body_util::Full;
use rmcp::transport::streamable_http_server::{
    StreamableHttpServerConfig, StreamableHttpService, session::local::LocalSessionManager,
};
use tokio_util::sync::CancellationToken;

use super::{
    body::MAX_BODY,
    reply::{BoxResponse, refuse},
};
use crate::serve::{House, Served, handler::Handler};

/// How long a session may rest: an agent's user goes to lunch, and a session holds next to nothing.
const SESSION_REST: Duration = Duration::from_secs(12 * 3600);

/// Sessions per preset; more are answered with "try later".
const MAX_SESSIONS: usize = 1_000;

/// A preset's service, and its sessions to count them.
pub(super) struct Mcp {
    service: StreamableHttpService<Handler, LocalSessionManager>,
    sessions: Arc<LocalSessionManager>,
}

/// A preset and the service that was made for it.
type Named = (Arc<Served>, Arc<Mcp>);

/// The services of all presets.
pub(super) struct Services {
    house: Arc<House>,
    default: Arc<Mcp>,
    /// Made when a client first asks for the preset; made anew for a preset that went and came back.
    presets: Mutex<HashMap<String, Named>>,
    principal: Principal,
    config: StreamableHttpServerConfig,
}

impl Services {
    /// Every stream of theirs ends when `end` is cancelled.
    pub(super) fn new(house: Arc<House>, principal: Principal, end: &CancellationToken) -> Self {
        // Host and Origin were checked before anything comes here.
        let config = StreamableHttpServerConfig::default()
            .disable_allowed_hosts()
            .disable_allowed_origins()
            .with_max_request_body_bytes(MAX_BODY)
            .with_cancellation_token(end.child_token());
        Self {
            default: Arc::new(mcp(&house, house.default(), &principal, config.clone())),
            presets: Mutex::default(),
            house,
            principal,
            config,
        }
    }

    /// The service of the preset for clients that name none.
    pub(super) fn default(&self) -> &Arc<Mcp> {
        &self.default
    }

    pub(super) fn preset(&self, name: &str, served: &Arc<Served>) -> Arc<Mcp> {
        let mut presets = self.presets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, mcp)) = presets.get(name).filter(|(known, _)| Arc::ptr_eq(known, served)) {
            return Arc::clone(mcp);
        }
        let mcp = Arc::new(mcp(&self.house, served, &self.principal, self.config.clone()));
        presets.insert(name.to_owned(), (Arc::clone(served), Arc::clone(&mcp)));
        mcp
    }
}

fn mcp(
    house: &Arc<House>,
    served: &Arc<Served>,
    principal: &Principal,
    config: StreamableHttpServerConfig,
) -> Mcp {
    let handler = Handler::new(Arc::clone(house), Arc::clone(served), principal.clone());
    let mut sessions = LocalSessionManager::default();
    sessions.session_config.keep_alive = Some(SESSION_REST);
    let sessions = Arc::new(sessions);
    let make = move || Ok(handler.for_another_client());
    let service = StreamableHttpService::new(make, Arc::clone(&sessions), config);
    Mcp { service, sessions }
}

/// Answers a request whose sender is known and whose body was read.
pub(super) async fn answer(mcp: &Mcp, request: Request<Full<Bytes>>) -> BoxResponse {
    let opens = !request.headers().contains_key("mcp-session-id");
    if opens && mcp.sessions.sessions.read().await.len() >= MAX_SESSIONS {
        return refuse(StatusCode::SERVICE_UNAVAILABLE, "Too many sessions are open here; try again later.");
    }
    mcp.service.handle(request).await
}
