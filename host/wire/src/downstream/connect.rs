//! Connecting to servers: transports, and the lifecycle of the protocol. The handshake (up to MCP 2025-11-25) is tried
//! first, then discovery (since 2026-07-28).

mod pipes;

use std::{collections::HashMap, path::PathBuf, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    http::{Redactor, Secret},
    names::quoted,
    ports::servers::{ServerDefinition, ServerTransport},
};
use gatehouse_net::{Client as HttpClient, HttpClients, Url};
use http::{HeaderName, HeaderValue, header::AUTHORIZATION};
use rmcp::{
    RoleClient,
    model::{ErrorCode, ProtocolVersion},
    service::{ClientInitializeError, ClientLifecycleMode, RunningService, serve_client_with_lifecycle},
    transport::{
        WorkerTransport,
        streamable_http_client::{StreamableHttpClientTransportConfig, StreamableHttpClientWorker},
    },
};
use tokio::time::{Instant, timeout_at};

use crate::login::{AuthenticatedClient, Logins, cause_in_words, fault_of};

use super::{
    active_calls::HostClient,
    connection::{ConnectFailure, ConnectionContext, Connector, ServerConnection, fault_as_clause},
    inbound::{InboundReader, MAX_MESSAGE},
    process::InheritedEnv,
    session::ServerSession,
    sse::{ServerRequester, SseTransport},
};
use pipes::StartSlots;

pub(super) struct RealConnector {
    program: PathBuf,
    /// Base of relative program paths and working directories.
    base: PathBuf,
    inherited: InheritedEnv,
    slots: StartSlots,
    http: HttpClients,
    logins: Arc<Logins>,
}

impl RealConnector {
    pub(super) fn new(program: PathBuf, base: PathBuf, inherited: InheritedEnv, logins: Arc<Logins>) -> Self {
        let http = HttpClients::new(|builder| builder);
        Self { program, base, inherited, slots: StartSlots::default(), http, logins }
    }

    async fn over_http(
        &self,
        server: &Arc<str>,
        url: &str,
        headers: &[(String, Secret)],
        context: &ConnectionContext,
        lifecycle: Lifecycle,
    ) -> Result<RunningService<RoleClient, HostClient>, AttemptError> {
        let (_, client, custom) = self.request_parts(url, headers).map_err(AttemptError::Failed)?;
        let inbound = InboundReader::new(&context.limits);
        let client =
            AuthenticatedClient::new(client, self.logins_for(&custom), Arc::clone(server), inbound.clone());
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .custom_headers(custom)
            .max_sse_event_size(MAX_MESSAGE);
        let worker = StreamableHttpClientWorker::new(client, config);
        let client = HostClient::new(server, inbound);
        let transport = client.wrap_transport(WorkerTransport::spawn(worker), &context.changed);
        let begun = serve_client_with_lifecycle(client, transport, lifecycle.mode()).await;
        begun.map_err(|error| {
            lifecycle.classify_failure(&error).map(|failure| without_secrets(failure, headers))
        })
    }

    /// Connects with the handshake, which most servers know. If the server rejects it, tries discovery.
    async fn with_either_lifecycle(
        &self,
        server: &ServerDefinition,
        context: &ConnectionContext,
        limit: Duration,
    ) -> Result<ServerSession, ConnectFailure> {
        let limit = AttemptDeadline::start(limit);
        let begin = async |lifecycle: Lifecycle| match &server.transport {
            ServerTransport::Stdio { .. } => self.over_pipes(server, context, lifecycle, limit).await,
            ServerTransport::Http { url, headers } => {
                let running =
                    limit.run(self.over_http(&server.name, url, headers, context, lifecycle)).await?;
                Ok(ServerSession::new(running, None))
            }
            ServerTransport::Sse { url, headers } => {
                let connecting = self.over_sse(&server.name, url, headers, context);
                let running = limit.run(async { connecting.await.map_err(AttemptError::Failed) }).await?;
                Ok(ServerSession::new(running, None))
            }
        };
        match begin(Lifecycle::Handshake).await {
            Err(AttemptError::TryOtherLifecycle(refused)) => match begin(Lifecycle::Discovery).await {
                // It knows neither; report the first refusal.
                Err(AttemptError::TryOtherLifecycle(_)) => Err(refused),
                Err(AttemptError::Failed(failure)) => Err(failure.after(&refused)),
                Ok(session) => Ok(session),
            },
            Err(AttemptError::Failed(failure)) => Err(failure),
            Ok(session) => Ok(session),
        }
    }

    /// Connects over the 2024-11-05 transport. Its servers know only the handshake.
    async fn over_sse(
        &self,
        server: &Arc<str>,
        url: &str,
        headers: &[(String, Secret)],
        context: &ConnectionContext,
    ) -> Result<RunningService<RoleClient, HostClient>, ConnectFailure> {
        let (url, client, custom) = self.request_parts(url, headers)?;
        let logins = self.logins_for(&custom).map(|logins| (logins, Arc::clone(server)));
        let requester = ServerRequester::new(client, url, custom.into_iter().collect(), logins);
        let inbound = InboundReader::new(&context.limits);
        let stream = SseTransport::open(requester, inbound.clone(), MAX_MESSAGE).await;
        let stream = stream.map_err(|error| without_secrets(error.into(), headers))?;
        let client = HostClient::new(server, inbound);
        let stream = client.wrap_transport(stream, &context.changed);
        let begun = serve_client_with_lifecycle(client, stream, Lifecycle::Handshake.mode()).await;
        begun.map_err(|error| match Lifecycle::Handshake.classify_failure(&error) {
            AttemptError::TryOtherLifecycle(failure) | AttemptError::Failed(failure) => {
                without_secrets(failure, headers)
            }
        })
    }

    /// Returns the logins. `None` if the configured headers include `Authorization`.
    fn logins_for(&self, headers: &HashMap<HeaderName, HeaderValue>) -> Option<Arc<Logins>> {
        (!headers.contains_key(&AUTHORIZATION)).then(|| Arc::clone(&self.logins))
    }

    fn request_parts(
        &self,
        url: &str,
        headers: &[(String, Secret)],
    ) -> Result<(Url, HttpClient, HashMap<HeaderName, HeaderValue>), ConnectFailure> {
        let url = Url::parse(url)
            .map_err(|error| ConnectFailure::permanent(format!("its URL is invalid: {error}")))?;
        let client =
            self.http.for_url(&url).map_err(|fault| ConnectFailure::permanent(fault.in_one_line()))?;
        let mut custom = HashMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(name.as_str()).map_err(|_| {
                ConnectFailure::permanent(format!("invalid header name '{}'", quoted(name, 64)))
            })?;
            let mut value = HeaderValue::try_from(value.reveal())
                .map_err(|_| ConnectFailure::permanent(format!("invalid value for header '{name}'")))?;
            value.set_sensitive(true);
            custom.insert(name, value);
        }
        Ok((url, client.clone(), custom))
    }
}

fn without_secrets(failure: ConnectFailure, headers: &[(String, Secret)]) -> ConnectFailure {
    let redactor = Redactor::new(headers.iter().map(|(_, value)| value));
    ConnectFailure { message: redactor.redact_text(failure.message), ..failure }
}

enum AttemptError {
    /// The other lifecycle may succeed.
    TryOtherLifecycle(ConnectFailure),
    Failed(ConnectFailure),
}

impl AttemptError {
    fn map(self, change: impl FnOnce(ConnectFailure) -> ConnectFailure) -> Self {
        match self {
            Self::TryOtherLifecycle(failure) => Self::TryOtherLifecycle(change(failure)),
            Self::Failed(failure) => Self::Failed(change(failure)),
        }
    }
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

    async fn run<T>(self, attempt: impl Future<Output = Result<T, AttemptError>>) -> Result<T, AttemptError> {
        let late = |_| Err(AttemptError::Failed(ConnectFailure::timed_out(self.length)));
        timeout_at(self.until, attempt).await.unwrap_or_else(late)
    }
}

#[derive(Clone, Copy, PartialEq)]
enum Lifecycle {
    /// `initialize`: MCP 2024-11-05 to 2025-11-25.
    Handshake,
    /// `server/discover`: MCP 2026-07-28 and later.
    Discovery,
}

impl Lifecycle {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Handshake => ClientLifecycleMode::Initialize,
            Self::Discovery => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
            }
        }
    }

    fn classify_failure(self, error: &ClientInitializeError) -> AttemptError {
        if let Some(fault) = fault_of(error) {
            let message = fault_as_clause(fault);
            return AttemptError::Failed(ConnectFailure { message, permanent: !fault.retryable });
        }
        let message = quoted(&cause_in_words(error), 500);
        let may_be_other = match self {
            Self::Handshake => is_answer(error),
            Self::Discovery => matches!(
                error,
                ClientInitializeError::JsonRpcError(error) if error.code == ErrorCode::METHOD_NOT_FOUND
            ),
        };
        if may_be_other {
            return AttemptError::TryOtherLifecycle(ConnectFailure::transient(message));
        }
        let needs_login = error.is_authorization_required();
        AttemptError::Failed(ConnectFailure { message, permanent: needs_login })
    }
}

/// True if the server answered with a refusal.
fn is_answer(error: &ClientInitializeError) -> bool {
    matches!(
        error,
        ClientInitializeError::JsonRpcError(_) | ClientInitializeError::NoCompatibleProtocolVersion { .. }
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
            ServerTransport::Stdio { .. } => self.slots.run(attempt).await,
            ServerTransport::Http { .. } | ServerTransport::Sse { .. } => attempt.await,
        };
        connected.map(|session| Arc::new(session) as Arc<dyn ServerConnection>)
    }
}
