//! Connecting to servers: transports, and the lifecycle that each server has.

use std::{pin::pin, sync::Arc, time::Duration};

use async_trait::async_trait;
use gatehouse_core::{
    http::{Redactor, Secret},
    names::quoted,
    ports::servers::{ServerDefinition, ServerTransport},
};
use gatehouse_net::{HttpClients, Url};
use http::{HeaderMap, HeaderName, HeaderValue, header::AUTHORIZATION};
use tokio::{
    sync::Semaphore,
    time::{sleep, timeout},
};

use crate::login::Logins;

use super::{
    DownstreamSettings,
    connection::{
        CallFailure, ConnectFailure, ConnectionContext, ConnectionStart, Connector, ServerConnection,
    },
    http::{HttpChannel, ServerRequester},
    peer::{Channel, ConnectionSecrets, Lifecycle, NegotiationFailure, Peer},
    pipes::{self, PipeWriter},
    process::ServerProcess,
    session::ServerSession,
    sse::{self, SseChannel},
};

/// Limit on processes that start at the same time. Package runners download and unpack at startup, and many of them
/// together would miss their time limits.
const MAX_STARTS: usize = 4;

/// Maximum time to hold a slot.
const MAX_HOLD: Duration = Duration::from_secs(10);

/// Maximum wait for the exit of a process after its output closes.
const MAX_EXIT_WAIT: Duration = Duration::from_millis(500);

pub(super) struct RealConnector {
    settings: DownstreamSettings,
    start_slots: Semaphore,
    http: HttpClients,
    logins: Arc<Logins>,
}

/// A server over HTTP: its URL and configured headers.
struct HttpServerAddress<'a> {
    name: &'a Arc<str>,
    url: Url,
    headers: &'a [(String, Secret)],
}

impl RealConnector {
    pub(super) fn new(settings: DownstreamSettings, logins: Arc<Logins>) -> Self {
        let start_slots = Semaphore::new(MAX_STARTS);
        Self { settings, start_slots, http: HttpClients::default(), logins }
    }

    fn requester(
        &self,
        server: &HttpServerAddress<'_>,
        context: &ConnectionContext,
    ) -> Result<ServerRequester, ConnectFailure> {
        let client = self.http.for_url(&server.url);
        let client = client.map_err(|fault| ConnectFailure::permanent(fault.in_one_line()))?.clone();
        let headers = custom_headers(server.headers)?;
        // Configured headers may authenticate instead.
        let logins =
            (!headers.contains_key(AUTHORIZATION)).then(|| (Arc::clone(&self.logins), context.login.clone()));
        let secrets = ConnectionSecrets::new(Arc::clone(&context.limits.redactor));
        Ok(ServerRequester::new(client, server.url.clone(), headers, logins, secrets))
    }

    /// Connects over Streamable HTTP. If the server knows only the transport of MCP 2024-11-05, connects over that.
    async fn over_http(
        &self,
        server: &HttpServerAddress<'_>,
        context: &ConnectionContext,
    ) -> Result<ServerSession, ConnectFailure> {
        if context.start.is_sse {
            return self.over_sse(server, context).await;
        }
        let channel = Channel::Http(HttpChannel::new(self.requester(server, context)?));
        let peer = Peer::new(server.name, channel, context.clone());
        let failure = match peer.negotiate(context.start.lifecycle).await {
            Ok(info) => return Ok(ServerSession::new(peer, info, None)),
            Err(failure) => failure,
        };
        peer.close().await;
        let is_older = |failure: &CallFailure| {
            matches!(failure, CallFailure::Status { status: 400 | 404 | 405 | 406, .. })
        };
        if failure
            .0
            .iter()
            .any(|(lifecycle, failure)| *lifecycle == Lifecycle::Handshake && is_older(failure))
            && let Ok(session) = self.over_sse(server, context).await
        {
            return Ok(session);
        }
        let mut failure = ConnectFailure::from_negotiation(failure);
        if server.url.path().ends_with("/sse") {
            failure.message += "; if it has the transport of MCP 2024-11-05, set `transport = \"sse\"`";
        }
        Err(failure)
    }

    async fn over_sse(
        &self,
        server: &HttpServerAddress<'_>,
        context: &ConnectionContext,
    ) -> Result<ServerSession, ConnectFailure> {
        let requester = self.requester(server, context)?;
        let secrets = requester.secrets().clone();
        let failed = |failure: CallFailure| {
            let is_refused = matches!(failure, CallFailure::Status { status: 400..500, .. });
            let failure = ConnectFailure::from(failure);
            let message = secrets.redact_text(failure.message);
            ConnectFailure { permanent: failure.permanent || is_refused, message, ..failure }
        };
        let (channel, events) = SseChannel::open(requester).await.map_err(failed)?;
        let peer = Peer::new(server.name, Channel::Sse(channel), context.clone());
        sse::spawn_reader(&peer, events);
        match peer.negotiate(Lifecycle::Handshake).await {
            Ok(info) => Ok(ServerSession::new(peer, info, None)),
            Err(failure) => {
                peer.close().await;
                Err(ConnectFailure::from_negotiation(failure))
            }
        }
    }

    /// Connects to a process. Some servers exit or stay silent because of a request that they do not know, so one of
    /// them gets a second process that is asked only for the handshake.
    async fn over_pipes(
        &self,
        server: &ServerDefinition,
        context: &ConnectionContext,
        limit: Duration,
    ) -> Result<ServerSession, ConnectFailure> {
        let first = context.start.lifecycle;
        match self.start_process(server, context, first, limit).await {
            Err(refused) if refused.wrong_lifecycle => {
                let second = self.start_process(server, context, Lifecycle::Handshake, limit).await;
                second.map_err(|failure| failure.after(&refused))
            }
            started => started,
        }
    }

    async fn start_process(
        &self,
        server: &ServerDefinition,
        context: &ConnectionContext,
        first: Lifecycle,
        limit: Duration,
    ) -> Result<ServerSession, ConnectFailure> {
        let (process, output, input) =
            ServerProcess::start(&self.settings, &server.transport, &context.limits)?;
        let process = Arc::new(process);
        let peer = Peer::new(&server.name, Channel::Pipes(PipeWriter::new(input)), context.clone());
        pipes::spawn_reader(&peer, output, Some(Arc::clone(&process)));
        let may_restart = first == Lifecycle::Discovery;
        let failure = tokio::select! {
            biased;
            negotiated = peer.negotiate(first) => match negotiated {
                Ok(info) => return Ok(ServerSession::new(peer, info, Some(process))),
                Err(failure) => self.failed_process(&peer, &process, failure, may_restart).await,
            },
            () = wait_while_starting(&peer, limit), if may_restart => {
                ConnectFailure { wrong_lifecycle: true, ..ConnectFailure::timed_out(limit) }
            }
            () = sleep(limit) => ConnectFailure::timed_out(limit),
        };
        let failure = self.explain_failure(failure, server, &process);
        tokio::spawn(async move {
            peer.close().await;
            process.end().await;
        });
        Err(failure)
    }

    async fn failed_process(
        &self,
        peer: &Peer,
        process: &ServerProcess,
        failure: NegotiationFailure,
        may_restart: bool,
    ) -> ConnectFailure {
        if !peer.is_closed() {
            return ConnectFailure::from_negotiation(failure);
        }
        match timeout(MAX_EXIT_WAIT, process.ended()).await {
            Ok(exit_reason) => ConnectFailure {
                wrong_lifecycle: may_restart,
                ..ConnectFailure::transient(format!("it exited during startup ({exit_reason})"))
            },
            Err(_) => {
                ConnectFailure { wrong_lifecycle: may_restart, ..ConnectFailure::from_negotiation(failure) }
            }
        }
    }

    /// Adds standard error and the withheld environment variables.
    fn explain_failure(
        &self,
        failed: ConnectFailure,
        server: &ServerDefinition,
        process: &ServerProcess,
    ) -> ConnectFailure {
        let stderr = process.error_summary().map(|stderr| format!("; stderr: {stderr}"));
        let stderr = stderr.filter(|stderr| !failed.message.contains(stderr)).unwrap_or_default();
        let withheld = match &server.transport {
            ServerTransport::Stdio { env, .. } => self.settings.inherited.withheld_from(&server.name, env),
            ServerTransport::Http { .. } | ServerTransport::Sse { .. } => None,
        };
        let withheld = withheld.map(|withheld| format!("; {withheld}")).unwrap_or_default();
        ConnectFailure { message: format!("{}{stderr}{withheld}", failed.message), ..failed }
    }
}

/// Waits as long as a program may still be starting: half of the limit after its first byte, and 5/6 without one.
async fn wait_while_starting(peer: &Peer, limit: Duration) {
    if timeout(limit * 5 / 6, peer.heard()).await.is_ok() {
        sleep(limit / 2).await;
    }
}

/// Runs `start` in a slot. After [`MAX_HOLD`], `start` continues without the slot.
async fn run_in_slot<T>(slots: &Semaphore, start: impl Future<Output = T>) -> T {
    let slot = slots.acquire().await;
    let mut start = pin!(start);
    if let Ok(started) = timeout(MAX_HOLD, &mut start).await {
        return started;
    }
    drop(slot);
    start.await
}

fn custom_headers(headers: &[(String, Secret)]) -> Result<HeaderMap, ConnectFailure> {
    let mut custom = HeaderMap::new();
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

#[async_trait]
impl Connector for RealConnector {
    async fn connect(
        &self,
        server: &ServerDefinition,
        context: ConnectionContext,
        limit: Duration,
    ) -> Result<Arc<dyn ServerConnection>, ConnectFailure> {
        if !server.missing.is_empty() {
            let reason = format!(
                "it needs {}, which is not set; `gatehouse servers env set NAME` sets a variable",
                server.missing.join(", ")
            );
            return Err(ConnectFailure::permanent(reason));
        }
        let (url, headers, is_sse) = match &server.transport {
            ServerTransport::Stdio { .. } => {
                let start = self.over_pipes(server, &context, limit);
                let session = run_in_slot(&self.start_slots, start).await?;
                return Ok(Arc::new(session));
            }
            ServerTransport::Http { url, headers } => (url, headers, context.start.is_sse),
            ServerTransport::Sse { url, headers } => (url, headers, true),
        };
        let url = Url::parse(url)
            .map_err(|error| ConnectFailure::permanent(format!("its URL is invalid: {error}")))?;
        let server = HttpServerAddress { name: &server.name, url, headers };
        let context = ConnectionContext { start: ConnectionStart { is_sse, ..context.start }, ..context };
        let connected = timeout(limit, self.over_http(&server, &context)).await;
        let session = connected.unwrap_or_else(|_| Err(ConnectFailure::timed_out(limit)));
        session.map(|session| Arc::new(session) as _).map_err(|failure| {
            let redactor = Redactor::new(headers.iter().map(|(_, value)| value));
            ConnectFailure { message: redactor.redact_text(failure.message), ..failure }
        })
    }
}

#[cfg(test)]
mod tests;
