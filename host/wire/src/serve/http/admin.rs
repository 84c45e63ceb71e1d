//! The listener for operators, apart from that of clients. It serves `/metrics` and no preset.

use std::{net::SocketAddr, sync::Arc};

use gatehouse_core::ports::{AuditLog, auth::ProtectedResource};
use gatehouse_telemetry::{CONTENT_TYPE, Metrics};
use http::{HeaderValue, Request, Response, StatusCode, header};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Credentials, HttpError, HttpSettings,
    active_request::ActiveRequest,
    connection::HttpConnection,
    connections::OpenConnections,
    door_audit::DoorAudit,
    guard::RequestGuard,
    listener::{HttpListener, Respond},
    reply::{BoxResponse, ResponseBody, plain},
    router::probe,
};
use crate::serve::ServedPresets;

/// Maximum connections of operators.
const MAX_CONNECTIONS: usize = 32;

/// A bound listener for operators that has not started to answer.
pub struct AdminServer {
    listener: TcpListener,
    /// Local address, with the actual port if 0 was requested.
    pub address: SocketAddr,
    credentials: Credentials,
}

/// Binds the address. Beyond loopback, operators need keys or tokens of issuers. Those need the right `admin` everywhere.
pub async fn bind_admin(address: SocketAddr, credentials: Credentials) -> Result<AdminServer, HttpError> {
    if !address.ip().is_loopback() && credentials.authenticator.is_none() {
        return Err(HttpError::NeedsAuth(address));
    }
    let failed = |cause| HttpError::Bind { address, cause };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(AdminServer { listener, address, credentials })
}

impl AdminServer {
    /// Serves until dropped.
    pub async fn serve(
        self,
        presets: Arc<ServedPresets>,
        settings: &HttpSettings,
        audit: Option<Arc<dyn AuditLog>>,
        metrics: &'static Metrics,
    ) {
        let Self { listener, address, credentials } = self;
        let mut settings = HttpSettings { connections: MAX_CONNECTIONS, ..settings.clone() };
        if !address.ip().is_loopback() {
            // Scrapers use addresses. Each needs a credential there.
            settings.hosts.clear();
        }
        let guard = RequestGuard::new(address, &settings, credentials, None);
        let end = CancellationToken::new();
        let router = AdminRouter { guard, presets, audit: DoorAudit::new(audit), metrics };
        let connections = OpenConnections::new(settings);
        let listening = HttpListener {
            connections: Arc::clone(&connections),
            router: Arc::new(router),
            tasks: TaskTracker::new(),
            stop: end.clone(),
            end: end.clone(),
        };
        let _end = end.drop_guard();
        tokio::select! {
            never = listening.accept(&listener) => match never {},
            () = connections.close_expired() => {}
        }
    }
}

struct AdminRouter {
    guard: RequestGuard,
    presets: Arc<ServedPresets>,
    audit: DoorAudit,
    metrics: &'static Metrics,
}

impl Respond for AdminRouter {
    async fn respond(
        self: Arc<Self>,
        connection: Arc<HttpConnection>,
        request: Request<Incoming>,
    ) -> Response<ResponseBody> {
        let mut work = ActiveRequest::new(&connection);
        let response = self.answer(request, &mut work).await;
        response.map(|body| ResponseBody::new(body, work, Vec::new()))
    }
}

impl AdminRouter {
    async fn answer(&self, request: Request<Incoming>, work: &mut ActiveRequest) -> BoxResponse {
        // Nothing here reads a body.
        let (parts, _) = request.into_parts();
        work.client = self.guard.client(work.connection.peer.ip(), &parts.headers);
        if let Err(refusal) = self.guard.check(&parts) {
            return self.guard.refuse(&refusal, &parts, work.client);
        }
        let caller =
            match self.guard.authenticate(&parts.headers, ProtectedResource::Default, work.client).await {
                Ok(caller) => caller,
                Err(refusal) => {
                    self.audit.record_refusal(None, work.client, refusal.parts().1);
                    return self.guard.refuse(&refusal, &parts, work.client);
                }
            };
        let needs_right = self.guard.requires_credentials();
        if needs_right && !self.presets.composed.is_cancelled() {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "the host is starting");
        }
        if needs_right && !self.presets.access_rules().access_of(&caller).is_admin() {
            let reason = "this address is for operators: it needs an access rule with `admin = true`";
            self.audit.record_refusal(Some(&caller.principal), work.client, reason);
            return plain(StatusCode::FORBIDDEN, reason);
        }
        if !work.wait_for_place().await || !work.charge(Arc::clone(&caller), &caller.principal) {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "too many connections");
        }
        match parts.uri.path() {
            "/metrics" => probe(&parts, || {
                let mut response = plain(StatusCode::OK, self.metrics.text());
                response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(CONTENT_TYPE));
                response
            }),
            _ => plain(StatusCode::NOT_FOUND, "not found; metrics are at /metrics"),
        }
    }
}
