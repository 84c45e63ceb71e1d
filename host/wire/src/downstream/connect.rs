//! How connections come about: the transport of a server, and which era of the protocol it speaks. An older server answers
//! the handshake of 2025 and before; one that knows none of it is asked to introduce itself as since 2026-07-28.

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
    client::HostClient,
    connection::{ConnectFailure, ConnectionContext, Connector, ServerConnection},
    inbound::{InboundReader, MAX_MESSAGE},
    inherited_env::InheritedEnv,
    session::ServerSession,
    sse::{ServerRequester, SseTransport},
    start_slots::StartSlots,
};

/// Makes real connections.
pub(super) struct RealConnector {
    /// This program, which supervises its servers.
    program: PathBuf,
    /// Where relative programs and folders begin.
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
        intake: &ConnectionContext,
        era: Lifecycle,
    ) -> Result<RunningService<RoleClient, HostClient>, AttemptError> {
        let (_, client, custom) = self.request_parts(url, headers).map_err(AttemptError::Failed)?;
        let inbound = InboundReader::new(&intake.limits);
        let client =
            AuthenticatedClient::new(client, self.logins_for(&custom), Arc::clone(server), inbound.clone());
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .custom_headers(custom)
            .max_sse_event_size(MAX_MESSAGE);
        let worker = StreamableHttpClientWorker::new(client, config);
        let client = HostClient::new(server, inbound);
        let transport = client.wrap_transport(WorkerTransport::spawn(worker), &intake.changed);
        let begun = serve_client_with_lifecycle(client, transport, era.mode()).await;
        begun.map_err(|error| match era.classify_failure(&error) {
            AttemptError::Failed(failure) => AttemptError::Failed(without_secrets(failure, headers)),
            other => other,
        })
    }

    /// Begins in the era that most servers know, and in the other one if a server refuses that.
    async fn with_either_lifecycle(
        &self,
        server: &ServerDefinition,
        intake: &ConnectionContext,
        limit: Duration,
    ) -> Result<ServerSession, ConnectFailure> {
        let limit = AttemptDeadline::start(limit);
        let begin = async |era: Lifecycle| match &server.transport {
            ServerTransport::Stdio { .. } => self.over_pipes(server, intake, era, limit).await,
            ServerTransport::Http { url, headers } => {
                let running = limit.run(self.over_http(&server.name, url, headers, intake, era)).await?;
                Ok(ServerSession::new(running, None))
            }
            ServerTransport::Sse { url, headers } => {
                let connecting = self.over_events(&server.name, url, headers, intake);
                let running = limit.run(async { connecting.await.map_err(AttemptError::Failed) }).await?;
                Ok(ServerSession::new(running, None))
            }
        };
        match begin(Lifecycle::Handshake).await {
            Err(AttemptError::TryOtherLifecycle(refused)) => match begin(Lifecycle::Discovery).await {
                // The server knows no newer protocol, so its refusal of the handshake is the reason.
                Err(AttemptError::TryOtherLifecycle(_)) => Err(refused),
                Err(AttemptError::Failed(failure)) => Err(failure.after(&refused)),
                Ok(session) => Ok(session),
            },
            Err(AttemptError::Failed(failure)) => Err(failure),
            Ok(session) => Ok(session),
        }
    }

    /// Servers that speak like this know the handshake and nothing newer.
    async fn over_events(
        &self,
        server: &Arc<str>,
        url: &str,
        headers: &[(String, Secret)],
        intake: &ConnectionContext,
    ) -> Result<RunningService<RoleClient, HostClient>, ConnectFailure> {
        let (url, client, custom) = self.request_parts(url, headers)?;
        let logins = self.logins_for(&custom).map(|logins| (logins, Arc::clone(server)));
        let asking = ServerRequester::new(client, url, custom.into_iter().collect(), logins);
        let inbound = InboundReader::new(&intake.limits);
        let stream = SseTransport::open(asking, inbound.clone(), MAX_MESSAGE).await;
        let stream = stream.map_err(|error| without_secrets(error.into(), headers))?;
        let client = HostClient::new(server, inbound);
        let stream = client.wrap_transport(stream, &intake.changed);
        let begun = serve_client_with_lifecycle(client, stream, Lifecycle::Handshake.mode()).await;
        begun.map_err(|error| match Lifecycle::Handshake.classify_failure(&error) {
            AttemptError::Failed(failure) | AttemptError::TryOtherLifecycle(failure) => {
                without_secrets(failure, headers)
            }
        })
    }

    /// The logins to ask with. Whoever writes that header has a login of another kind.
    fn logins_for(&self, headers: &HashMap<HeaderName, HeaderValue>) -> Option<Arc<Logins>> {
        (!headers.contains_key(&AUTHORIZATION)).then(|| Arc::clone(&self.logins))
    }

    /// What is needed to send something to a server's address.
    fn request_parts(
        &self,
        url: &str,
        headers: &[(String, Secret)],
    ) -> Result<(Url, HttpClient, HashMap<HeaderName, HeaderValue>), ConnectFailure> {
        let url = Url::parse(url)
            .map_err(|error| ConnectFailure::permanent(format!("its url is none: {error}")))?;
        let client =
            self.http.for_url(&url).map_err(|fault| ConnectFailure::permanent(fault.in_one_line()))?;
        let mut custom = HashMap::new();
        for (name, value) in headers {
            let name = HeaderName::try_from(name.as_str()).map_err(|_| {
                ConnectFailure::permanent(format!("'{}' is no name of a header", quoted(name, 64)))
            })?;
            let mut value = HeaderValue::try_from(value.reveal()).map_err(|_| {
                ConnectFailure::permanent(format!("the value of the header '{name}' is none"))
            })?;
            value.set_sensitive(true);
            custom.insert(name, value);
        }
        Ok((url, client.clone(), custom))
    }
}

/// A failure as it may be told.
fn without_secrets(failure: ConnectFailure, headers: &[(String, Secret)]) -> ConnectFailure {
    let redactor = Redactor::new(headers.iter().map(|(_, value)| value));
    ConnectFailure { message: redactor.redact_text(failure.message), ..failure }
}

/// How an attempt in one era ended.
enum AttemptError {
    /// In the other era it may succeed.
    TryOtherLifecycle(ConnectFailure),
    Failed(ConnectFailure),
}

/// Time limit of an attempt, both eras included.
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

/// The two ways to begin.
#[derive(Clone, Copy, PartialEq)]
enum Lifecycle {
    /// With `initialize`: 2024-11-05 to 2025-11-25.
    Handshake,
    /// With `server/discover`: since 2026-07-28.
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

    /// What a failure in this era means.
    fn classify_failure(self, error: &ClientInitializeError) -> AttemptError {
        if let Some(fault) = fault_of(error) {
            let message = fault.in_one_line().trim_end_matches('.').to_owned();
            return AttemptError::Failed(ConnectFailure { message, permanent: !fault.retryable });
        }
        let message = quoted(&cause_in_words(error), 500);
        let unknown = matches!(
            error,
            ClientInitializeError::JsonRpcError(error) if error.code == ErrorCode::METHOD_NOT_FOUND
        );
        let other_era = match self {
            Self::Handshake => is_answer(error),
            Self::Discovery => unknown,
        };
        if other_era {
            return AttemptError::TryOtherLifecycle(ConnectFailure::transient(message));
        }
        let needs_login = error.is_authorization_required();
        AttemptError::Failed(ConnectFailure { message, permanent: needs_login })
    }
}

/// True if the server answered and refused, as opposed to a server that was not reached.
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
        intake: ConnectionContext,
        limit: Duration,
    ) -> Result<Arc<dyn ServerConnection>, ConnectFailure> {
        if !server.missing.is_empty() {
            let why =
                format!("the environment has no {}, which its definition names", server.missing.join(", "));
            return Err(ConnectFailure::permanent(why));
        }
        let attempt = self.with_either_lifecycle(server, &intake, limit);
        let connected = match &server.transport {
            ServerTransport::Stdio { .. } => self.slots.run(attempt).await,
            ServerTransport::Http { .. } | ServerTransport::Sse { .. } => attempt.await,
        };
        connected.map(|session| Arc::new(session) as Arc<dyn ServerConnection>)
    }
}
