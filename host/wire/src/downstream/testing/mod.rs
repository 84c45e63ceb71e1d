//! A small HTTP server for tests, and what other modules test of the client side.

pub(super) mod scripted;

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use gatehouse_core::{Fault, lock};
use gatehouse_net::{HttpClients, Url};
use http::HeaderMap;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::{TcpListener, TcpStream},
};

use super::{
    connection::{CallFailure, ConnectionContext},
    http::{HttpChannel, ServerRequester},
    peer::{Channel, ConnectionSecrets, InboundLimits, Peer, Request},
    sse::SseChannel,
};
use crate::login::{LoginId, Logins};

/// A request that the server got.
#[derive(Debug, Clone)]
pub(super) struct SeenRequest {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) headers: Vec<(String, String)>,
    pub(super) message: Value,
}

impl SeenRequest {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    /// Returns the method of HTTP, the path and the method of MCP.
    pub(super) fn in_words(&self) -> String {
        let mcp = self.message["method"].as_str().unwrap_or_default();
        format!("{} {} {mcp}", self.method, self.path).trim().to_owned()
    }
}

/// A response, in parts that are sent one after the other.
pub(super) type Parts = Vec<String>;

/// Server that answers each request as a function says. A part that is empty ends the connection; a response of no parts
/// is never sent.
pub(super) struct TestServer {
    pub(super) url: Url,
    seen: Arc<Mutex<Vec<SeenRequest>>>,
}

impl TestServer {
    pub(super) async fn start(answer: impl Fn(&SeenRequest) -> Parts + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let (seen, answer) = (Arc::<Mutex<Vec<SeenRequest>>>::default(), Arc::new(answer));
        let recorded = Arc::clone(&seen);
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (answer, recorded) = (Arc::clone(&answer), Arc::clone(&recorded));
                tokio::spawn(async move {
                    let mut socket = BufReader::new(socket);
                    while let Some(request) = read_request(&mut socket).await {
                        lock(&recorded).push(request.clone());
                        let parts = answer(&request);
                        if parts.is_empty() {
                            std::future::pending::<()>().await;
                        }
                        for part in parts {
                            if part.is_empty() || socket.get_mut().write_all(part.as_bytes()).await.is_err() {
                                return;
                            }
                            tokio::task::yield_now().await;
                        }
                    }
                });
            }
        });
        Self { url: format!("http://{address}/mcp").parse().expect("a URL"), seen }
    }

    /// Returns a server that does not run here.
    pub(super) fn at(url: Url) -> Self {
        Self { url, seen: Arc::default() }
    }

    pub(super) fn seen(&self) -> Vec<SeenRequest> {
        lock(&self.seen).clone()
    }

    pub(super) fn requester(&self) -> ServerRequester {
        requester(self.url.clone(), None)
    }

    /// Returns a peer whose lifecycle has not begun.
    pub(super) fn peer(&self) -> Arc<Peer> {
        http_peer(self.requester())
    }
}

pub(super) async fn read_request(socket: &mut BufReader<TcpStream>) -> Option<SeenRequest> {
    let mut line = String::new();
    if socket.read_line(&mut line).await.ok()? == 0 {
        return None;
    }
    let mut words = line.split(' ').map(str::to_owned).collect::<VecDeque<_>>();
    let (method, path) = (words.pop_front()?, words.pop_front()?);
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        socket.read_line(&mut line).await.ok()?;
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        headers.push((name.to_ascii_lowercase(), value.to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, length)| length.parse().expect("a length"))];
    socket.read_exact(&mut body).await.ok()?;
    Some(SeenRequest { method, path, headers, message: serde_json::from_slice(&body).unwrap_or_default() })
}

/// Returns a response with a body.
pub(super) fn response(status: &str, kind: &str, body: &str) -> Parts {
    let length = body.len();
    vec![format!("HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\n\r\n{body}")]
}

pub(super) fn json_response(body: &Value) -> Parts {
    response("200 OK", "application/json", &body.to_string())
}

/// Returns a response of events that ends with them.
pub(super) fn event_response(events: &[&str]) -> Parts {
    let begin = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n".to_owned();
    let events = events.iter().filter(|event| !event.is_empty()).map(|event| (*event).to_owned());
    std::iter::once(begin).chain(events).chain([String::new()]).collect()
}

fn http_peer(requester: ServerRequester) -> Arc<Peer> {
    let context = ConnectionContext::of_test(None, InboundLimits::new(Arc::default()));
    Peer::new(&"far".into(), Channel::Http(HttpChannel::new(requester)), context)
}

fn requester(url: Url, logins: Option<(Arc<Logins>, LoginId)>) -> ServerRequester {
    let client = HttpClients::default().for_url(&url).expect("a client").clone();
    let secrets = ConnectionSecrets::new(Arc::default());
    ServerRequester::new(client, url, HeaderMap::new(), logins, secrets)
}

/// Pings a server with a login. Returns the result, or the fault of the login as an error; other failures are texts.
pub(crate) async fn ping(url: Url, logins: Arc<Logins>, login: LoginId) -> Result<String, Fault> {
    let peer = http_peer(requester(url, Some((logins, login))));
    match peer.request(Request::new("ping", json!({}))).await {
        Ok(answer) => Ok(answer.value.to_string()),
        Err(CallFailure::Login(fault)) => Err(fault),
        Err(failure) => Ok(format!("{failure:?}")),
    }
}

/// The oldest transport with a login.
pub(crate) struct OpenStream(SseChannel);

impl OpenStream {
    /// Opens the stream, and returns its first message too.
    pub(crate) async fn open(url: Url, logins: Arc<Logins>, login: LoginId) -> Result<(Self, String), Fault> {
        let opened = SseChannel::open(requester(url, Some((logins, login)))).await;
        let (channel, mut events) = opened.map_err(login_fault)?;
        let event = events.next_event(|_, _| {}).await.expect("an event").expect("an event");
        let text = String::from_utf8(event.data.expect("data")).expect("text");
        let shown = channel.secrets().redact_text(text);
        Ok((Self(channel), shown))
    }

    pub(crate) async fn post(&self) -> Result<(), Fault> {
        self.0.post(&json!({"jsonrpc": "2.0", "id": 1, "method": "ping"})).await.map_err(login_fault)
    }
}

fn login_fault(failure: CallFailure) -> Fault {
    match failure {
        CallFailure::Login(fault) => fault,
        failure => panic!("{failure:?}"),
    }
}
