//! Servers with `login = "caller"`: each principal has its own login, connection and circuit breaker. The listing is
//! shared.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use futures_util::future::join_all;
use gatehouse_core::{
    Call, CallContext, ContentPart, Fault, Outcome, Principal, Reply, ToolSpec, lock,
    ports::servers::{ServerDefinition, ServerLogin, ServerState, ServerTransport},
    question::ClientQuestion,
    source::Listing,
};
use serde_json::{Map, json};

use super::{DownstreamServer, shutdown_fault};
use crate::{
    downstream::connection::ServerConnection,
    login::{LoginId, LoginState},
};

/// Principals with a connection to one server at a time. Beyond it, one that is idle is closed.
const MAX_CALLERS: usize = 1_000;

/// Idle time after which the connection of a principal is closed.
const IDLE_TIMEOUT: Duration = Duration::from_secs(600);

/// Pause between two looks for a login that another process stores.
const LOGIN_POLL_INTERVAL: Duration = Duration::from_secs(2);

/// Tool of a server that no caller has signed in to yet. Later, calls of its own tools ask to sign in.
const SIGN_IN_TOOL: &str = "sign_in";

#[derive(Default)]
pub(super) struct CallerServers {
    servers: Mutex<HashMap<Principal, Arc<DownstreamServer>>>,
    /// Catalogs identify a tool by its `Arc`, so this is made once.
    sign_in_listing: OnceLock<Arc<Listing>>,
}

impl CallerServers {
    /// Returns the state of a connection, if any principal has one.
    pub(super) fn state(&self) -> Option<ServerState> {
        let servers = lock(&self.servers);
        servers.values().any(|server| server.connected().is_some()).then_some(ServerState::Connected)
    }

    pub(super) async fn close(&self) {
        let servers = std::mem::take(&mut *lock(&self.servers));
        join_all(servers.values().map(|server| Box::pin(server.close()))).await;
    }
}

impl DownstreamServer {
    /// Returns the server with the login that a principal uses, connected or not.
    pub(super) fn for_caller(&self, principal: &Principal) -> Result<Arc<Self>, Fault> {
        // The local user manages the host, and uses the login that lists the server.
        if self.definition.login == ServerLogin::Shared || *principal == Principal::Local {
            return self.this.upgrade().ok_or_else(shutdown_fault);
        }
        let mut servers = lock(&self.callers.servers);
        if lock(&self.inner).closed {
            return Err(self.closed_fault());
        }
        if let Some(caller_server) = servers.get(principal) {
            return Ok(Arc::clone(caller_server));
        }
        if servers.len() >= MAX_CALLERS {
            let idle = servers.iter().filter_map(|(principal, caller_server)| {
                // A call may hold it before it counts as running.
                let inner = lock(&caller_server.inner);
                let is_followed =
                    inner.connection.as_ref().is_some_and(|connection| connection.is_followed());
                let is_idle = inner.in_flight == 0 && !is_followed && Arc::strong_count(caller_server) == 1;
                is_idle.then(|| (inner.last_used, principal.clone()))
            });
            let Some((_, longest)) = idle.min_by_key(|(last_used, _)| *last_used) else {
                let name = &self.definition.name;
                return Err(Fault::exhausted(format!("{MAX_CALLERS} people are using server '{name}'"))
                    .hint("Repeat the call in a moment."));
            };
            if let Some(caller_server) = servers.remove(&longest) {
                tokio::spawn(async move { caller_server.close().await });
            }
        }
        let definition = ServerDefinition {
            idle_timeout: self.definition.idle_timeout.or(Some(IDLE_TIMEOUT)),
            preconnect: false,
            ..self.definition.clone()
        };
        let login = LoginId::from_principal(&self.definition.name, principal);
        let caller_server =
            Self::with_login(definition, Arc::clone(&self.shared), login, Arc::clone(&self.listing_lock));
        servers.insert(principal.clone(), Arc::clone(&caller_server));
        Ok(caller_server)
    }

    /// Returns the server with the login of a principal.
    ///
    /// # Errors
    /// `denied` if the principal must sign in first. The hint has the link.
    pub(in crate::downstream) async fn signed_in(&self, principal: &Principal) -> Result<Arc<Self>, Fault> {
        let caller_server = self.for_caller(principal)?;
        if caller_server.has_login().await? { Ok(caller_server) } else { Err(caller_server.sign_in_fault()) }
    }

    /// Returns the server with the login of the caller. If there is none, and the client can open a link, the user signs
    /// in first.
    pub(super) async fn signed_in_for(&self, context: &Arc<CallContext>) -> Result<Arc<Self>, Fault> {
        let caller_server = self.for_caller(&context.caller.principal)?;
        if caller_server.has_login().await? {
            return Ok(caller_server);
        }
        // An earlier attempt may have failed because of the login that ended.
        lock(&caller_server.inner).breaker.record_success();
        let link = caller_server.shared.logins.sign_ins().link(&caller_server.login);
        let Some(mut link) = link.filter(|_| context.client.profile().features.urls) else {
            return Err(caller_server.sign_in_fault());
        };
        // The user needs one question, however many calls wait.
        let Ok(_asking) = caller_server.asking.try_lock() else { return Err(caller_server.sign_in_fault()) };
        let name = &caller_server.definition.name;
        let message = format!("To use server '{name}', sign in with your own account.");
        let question = ClientQuestion::sign_in(&message, &link.url, &link.id);
        let answers = context.ask_client(&[question]).await?;
        if answers.first().and_then(|answer| answer.get("action")).is_none_or(|action| action != "accept") {
            return Err(Fault::denied(format!("the user did not sign in to server '{name}'"))
                .hint("Ask the user what to do instead."));
        }
        let is_over = async {
            loop {
                tokio::select! {
                    signed_in = async { link.ended.wait_for(|ended| *ended).await.is_ok() } => return signed_in,
                    () = tokio::time::sleep(LOGIN_POLL_INTERVAL) => {
                        if caller_server.is_login_stored().await.unwrap_or(false) {
                            return true;
                        }
                    }
                }
            }
        };
        let signed_in = context.wait_for_user(is_over).await?;
        if signed_in { Ok(Arc::clone(&caller_server)) } else { Err(caller_server.sign_in_fault()) }
    }

    /// Whether the login can be used, as far as is known without a request. True if all callers share one.
    async fn has_login(&self) -> Result<bool, Fault> {
        if self.login.owner().is_none() || self.is_login_stored().await? {
            return Ok(true);
        }
        // A server may trust its session, but the principal has logged out.
        if let Some(connection) = self.connected() {
            self.close_connection(&connection, "its login ended".into());
        }
        Ok(false)
    }

    async fn is_login_stored(&self) -> Result<bool, Fault> {
        let (ServerTransport::Http { url, .. } | ServerTransport::Sse { url, .. }) =
            &self.definition.transport
        else {
            return Ok(false);
        };
        Ok(matches!(self.shared.logins.state(&self.login, url).await?, LoginState::Valid { .. }))
    }

    /// Returns a listing with a tool to sign in, if that is what a client must do before the server can be listed.
    pub(in crate::downstream) async fn sign_in_listing(&self) -> Result<Option<Arc<Listing>>, Fault> {
        let own_logins = self.definition.login == ServerLogin::Caller;
        if !own_logins || self.known().await?.is_some() || self.is_login_stored().await? {
            return Ok(None);
        }
        Ok(Some(Arc::clone(
            self.callers.sign_in_listing.get_or_init(|| sign_in_listing(&self.definition.name)),
        )))
    }

    /// Returns true for the sign-in tool. Catalogs may still list it after another caller has signed in.
    pub(super) async fn is_sign_in(&self, tool: &str) -> Result<bool, Fault> {
        if self.definition.login != ServerLogin::Caller || tool != SIGN_IN_TOOL {
            return Ok(false);
        }
        let server_listing = self.known().await?;
        Ok(server_listing.is_none_or(|server_listing| {
            server_listing.listing.tools.iter().all(|listed_tool| *listed_tool.name != *SIGN_IN_TOOL)
        }))
    }

    /// Signs the caller in, and lists the server.
    pub(super) async fn sign_in(&self, call: &Call) -> Outcome {
        let caller_server = self.signed_in_for(&call.context).await?;
        caller_server.ensure_listed().await?;
        let text = format!("Signed in to server '{}'. Its tools are listed now.", self.definition.name);
        Ok(Reply { content: vec![ContentPart::Text(text)], ..Reply::default() })
    }

    /// Returns a connection to list resources with. What one principal may read is never stored, so it is asked for.
    pub(super) async fn connection_to_list(&self, limit: Duration) -> Option<Arc<dyn ServerConnection>> {
        let connected = self.connected();
        if connected.is_some() || self.login.owner().is_none() || !self.has_login().await.unwrap_or(false) {
            return connected;
        }
        tokio::time::timeout(limit, self.connection()).await.ok()?.ok()
    }

    fn sign_in_fault(&self) -> Fault {
        let fault = self.login.missing_fault();
        match self.shared.logins.sign_ins().link(&self.login) {
            Some(link) => {
                fault.hint(format!("Open {} within 10 minutes to sign in, then repeat the call.", link.url))
            }
            None => fault,
        }
    }

    /// Whether a new connection uses the known listing. False if all callers share one login: then every connection lists
    /// the server.
    ///
    /// Principals may see different tools. Without this, each connection would change the tools of everybody.
    pub(super) async fn uses_known_listing(&self) -> bool {
        self.login.owner().is_some() && self.known().await.is_ok_and(|listing| listing.is_some())
    }
}

fn sign_in_listing(server: &str) -> Arc<Listing> {
    let object = || Arc::new(Map::from_iter([("type".to_owned(), json!("object"))]));
    let description = format!("Signs the user in to server '{server}'. Its tools are listed afterwards.");
    let tool = ToolSpec {
        title: Some("Sign in".into()),
        input_schema: object(),
        open_world: true,
        ..ToolSpec::new(SIGN_IN_TOOL, description)
    };
    Arc::new(Listing {
        name: server.into(),
        params_schema: object(),
        tools: vec![Arc::new(tool)],
        ..Listing::default()
    })
}
