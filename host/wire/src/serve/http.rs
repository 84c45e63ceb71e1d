//! Serving over streamable HTTP: `/mcp` is the default preset, `/mcp/p/<preset>` each one by name.
//!
//! Browsers are kept out: a request whose Origin or Host is not this server's own is refused, so a web
//! page cannot reach a host on loopback. Beyond loopback every request needs the bearer token.

use std::{
    collections::HashMap,
    net::SocketAddr,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{Path, Request, State},
    http::{
        StatusCode,
        header::{CONTENT_TYPE, WWW_AUTHENTICATE},
    },
    middleware::{self, Next},
    response::{IntoResponse, Response},
    routing::any,
    serve::ListenerExt,
};
use gatehouse_core::{Principal, names};
use rmcp::transport::streamable_http_server::StreamableHttpServerConfig;
use serde_json::json;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::{House, Served, auth::Token, events::Kept, mcp::Mcp};

/// The largest request body. Over stdio one client can only hurt itself; here it would hurt others.
const MAX_BODY: usize = 4 << 20;

/// How long running requests may go on once the host is told to stop.
const LAST_REQUESTS: Duration = Duration::from_secs(5);

/// Why the server cannot start.
#[derive(Debug, thiserror::Error)]
pub enum HttpError {
    /// Beyond loopback without a token.
    #[error(
        "refusing to listen on {0} without a token: everybody who can reach that address could call every tool"
    )]
    NeedsToken(SocketAddr),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {cause}")]
    Bind {
        /// Which.
        address: SocketAddr,
        /// Why not.
        cause: std::io::Error,
    },
}

/// A server that listens and has not started to answer.
pub struct Http {
    listener: TcpListener,
    /// Where it listens; the port is the real one where 0 was asked for.
    pub address: SocketAddr,
    token: Option<Token>,
}

/// Binds the address, deny by default.
pub async fn bind(address: SocketAddr, token: Option<Token>) -> Result<Http, HttpError> {
    if !address.ip().is_loopback() && token.is_none() {
        return Err(HttpError::NeedsToken(address));
    }
    let failed = |cause| HttpError::Bind { address, cause };
    let listener = TcpListener::bind(address).await.map_err(failed)?;
    let address = listener.local_addr().map_err(failed)?;
    Ok(Http { listener, address, token })
}

/// A preset and the service that was made for it.
type Named = (Arc<Served>, Arc<Mcp>);

struct Server {
    house: Arc<House>,
    default: Mcp,
    /// Made when a client first asks for the preset; made anew for a preset that went and came back.
    presets: Mutex<HashMap<String, Named>>,
    principal: Principal,
    /// Replies that clients may ask for again.
    kept: Arc<Kept>,
    config: StreamableHttpServerConfig,
    token: Option<Token>,
}

impl Server {
    fn preset(&self, name: &str, served: &Arc<Served>) -> Arc<Mcp> {
        let mut presets = self.presets.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, mcp)) = presets.get(name).filter(|(known, _)| Arc::ptr_eq(known, served)) {
            return Arc::clone(mcp);
        }
        let mcp = Mcp::new(&self.house, served, &self.principal, &self.kept, self.config.clone());
        let mcp = Arc::new(mcp);
        presets.insert(name.to_owned(), (Arc::clone(served), Arc::clone(&mcp)));
        mcp
    }
}

impl Http {
    /// Answers until `stop` is cancelled, then lets running requests end.
    pub async fn serve(self, house: Arc<House>, stop: CancellationToken) -> std::io::Result<()> {
        // Event streams never end by themselves, so they are ended when the last requests had their time.
        let end = CancellationToken::new();
        let (principal, config, kept) = (self.principal(), self.config(&end), Arc::default());
        let server = Arc::new(Server {
            default: Mcp::new(&house, house.default(), &principal, &kept, config.clone()),
            presets: Mutex::default(),
            token: self.token.clone(),
            house,
            principal,
            kept,
            config,
        });
        let router = Router::new()
            .route("/mcp", any(default_preset))
            .route("/mcp/p/{preset}", any(named_preset))
            .fallback(unknown_path)
            .layer(middleware::from_fn_with_state(Arc::clone(&server), authenticate))
            .with_state(server);
        // Without it, small replies wait for the client's delayed acknowledgement: 40 ms each.
        let listener = self.listener.tap_io(|stream| {
            let _ = stream.set_nodelay(true);
        });
        let stopped = stop.clone();
        let ending = async move {
            stop.cancelled().await;
            tokio::time::sleep(LAST_REQUESTS).await;
            end.cancel();
            std::future::pending().await
        };
        tokio::select! {
            served = axum::serve(listener, router).with_graceful_shutdown(stopped.cancelled_owned()) => served,
            never = ending => never,
        }
    }

    fn principal(&self) -> Principal {
        match &self.token {
            Some(_) => Principal::Named("token".into()),
            None => Principal::Local,
        }
    }

    fn config(&self, end: &CancellationToken) -> StreamableHttpServerConfig {
        let port = self.address.port();
        let own = ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("http://{host}:{port}"));
        let config = StreamableHttpServerConfig::default()
            .with_allowed_origins(own)
            .enforce_origin_validation()
            .with_max_request_body_bytes(MAX_BODY)
            .with_cancellation_token(end.child_token());
        // Beyond loopback the host goes by names we cannot know; there the token is the protection.
        if self.address.ip().is_loopback() { config } else { config.disable_allowed_hosts() }
    }
}

async fn authenticate(State(server): State<Arc<Server>>, request: Request, next: Next) -> Response {
    if server.token.as_ref().is_none_or(|token| token.admits(request.headers())) {
        return next.run(request).await;
    }
    let why = "This host needs the header `Authorization: Bearer <GATEHOUSE_TOKEN>`.";
    let mut response = refuse(StatusCode::UNAUTHORIZED, why);
    response.headers_mut().insert(WWW_AUTHENTICATE, axum::http::HeaderValue::from_static("Bearer"));
    response
}

async fn default_preset(State(server): State<Arc<Server>>, request: Request) -> Response {
    answer(&server.default, request).await
}

async fn answer(mcp: &Mcp, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let Ok(body) = axum::body::to_bytes(body, MAX_BODY).await else {
        return refuse(StatusCode::PAYLOAD_TOO_LARGE, "The body is too large, or broke off.");
    };
    mcp.answer(Request::from_parts(parts, body)).await.map(Body::new).into_response()
}

async fn unknown_path() -> Response {
    refuse(StatusCode::NOT_FOUND, "MCP is served on /mcp and on /mcp/p/<preset>.")
}

async fn named_preset(
    State(server): State<Arc<Server>>,
    Path(preset): Path<String>,
    request: Request,
) -> Response {
    let presets = server.house.presets();
    match presets.get(&preset) {
        Some(Ok(served)) => answer(&server.preset(&preset, served), request).await,
        Some(Err(why)) => {
            refuse(StatusCode::SERVICE_UNAVAILABLE, &format!("Preset '{preset}' cannot be served: {why}"))
        }
        None => {
            let known: Vec<&str> = presets.keys().map(String::as_str).collect();
            let near = names::did_you_mean(&preset, known.iter().copied());
            let shown = names::quoted(&preset, 64);
            let why = format!("Unknown preset '{shown}'.{near} There are: {}.", known.join(", "));
            refuse(StatusCode::NOT_FOUND, &why)
        }
    }
}

fn refuse(status: StatusCode, why: &str) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": why}}).to_string();
    (status, [(CONTENT_TYPE, "application/json")], body).into_response()
}
