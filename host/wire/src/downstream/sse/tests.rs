//! The transport against a socket server that speaks MCP 2024-11-05.

use crate::downstream::connection::ConnectionContext;
use std::sync::{Arc, Mutex};

use gatehouse_core::{CallContext, Catalog, CompiledPreset, ContentPart, Pipeline, lock};
use gatehouse_net::{HttpClients, Url};
use http::{HeaderMap, HeaderValue};
use rmcp::service::ClientLifecycleMode;
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::{TcpListener, TcpStream},
    sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel},
};

use super::{
    super::{
        connection::{CallFailure, ServerConnection},
        host_client::HostClient,
        inbound::{InboundLimits, InboundReader},
        session::ServerSession,
    },
    ServerRequester, SseTransport,
};

const LIMIT: usize = 4_096;

/// Server that records requests as `METHOD PATH TOKEN` plus the MCP method.
struct Server {
    url: Url,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    /// Starts a server whose stream begins with `opening`. If that is empty, the server answers 404.
    async fn start(opening: &'static str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        tokio::spawn(async move {
            let (sender, messages) = unbounded_channel();
            let mut messages = Some(messages);
            while let Ok((socket, _)) = listener.accept().await {
                tokio::spawn(answer(socket, opening, sender.clone(), messages.take(), Arc::clone(&seen)));
            }
        });
        Self { url: format!("http://{address}/sse").parse().expect("a url"), requests }
    }

    async fn open(&self) -> Result<(SseTransport, InboundReader), String> {
        let inbound = InboundReader::new(&InboundLimits::new(Arc::default()));
        let client = HttpClients::default().for_url(&self.url).expect("a client").clone();
        let headers =
            HeaderMap::from_iter([(http::header::AUTHORIZATION, HeaderValue::from_static("t0ken"))]);
        let requester = ServerRequester::new(client, self.url.clone(), headers, None);
        let opened = SseTransport::open(requester, inbound.clone(), LIMIT).await;
        opened.map(|stream| (stream, inbound)).map_err(|error| error.to_string())
    }

    async fn connect(&self) -> ServerSession {
        let (stream, inbound) = self.open().await.expect("a stream");
        let context = ConnectionContext::of_test(None, InboundLimits::new(Arc::default()));
        let client = HostClient::new(&"old".into(), inbound, &context);
        let running = client.serve(stream, ClientLifecycleMode::Initialize).await;
        ServerSession::new(running.expect("a handshake"), None, None)
    }

    fn requests(&self) -> Vec<String> {
        lock(&self.requests).clone()
    }
}

async fn answer(
    socket: TcpStream,
    opening: &str,
    sender: UnboundedSender<String>,
    messages: Option<UnboundedReceiver<String>>,
    requests: Arc<Mutex<Vec<String>>>,
) {
    let mut socket = BufReader::new(socket);
    let (mut line, mut length, mut token) = (String::new(), 0, String::new());
    socket.read_line(&mut line).await.expect("a request");
    let asks = line.rsplit_once(' ').expect("three words").0.to_owned();
    loop {
        line.clear();
        socket.read_line(&mut line).await.expect("a header");
        let Some((name, value)) = line.trim_end().split_once(": ") else { break };
        match name {
            "content-length" => length = value.parse().expect("a length"),
            "authorization" => token = value.to_owned(),
            _ => {}
        }
    }
    let mut body = vec![0; length];
    socket.read_exact(&mut body).await.expect("a body");
    let message: Value = serde_json::from_slice(&body).unwrap_or_default();
    let method = message["method"].as_str().unwrap_or_default();
    lock(&requests).push(format!("{asks} {token} {method}").trim_end().to_owned());
    match messages {
        Some(_) if opening.is_empty() => {
            let _ = socket.write_all(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n").await;
        }
        Some(mut messages) => {
            let _ = socket.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n").await;
            let _ = socket.write_all(opening.as_bytes()).await;
            while let Some(message) = messages.recv().await.filter(|message| message != "end") {
                let _ = socket.write_all(message.as_bytes()).await;
            }
        }
        None => {
            let _ = socket.write_all(b"HTTP/1.1 202 Accepted\r\nconnection: close\r\n\r\n").await;
            let _ = sender.send(reply(&message).unwrap_or_default());
        }
    }
}

fn reply(message: &Value) -> Option<String> {
    let result = match (message["method"].as_str()?, message["params"]["name"].as_str()) {
        ("initialize", _) => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"}}),
        ("tools/list", _) => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        ("tools/call", Some("die")) => return Some("end".into()),
        ("tools/call", Some("large")) => {
            json!({"content": [{"type": "text", "text": "x".repeat(LIMIT)}]})
        }
        ("tools/call", _) => json!({"content": [{"type": "text", "text": "hello"}]}),
        _ => return None,
    };
    let message = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    Some(format!(": still here\r\n\r\nevent: message\r\ndata: {message}\r\n\r\n"))
}

const STREAM: &str = "content-type: text/event-stream\r\n\r\nevent: endpoint\ndata: /messages?session=7\n\n";

fn context_without_client() -> Arc<CallContext> {
    let catalog =
        Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), Vec::new()).expect("a catalog");
    Arc::new(CallContext::new(&Arc::new(Pipeline::new(Vec::new())), Arc::new(catalog), "none"))
}

#[tokio::test]
async fn a_server_of_the_first_version_lists_and_answers() {
    let server = Server::start(STREAM).await;
    let session = server.connect().await;
    assert_eq!(&*session.list().await.expect("a list").tools[0].name, "echo");
    let reply = session.call("echo", Map::new(), &context_without_client()).await.expect("a reply");
    assert_eq!(reply.content, [ContentPart::Text("hello".into())]);
    let requests = server.requests();
    assert_eq!(requests[0], "GET /sse t0ken");
    let methods = ["initialize", "notifications/initialized", "tools/list", "tools/call"];
    let sent = methods.map(|method| format!("POST /messages?session=7 t0ken {method}"));
    assert_eq!(requests[1..], sent, "each message with the headers, at the address that the stream named");
}

#[tokio::test]
async fn a_call_whose_stream_ends_fails_and_is_not_sent_again() {
    for tool in ["die", "large"] {
        let server = Server::start(STREAM).await;
        let session = server.connect().await;
        let failure = session.call(tool, Map::new(), &context_without_client()).await.expect_err("no stream");
        assert!(matches!(failure, CallFailure::Transport(_)), "{tool}: {failure:?}");
        session.ended().await;
        let sent = server.requests().iter().filter(|request| request.ends_with("tools/call")).count();
        assert_eq!(sent, 1, "{tool}");
    }
}

#[tokio::test]
async fn endpoints_at_another_origin_are_rejected() {
    let away = "content-type: text/event-stream\r\n\r\nevent: endpoint\ndata: http://127.0.0.2:9/take\n\n";
    let server = Server::start(away).await;
    let why = server.open().await.err().expect("refused");
    assert!(
        why.contains("'http://127.0.0.2:9/take', which has another origin than its event stream"),
        "{why}"
    );
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn responses_without_a_stream_are_reported() {
    let none = Server::start("").await.open().await.err();
    assert_eq!(none.as_deref(), Some("it answered 404 Not Found"));
    let page = Server::start("content-type: text/html\r\n\r\n<p>").await.open().await.err();
    assert_eq!(page.as_deref(), Some("it answered with 'text/html' instead of an event stream"));
}
