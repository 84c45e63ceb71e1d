//! Both lifecycles of the protocol on one connection: `server/discover` (since MCP 2026-07-28) and `initialize` (up to
//! 2025-11-25). The first good answer to either decides. An error to one is final only if the other fails, too.

use std::{sync::Arc, time::Duration};

use futures_util::{StreamExt as _, stream::FuturesUnordered};
use gatehouse_core::ports::client::ClientFeatures;
use serde_json::{Map, Value, json};
use tokio::time::sleep;

use super::{Channel, DISCOVERY_VERSION, HANDSHAKE_VERSION, Lifecycle, Peer, Request, ServerInfo};
use crate::{connected_clients::declare, downstream::connection::CallFailure};

pub(super) const DISCOVER: &str = "server/discover";
const INITIALIZE: &str = "initialize";

/// Code of the error with which a server refuses a version, since 2026-07-28.
const UNSUPPORTED_VERSION: i32 = -32022;

/// Time after which the handshake is tried too. Some servers do not answer what they do not know.
const DISCOVERY_WAIT: Duration = Duration::from_secs(10);

/// Returns true for the requests that begin a connection. They must not be cancelled.
pub(super) fn is_part(method: &str) -> bool {
    [DISCOVER, INITIALIZE].contains(&method)
}

/// Failures of the lifecycles that were tried, in order.
#[derive(Debug)]
pub(in crate::downstream) struct NegotiationFailure(pub(in crate::downstream) Vec<(Lifecycle, CallFailure)>);

/// Returns the description of the host.
fn client_info() -> Value {
    json!({"name": "gatehouse", "version": env!("CARGO_PKG_VERSION")})
}

/// Returns the capabilities that the host declares to servers: its own, and features of clients.
fn capabilities(features: ClientFeatures) -> Value {
    let mut capabilities = json!({"extensions": {rmcp::model::TASKS_EXTENSION_ID: {}}});
    declare(features, &mut capabilities);
    capabilities
}

/// Returns what each request says of the host and its client since 2026-07-28.
pub(super) fn modern_meta(features: ClientFeatures) -> Map<String, Value> {
    let members = [
        ("protocolVersion", DISCOVERY_VERSION.into()),
        ("clientInfo", client_info()),
        ("clientCapabilities", capabilities(features)),
    ];
    members.map(|(key, value)| (format!("io.modelcontextprotocol/{key}"), value)).into_iter().collect()
}

impl Peer {
    /// Begins the connection, with the lifecycle that the server probably has.
    pub(in crate::downstream) async fn negotiate(
        self: &Arc<Self>,
        first: Lifecycle,
    ) -> Result<Arc<ServerInfo>, NegotiationFailure> {
        let begin = |lifecycle| async move { (lifecycle, self.begin(lifecycle).await) };
        let mut running = FuturesUnordered::from_iter([begin(first)]);
        // Servers with the oldest HTTP transport have no discovery.
        let mut other = (!matches!(self.channel, Channel::Sse(_))).then(|| first.other());
        let mut failures = Vec::new();
        let mut patience = Box::pin(sleep(DISCOVERY_WAIT));
        let info = loop {
            tokio::select! {
                biased;
                Some((lifecycle, answer)) = running.next() => match answer {
                    Ok(info) => break info,
                    Err(failure) => {
                        // Both need the login, and no server answers on a closed connection.
                        let is_final = self.is_closed()
                            || matches!(failure, CallFailure::Login(_) | CallFailure::NotSent(_));
                        failures.push((lifecycle, failure));
                        if is_final || (running.is_empty() && other.is_none()) {
                            return Err(NegotiationFailure(failures));
                        }
                        running.extend(other.take().map(begin));
                    }
                },
                () = &mut patience, if first == Lifecycle::Discovery && other.is_some() => {
                    running.extend(other.take().map(begin));
                }
            }
        };
        drop(running);
        let info = Arc::new(info);
        let _ = self.info.set(Arc::clone(&info));
        if info.lifecycle == Lifecycle::Handshake {
            self.send(json!({"jsonrpc": "2.0", "method": "notifications/initialized"})).await;
        }
        if let Channel::Http(http) = &self.channel {
            http.begin_session(self);
            let this = Arc::clone(self);
            self.runtime.spawn(async move {
                this.closing.cancelled().await;
                this.close().await;
            });
        }
        self.follow_changes();
        Ok(info)
    }

    /// Sends the first request of a lifecycle.
    async fn begin(self: &Arc<Self>, lifecycle: Lifecycle) -> Result<ServerInfo, CallFailure> {
        let request = || match lifecycle {
            Lifecycle::Discovery => Request::new(DISCOVER, json!({})),
            Lifecycle::Handshake => {
                let params = json!({
                    "protocolVersion": HANDSHAKE_VERSION,
                    "capabilities": capabilities(self.context.declared),
                    "clientInfo": client_info(),
                });
                Request::new(INITIALIZE, params)
            }
        };
        let mut answer = self.request(request()).await;
        // A server that names its versions may accept the same one now.
        if lifecycle == Lifecycle::Discovery
            && matches!(answer, Err(CallFailure::Refused { code: UNSUPPORTED_VERSION, .. }))
        {
            answer = self.request(request()).await;
        }
        let answer = answer?.value;
        let info = match lifecycle {
            Lifecycle::Discovery => ServerInfo::from_discovery(answer),
            Lifecycle::Handshake => ServerInfo::from_handshake(answer),
        };
        info.map_err(CallFailure::Transport)
    }

    /// Returns the version of a request's header. `None` for the handshake, which negotiates it.
    pub(in crate::downstream) fn version_of(&self, method: &str) -> Option<&str> {
        match method {
            DISCOVER => Some(DISCOVERY_VERSION),
            INITIALIZE => None,
            _ => self.info().map(|info| &*info.protocol),
        }
    }
}
