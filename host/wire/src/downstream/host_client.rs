//! The host as the MCP client of a server: what it declares, the requests that it answers, and what follows from
//! notifications.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    CallContext, Principal, SourceId, names::quoted, ports::client::MessageLevel, question::QuestionKind,
};
use gatehouse_net::Backoff;
use rmcp::{
    ClientHandler, ErrorData, RoleClient,
    model::{
        ClientCapabilities, ClientConfig, ElicitRequestParams, ElicitResult, ElicitationCapability,
        ErrorCode, FormElicitationCapability, Implementation, ProtocolVersion, SamplingCapability,
        SubscriptionFilter, UrlElicitationCapability,
    },
    service::{
        ClientInitializeError, ClientLifecycleMode, InboundStreamOrigin, Peer, RequestContext,
        RunningService, ServiceError, serve_client_with_lifecycle,
    },
    transport::Transport,
};
use tokio::time::{Instant, timeout};

use super::{
    active_calls::{ActiveCalls, CallerOfMessage, to_mcp_root},
    connection::{ConnectionContext, ListChanged},
    inbound::{GuardedTransport, InboundReader, ProgressWatchers},
    session::UpstreamSubscriptions,
};
use crate::{ConnectedClients, connected_clients::DeclaredFeatures};

/// Handler of a server's requests, which the client of a call answers.
#[derive(Clone)]
pub(super) struct HostClient {
    pub(super) server: SourceId,
    pub(super) calls: ActiveCalls,
    pub(super) inbound: InboundReader,
    pub(super) watchers: ProgressWatchers,
    pub(super) subscriptions: UpstreamSubscriptions,
    pub(super) context: ConnectionContext,
}

impl HostClient {
    pub(super) fn new(server: &Arc<str>, inbound: InboundReader, context: &ConnectionContext) -> Self {
        Self {
            server: SourceId::Server(Arc::clone(server)),
            calls: ActiveCalls::default(),
            inbound,
            watchers: ProgressWatchers::default(),
            subscriptions: UpstreamSubscriptions::default(),
            context: context.clone(),
        }
    }

    /// Starts the protocol on a transport.
    pub(super) async fn serve<T: Transport<RoleClient> + 'static>(
        self,
        transport: T,
        lifecycle: ClientLifecycleMode,
    ) -> Result<RunningService<RoleClient, Self>, ClientInitializeError> {
        let transport = GuardedTransport::new(transport, &self);
        let running = serve_client_with_lifecycle(self, transport, lifecycle).await?;
        let (peer, context) = (running.peer(), &running.service().context);
        match &context.changed {
            Some(changed) if is_since_2026(peer) => follow_lists(peer.clone(), Arc::clone(changed)),
            Some(_) if context.declared.roots => forward_roots_changes(peer.clone(), &context.clients),
            _ => {}
        }
        Ok(running)
    }

    /// True if what the server sends outside of a call's stream, and keeps for later calls, may concern this caller: the
    /// local user, or the principal that the connection belongs to.
    fn belongs_to(&self, context: &CallContext) -> bool {
        let principal = &context.caller.principal;
        *principal == Principal::Local || self.context.login.owner() == Some(principal)
    }

    // rmcp deprecates log messages, but servers of all versions send them.
    #[allow(deprecated)]
    /// Passes a log message to the client of its call, or to the only client if no call is running.
    pub(super) fn log(
        &self,
        origin: Option<InboundStreamOrigin>,
        message: rmcp::model::LoggingMessageNotificationParam,
    ) {
        let level = serde_json::to_value(message.level).and_then(serde_json::from_value::<MessageLevel>);
        let Ok(level) = level else { return };
        let logger = match &message.logger {
            Some(logger) => format!("{}/{}", self.server.name(), quoted(logger, MAX_LOGGER)),
            None => self.server.name().to_string(),
        };
        let of_call = matches!(origin, Some(InboundStreamOrigin::OutboundRequest(_)));
        match self.calls.find_now(origin.as_ref()) {
            CallerOfMessage::Call(context) if of_call || self.belongs_to(&context) => {
                context.notify_client(level, &logger, message.data);
            }
            CallerOfMessage::NoCall => self.context.clients.log_to_only(level, &logger, message.data),
            CallerOfMessage::Call(_) | CallerOfMessage::Unknown => {}
            CallerOfMessage::Starting => {
                let host = self.clone();
                tokio::spawn(async move {
                    if let Ok(caller) = host.calls.find_caller(origin.as_ref()).await
                        && (of_call || host.belongs_to(&caller.context))
                    {
                        caller.context.notify_client(level, &logger, message.data);
                    }
                });
            }
        }
    }
}

/// Maximum characters of the name that a server gives to a logger.
const MAX_LOGGER: usize = 64;

/// Pauses before a subscription that ended is opened again.
const LISTEN_AGAIN: Backoff = Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(300) };

/// Lifetime after which the end of a subscription is not a failure: some proxies close streams after a minute.
const STABLE_SUBSCRIPTION: Duration = Duration::from_secs(30);

/// Interval at which a task that waits for clients looks if its connection still exists.
const CONNECTION_CHECK: Duration = Duration::from_secs(60);

pub(super) fn is_since_2026(peer: &Peer<RoleClient>) -> bool {
    peer.peer_info().is_some_and(|info| info.protocol_version >= ProtocolVersion::V_2026_07_28)
}

/// Subscribes to changes of lists, which servers send only to subscribers since 2026-07-28.
fn follow_lists(peer: Peer<RoleClient>, changed: ListChanged) {
    let Some(info) = peer.peer_info() else { return };
    let (has, is_true) = (&info.capabilities, |reported: &bool| *reported);
    let mut filter = SubscriptionFilter::new();
    filter.tools_list_changed = has.tools.as_ref().and_then(|list| list.list_changed).filter(is_true);
    filter.prompts_list_changed = has.prompts.as_ref().and_then(|list| list.list_changed).filter(is_true);
    filter.resources_list_changed = has.resources.as_ref().and_then(|list| list.list_changed).filter(is_true);
    if filter == SubscriptionFilter::new() {
        return;
    }
    tokio::spawn(async move {
        let (mut is_first, mut failures) = (true, 0);
        loop {
            let began = Instant::now();
            match peer.listen(filter.clone()).await {
                Ok(mut subscription) => {
                    if !std::mem::take(&mut is_first) {
                        // A change may have been missed.
                        changed();
                    }
                    while let Ok(Some(_)) = subscription.next().await {
                        changed();
                    }
                }
                // The server declares changes but has no subscriptions.
                Err(ServiceError::McpError(error)) if error.code == ErrorCode::METHOD_NOT_FOUND => return,
                Err(_) => {}
            }
            if peer.is_transport_closed() {
                return;
            }
            failures = if began.elapsed() >= STABLE_SUBSCRIPTION { 1 } else { failures + 1 };
            tokio::time::sleep(LISTEN_AGAIN.pause(failures)).await;
        }
    });
}

/// Notifies the server of changed roots of clients, as long as it is connected.
// rmcp deprecates roots, but servers of all versions ask for them.
#[allow(deprecated)]
fn forward_roots_changes(peer: Peer<RoleClient>, clients: &ConnectedClients) {
    let mut changes = clients.roots_changes();
    tokio::spawn(async move {
        while !peer.is_transport_closed() {
            match timeout(CONNECTION_CHECK, changes.changed()).await {
                Ok(Ok(())) if peer.notify_roots_list_changed().await.is_ok() => {}
                Ok(_) => return,
                Err(_) => {}
            }
        }
    });
}

impl ClientHandler for HostClient {
    fn get_info(&self) -> ClientConfig {
        let client = Implementation::new("gatehouse", env!("CARGO_PKG_VERSION"));
        ClientConfig::new(capabilities(self.context.declared), client)
    }

    async fn create_elicitation(
        &self,
        request: ElicitRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        self.calls.ask(&self.server, QuestionKind::Form, &request, &context).await
    }

    #[allow(deprecated)]
    async fn list_roots(
        &self,
        context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::ListRootsResult, ErrorData> {
        let origin = context.extensions.get::<InboundStreamOrigin>();
        let roots = match self.calls.find_now(origin) {
            CallerOfMessage::NoCall if is_since_2026(&context.peer) => {
                return Err(ErrorData::invalid_params("cannot ask for roots: no call is running", None));
            }
            CallerOfMessage::NoCall => self.context.clients.only_roots().await,
            _ => {
                let caller = self.calls.find_caller(origin).await?;
                // The server keeps them for the calls of others too.
                match self.belongs_to(&caller.context) {
                    true => caller.answer(&context, caller.context.client_roots()).await?,
                    false => Vec::new(),
                }
            }
        };
        Ok(rmcp::model::ListRootsResult::new(roots.into_iter().map(to_mcp_root).collect()))
    }

    // rmcp deprecates this method, but servers of earlier versions call it.
    #[allow(deprecated)]
    async fn create_message(
        &self,
        request: rmcp::model::CreateMessageRequestParams,
        context: RequestContext<RoleClient>,
    ) -> Result<rmcp::model::CreateMessageResult, ErrorData> {
        self.calls.ask(&self.server, QuestionKind::Sampling, &request, &context).await
    }
}

/// Returns the capabilities that the host declares to servers, although a client may lack some.
fn capabilities(declared: DeclaredFeatures) -> ClientCapabilities {
    let elicitation = ElicitationCapability::new()
        .with_form(FormElicitationCapability::new())
        .with_url(UrlElicitationCapability::new());
    let mut capabilities = ClientCapabilities::builder().enable_tasks().build();
    capabilities.elicitation = Some(elicitation);
    capabilities.sampling = Some(SamplingCapability::default());
    declared.declare(&mut capabilities);
    capabilities
}
