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

use crate::login::{LoggedIn, Logins, cause_in_words, fault_of};

use super::{
    client::Client,
    connection::{ConnectFailure, Connection, Connector, Intake},
    inbound::{Inbound, MAX_MESSAGE},
    inherited::InheritedEnv,
    session::Session,
    sse::{Asking, Sse},
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
        intake: &Intake,
        era: Era,
    ) -> Result<RunningService<RoleClient, Client>, Attempt> {
        let (_, client, custom) = self.addressed(url, headers).map_err(Attempt::Failed)?;
        let inbound = Inbound::new(&intake.limits);
        let client = LoggedIn::new(client, self.logins_for(&custom), Arc::clone(server), inbound.clone());
        let config = StreamableHttpClientTransportConfig::with_uri(url)
            .custom_headers(custom)
            .max_sse_event_size(MAX_MESSAGE);
        let worker = StreamableHttpClientWorker::new(client, config);
        let client = Client::new(server, inbound);
        let transport = client.over(WorkerTransport::spawn(worker), &intake.changed);
        let begun = serve_client_with_lifecycle(client, transport, era.mode()).await;
        begun.map_err(|error| match era.failed(&error) {
            Attempt::Failed(failure) => Attempt::Failed(without_secrets(failure, headers)),
            other => other,
        })
    }

    /// Begins in the era that most servers know, and in the other one if a server refuses that.
    async fn in_either_era(
        &self,
        server: &ServerDefinition,
        intake: &Intake,
        limit: Duration,
    ) -> Result<Session, ConnectFailure> {
        let limit = Limit::start(limit);
        let begin = async |era: Era| match &server.transport {
            ServerTransport::Stdio { .. } => self.over_pipes(server, intake, era, limit).await,
            ServerTransport::Http { url, headers } => {
                let running = limit.bound(self.over_http(&server.name, url, headers, intake, era)).await?;
                Ok(Session::new(running, None))
            }
            ServerTransport::Sse { url, headers } => {
                let connecting = self.over_events(&server.name, url, headers, intake);
                let running = limit.bound(async { connecting.await.map_err(Attempt::Failed) }).await?;
                Ok(Session::new(running, None))
            }
        };
        match begin(Era::Handshake).await {
            Err(Attempt::OtherEra(refused)) => match begin(Era::Discovery).await {
                // The server knows no newer protocol, so its refusal of the handshake is the reason.
                Err(Attempt::OtherEra(_)) => Err(refused),
                Err(Attempt::Failed(failure)) => Err(failure.after(&refused)),
                Ok(session) => Ok(session),
            },
            Err(Attempt::Failed(failure)) => Err(failure),
            Ok(session) => Ok(session),
        }
    }

    /// Servers that speak like this know the handshake and nothing newer.
    async fn over_events(
        &self,
        server: &Arc<str>,
        url: &str,
        headers: &[(String, Secret)],
        intake: &Intake,
    ) -> Result<RunningService<RoleClient, Client>, ConnectFailure> {
        let (url, client, custom) = self.addressed(url, headers)?;
        let logins = self.logins_for(&custom).map(|logins| (logins, Arc::clone(server)));
        let asking = Asking::new(client, url, custom.into_iter().collect(), logins);
        let inbound = Inbound::new(&intake.limits);
        let stream = Sse::open(asking, inbound.clone(), MAX_MESSAGE).await;
        let stream = stream.map_err(|error| without_secrets(error.into(), headers))?;
        let client = Client::new(server, inbound);
        let stream = client.over(stream, &intake.changed);
        let begun = serve_client_with_lifecycle(client, stream, Era::Handshake.mode()).await;
        begun.map_err(|error| match Era::Handshake.failed(&error) {
            Attempt::Failed(failure) | Attempt::OtherEra(failure) => without_secrets(failure, headers),
        })
    }

    /// The logins to ask with. Whoever writes that header has a login of another kind.
    fn logins_for(&self, headers: &HashMap<HeaderName, HeaderValue>) -> Option<Arc<Logins>> {
        (!headers.contains_key(&AUTHORIZATION)).then(|| Arc::clone(&self.logins))
    }

    /// What is needed to send something to a server's address.
    fn addressed(
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
enum Attempt {
    /// In the other era it may succeed.
    OtherEra(ConnectFailure),
    Failed(ConnectFailure),
}

/// Time limit of an attempt, both eras included.
#[derive(Clone, Copy)]
struct Limit {
    length: Duration,
    until: Instant,
}

impl Limit {
    fn start(length: Duration) -> Self {
        Self { length, until: Instant::now() + length }
    }

    async fn bound<T>(self, attempt: impl Future<Output = Result<T, Attempt>>) -> Result<T, Attempt> {
        let late = |_| Err(Attempt::Failed(ConnectFailure::late(self.length)));
        timeout_at(self.until, attempt).await.unwrap_or_else(late)
    }
}

/// The two ways to begin.
#[derive(Clone, Copy, PartialEq)]
enum Era {
    /// With `initialize`: 2024-11-05 to 2025-11-25.
    Handshake,
    /// With `server/discover`: since 2026-07-28.
    Discovery,
}

impl Era {
    fn mode(self) -> ClientLifecycleMode {
        match self {
            Self::Handshake => ClientLifecycleMode::Initialize,
            Self::Discovery => {
                ClientLifecycleMode::Discover { preferred_versions: vec![ProtocolVersion::LATEST] }
            }
        }
    }

    /// What a failure in this era means.
    fn failed(self, error: &ClientInitializeError) -> Attempt {
        if let Some(fault) = fault_of(error) {
            let message = fault.in_one_line().trim_end_matches('.').to_owned();
            return Attempt::Failed(ConnectFailure { message, permanent: !fault.retryable });
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
            return Attempt::OtherEra(ConnectFailure::passing(message));
        }
        let needs_login = error.is_authorization_required();
        Attempt::Failed(ConnectFailure { message, permanent: needs_login })
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
        intake: Intake,
        limit: Duration,
    ) -> Result<Arc<dyn Connection>, ConnectFailure> {
        if !server.missing.is_empty() {
            let why =
                format!("the environment has no {}, which its definition names", server.missing.join(", "));
            return Err(ConnectFailure::permanent(why));
        }
        let attempt = self.in_either_era(server, &intake, limit);
        let connected = match &server.transport {
            ServerTransport::Stdio { .. } => self.slots.run(attempt).await,
            ServerTransport::Http { .. } | ServerTransport::Sse { .. } => attempt.await,
        };
        connected.map(|session| Arc::new(session) as Arc<dyn Connection>)
    }
}
