//! Pages for the user of this machine, on loopback. The handler decides who may see them.

use std::{net::SocketAddr, sync::Arc};

use async_trait::async_trait;
use bytes::Bytes;
use gatehouse_core::Principal;
use http::{HeaderName, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use tokio::net::TcpListener;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use super::{
    Credentials, HttpError, HttpSettings,
    active_request::ActiveRequest,
    body::BodyReader,
    connection::HttpConnection,
    connections::OpenConnections,
    guard::RequestGuard,
    listener::{HttpListener, Respond},
    reply::{BoxResponse, ResponseBody, plain},
};

const MAX_CONNECTIONS: usize = 32;

/// Maximum bytes of a form.
const MAX_FORM: usize = 256 << 10;

/// Headers of every page: it loads only its own files, sends forms only to this server, and is neither stored nor framed.
/// With the policy `no-referrer`, browsers would send forms with the origin `null`.
const HEADERS: [(HeaderName, &str); 4] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; style-src 'self'; img-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Answers requests for pages.
#[async_trait]
pub trait PageHandler: Send + Sync {
    /// Answers a request with its body. Headers against foreign content are added.
    async fn respond(&self, request: Request<Bytes>) -> Response<Bytes>;
}

/// A bound server of pages that has not started to answer.
pub struct PageServer {
    listener: TcpListener,
    /// Local address, with the actual port if 0 was requested.
    pub address: SocketAddr,
}

/// Binds a loopback address.
pub async fn bind_pages(address: SocketAddr) -> Result<PageServer, HttpError> {
    if !address.ip().is_loopback() {
        return Err(HttpError::NotLoopback(address));
    }
    let failed = |cause| HttpError::Bind { address, cause };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(PageServer { listener, address })
}

impl PageServer {
    /// Serves until dropped.
    pub async fn serve(self, handler: Arc<dyn PageHandler>) {
        let Self { listener, address } = self;
        let settings = HttpSettings { connections: MAX_CONNECTIONS, ..HttpSettings::default() };
        let end = CancellationToken::new();
        let router = PageRouter {
            guard: RequestGuard::new(address, &settings, Credentials::default(), None),
            bodies: BodyReader::new(settings.body_timeout, None),
            handler,
        };
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

struct PageRouter {
    guard: RequestGuard,
    bodies: BodyReader,
    handler: Arc<dyn PageHandler>,
}

impl Respond for PageRouter {
    async fn respond(
        self: Arc<Self>,
        connection: Arc<HttpConnection>,
        request: Request<Incoming>,
    ) -> Response<ResponseBody> {
        let mut work = ActiveRequest::new(&connection);
        let mut response = self.answer(request, &mut work).await;
        for (name, value) in HEADERS {
            response.headers_mut().insert(name, HeaderValue::from_static(value));
        }
        response.map(|body| ResponseBody::new(body, work, Vec::new()))
    }
}

impl PageRouter {
    async fn answer(&self, request: Request<Incoming>, work: &mut ActiveRequest) -> BoxResponse {
        let (parts, body) = request.into_parts();
        work.client = self.guard.client(work.connection.peer.ip(), &parts.headers);
        if let Err(refusal) = self.guard.check(&parts) {
            return self.guard.refuse(&refusal, &parts, work.client);
        }
        let body = match parts.method {
            Method::GET | Method::HEAD => Bytes::new(),
            Method::POST => {
                work.enter_body();
                match self.bodies.read(body, &Principal::Local).await {
                    Ok((body, _)) if body.len() <= MAX_FORM => body,
                    Ok(_) => return plain(StatusCode::PAYLOAD_TOO_LARGE, "the form is too large"),
                    Err(unread) => return unread.response(),
                }
            }
            _ => return super::reply::method_not_allowed("GET, HEAD, POST"),
        };
        work.enter_working(None);
        let response = self.handler.respond(Request::from_parts(parts, body)).await;
        response.map(|body| Full::new(body).boxed())
    }
}
