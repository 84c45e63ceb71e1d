//! Connecting to servers: transports, and the lifecycle of the protocol. Discovery (since MCP 2026-07-28) is tried first,
//! then the handshake (up to 2025-11-25).

mod pipes;

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    http::{Redactor, Secret},
    names::quoted,
    ports::servers::{ServerDefinition, ServerTransport},
};
use gatehouse_net::{HttpClients, Url};
use http::{HeaderName, HeaderValue, header::AUTHORIZATION};
use rmcp::{
    model::ProtocolVersion,
    service::{ClientInitializeError, ClientLifecycleMode},
    transport::{
        WorkerTransport,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpClientWorker},
    },
};
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout_at},
};

use crate::login::{AuthenticatedClient, Logins, cause_in_words, fault_of};

use super::{
    DownstreamSettings,
    connection::{ConnectFailure, ConnectionContext, Connector, ServerConnection, fault_as_clause},
    host_client::HostClient,
    inbound::{InboundReader, MAX_MESSAGE},
    post::RequestHeaders,
    session::ServerSession,
    sse::{ServerRequester, SseTransport},
};
use pipes::{MAX_STARTS, run_in_slot};

pub(super) struct RealConnector {
    settings: DownstreamSettings,
    start_slots: Semaphore,
    http: HttpClients,
    logins: Arc<Logins>,
}

impl RealConnector {
    pub(super) fn new(settings: DownstreamSettings, logins: Arc<Logins>) -> Self {
        let start_slots = Semaphore::new(MAX_STARTS);
        Self { settings, start_slots, http: HttpClients::default(), logins }
    }

    /// Connects over HTTP, with the transport of MCP 2024-11-05 if the definition says so.
    async fn over_http(
        &self,
        server: &ServerDefinition,
        (url, headers): (&str, &[(String, Secret)]),
        context: &ConnectionContext,
        lifecycle: Lifecycle,
    ) -> Result<ServerSession, ConnectFailure> {
        let parsed = Url::parse(url)
            .map_err(|error| ConnectFailure::permanent(format!("its URL is invalid: {error}")))?;
        let client = self.http.for_url(&parsed);
        let client = client.map_err(|fault| ConnectFailure::permanent(fault.in_one_line()))?.clone();
        let custom = custom_headers(headers)?;
        // Configured headers may authenticate instead.
        let logins = (!custom.contains_key(&AUTHORIZATION)).then(|| Arc::clone(&self.logins));
        let inbound = InboundReader::new(&context.limits);
        let host = HostClient::new(&server.name, inbound.clone(), context);
        let is_sse = matches!(server.transport, ServerTransport::Sse { .. });
        let begun = if is_sse {
            let logins = logins.map(|logins| (logins, context.login.clone()));
            let requester = ServerRequester::new(client, parsed, custom.into_iter().collect(), logins);
            let stream = SseTransport::open(requester, inbound, MAX_MESSAGE).await;
            let stream = stream.map_err(|error| without_secrets(error.into(), headers))?;
            host.serve(stream, lifecycle.mode()).await
        } else {
            let client = AuthenticatedClient::new(client, logins, context.login.clone(), inbound);
            let config = StreamableHttpClientTransportConfig::with_uri(url)
                .custom_headers(custom)
                // A new connection also restores subscriptions and the log level.
                .reinit_on_expired_session(false)
                .max_sse_event_size(MAX_MESSAGE);
            let worker = StreamableHttpClientWorker::new(client, config);
            host.serve(WorkerTransport::spawn(worker), lifecycle.mode()).await
        };
        let running = begun.map_err(|error| without_secrets(lifecycle.classify_failure(&error), headers))?;
        Ok(ServerSession::new(running, None, None))
    }

    /// Connects with discovery or the handshake. Some servers end or refuse the connection because of a request that they
    /// do not know, so the handshake is tried again on a new one.
    async fn with_either_lifecycle(
        &self,
        server: &ServerDefinition,
        context: &ConnectionContext,
        limit: Duration,
    ) -> Result<ServerSession, ConnectFailure> {
        let limit = AttemptDeadline::start(limit);
        let begin = async |lifecycle: Lifecycle| match &server.transport {
            ServerTransport::Stdio { .. } => self.over_pipes(server, context, lifecycle, limit).await,
            ServerTransport::Http { url, headers } | ServerTransport::Sse { url, headers } => {
                limit.run(self.over_http(server, (url, headers), context, lifecycle)).await
            }
        };
        // Servers with the older transport know only the handshake.
        if context.is_legacy || matches!(server.transport, ServerTransport::Sse { .. }) {
            return begin(Lifecycle::Handshake).await;
        }
        match begin(Lifecycle::Discovery).await {
            Err(refused) if refused.wrong_lifecycle => {
                begin(Lifecycle::Handshake).await.map_err(|failure| failure.after(&refused))
            }
            connected => connected,
        }
    }
}

fn custom_headers(headers: &[(String, Secret)]) -> Result<RequestHeaders, ConnectFailure> {
    let mut custom = RequestHeaders::new();
    for (name, value) in headers {
        let name = HeaderName::try_from(name.as_str())
            .map_err(|_| ConnectFailure::permanent(format!("invalid header name '{}'", quoted(name, 64))))?;
        let mut value = HeaderValue::try_from(value.reveal())
            .map_err(|_| ConnectFailure::permanent(format!("invalid value for header '{name}'")))?;
        value.set_sensitive(true);
        custom.insert(name, value);
    }
    Ok(custom)
}

fn without_secrets(failure: ConnectFailure, headers: &[(String, Secret)]) -> ConnectFailure {
    let redactor = Redactor::new(headers.iter().map(|(_, value)| value));
    ConnectFailure { message: redactor.redact_text(failure.message), ..failure }
}

/// Time limit of an attempt, for both lifecycles together.
#[derive(Clone, Copy)]
struct AttemptDeadline {
    length: Duration,
    until: Instant,
}

impl AttemptDeadline {
    fn start(length: Duration) -> Self {
        Self { length, until: Instant::now() + length }
    }

    async fn run<T>(
        self,
        attempt: impl Future<Output = Result<T, ConnectFailure>>,
    ) -> Result<T, ConnectFailure> {
        let late = |_| Err(ConnectFailure::timed_out(self.length));
        timeout_at(self.until, attempt).await.unwrap_or_else(late)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Lifecycle {
    /// `server/discover`, since MCP 2026-07-28. If the server answers with an error or not within 10 s, `initialize` on
    /// the same connection.
    Discovery,
    /// `initialize`: MCP 2024-11-05 to 2025-11-25.
    Handshake,
}

impl Lifecycle {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Discovery => ClientLifecycleMode::Auto {
                preferred_versions: vec![ProtocolVersion::LATEST],
                legacy_version: None,
            },
            Self::Handshake => ClientLifecycleMode::Initialize,
        }
    }

    fn classify_failure(self, error: &ClientInitializeError) -> ConnectFailure {
        if let Some(fault) = fault_of(error) {
            let failure = ConnectFailure::transient(fault_as_clause(fault));
            return ConnectFailure { permanent: !fault.retryable, ..failure };
        }
        let both_refused = matches!(error, ClientInitializeError::LegacyFallbackFailed { .. });
        let permanent = error.is_authorization_required();
        let wrong_lifecycle = self == Self::Discovery && !both_refused && !permanent;
        let cause = match error {
            // The fallback tells more: few servers know discovery.
            ClientInitializeError::LegacyFallbackFailed { fallback, .. } => cause_in_words(&**fallback),
            error => cause_in_words(error),
        };
        ConnectFailure { message: quoted(&cause, 500), permanent, wrong_lifecycle }
    }
}

/// True if the server answered with a refusal.
fn is_answer(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::JsonRpcError(_)
            | ClientInitializeError::NoCompatibleProtocolVersion { .. }
            | ClientInitializeError::LegacyFallbackFailed { .. }
    )
}

#[async_trait]
impl Connector for RealConnector {
    async fn connect(
        &self,
        server: &ServerDefinition,
        context: ConnectionContext,
        limit: Duration,
    ) -> Result<Arc<dyn ServerConnection>, ConnectFailure> {
        if !server.missing.is_empty() {
            let why = format!(
                "the host's environment does not set {}, which its definition uses",
                server.missing.join(", ")
            );
            return Err(ConnectFailure::permanent(why));
        }
        let attempt = self.with_either_lifecycle(server, &context, limit);
        let connected = match &server.transport {
            ServerTransport::Stdio { .. } => run_in_slot(&self.start_slots, attempt).await,
            ServerTransport::Http { .. } | ServerTransport::Sse { .. } => attempt.await,
        };
        connected.map(|session| Arc::new(session) as Arc<dyn ServerConnection>)
    }
}
