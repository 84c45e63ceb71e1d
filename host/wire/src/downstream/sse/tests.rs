//! The transport against a socket server that speaks MCP 2024-11-05.

use std::sync::{Arc, Mutex};

use gatehouse_core::{CallContext, Catalog, CompiledPreset, ContentPart, Pipeline, lock, tool::ToolSpec};
use serde_json::{Map, Value, json};
use tokio::{
    io::{AsyncWriteExt as _, BufReader},
    net::TcpListener,
    sync::mpsc::{UnboundedSender, unbounded_channel},
};

use super::{super::testing::Parts, *};
use crate::downstream::{
    connection::{ConnectionContext, ServerConnection as _},
    peer::{Channel, InboundLimits, Lifecycle, Request},
    session::ServerSession,
    testing::{SeenRequest, TestServer, event_response, read_request, response},
};

const STREAM: &str = "event: endpoint\ndata: /messages?session=7\n\n";

/// Returns what a server does whose stream has these events, and ends after it.
fn served(events: &'static str) -> impl Fn(&SeenRequest) -> Parts {
    move |request| match &*request.method {
        "GET" => event_response(&[events]),
        _ => response("202 Accepted", "text/plain", ""),
    }
}

async fn open(events: &'static str) -> Result<String, String> {
    let server = TestServer::start(served(events)).await;
    let opened = SseChannel::open(server.requester()).await;
    opened.map(|(channel, _)| channel.endpoint.path().to_owned()).map_err(|failure| format!("{failure:?}"))
}

/// Server with one stream, on which it answers.
struct AnsweringServer {
    url: Url,
    requests: Arc<Mutex<Vec<String>>>,
}

impl AnsweringServer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let address = listener.local_addr().expect("an address");
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let (sender, messages) = unbounded_channel::<String>();
        let messages = Arc::new(tokio::sync::Mutex::new(messages));
        tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                let (sender, messages, seen) = (sender.clone(), Arc::clone(&messages), Arc::clone(&seen));
                tokio::spawn(async move {
                    let mut socket = BufReader::new(socket);
                    while let Some(request) = read_request(&mut socket).await {
                        lock(&seen).push(request.in_words());
                        if request.method == "GET" {
                            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n";
                            let _ = socket.write_all(format!("{head}{STREAM}").as_bytes()).await;
                            while let Some(message) = messages.lock().await.recv().await {
                                if message == "end" || socket.write_all(message.as_bytes()).await.is_err() {
                                    return;
                                }
                            }
                        }
                        answer(&request.message, &sender);
                        let _ = socket.write_all(b"HTTP/1.1 202 Accepted\r\ncontent-length: 0\r\n\r\n").await;
                    }
                });
            }
        });
        Self { url: format!("http://{address}/sse").parse().expect("a URL"), requests }
    }

    async fn connect(&self) -> ServerSession {
        let requester = TestServer::at(self.url.clone()).requester();
        let (channel, events) = SseChannel::open(requester).await.expect("a stream");
        let context = ConnectionContext::of_test(None, InboundLimits::new(Arc::default()));
        let peer = Peer::new(&"old".into(), Channel::Sse(channel), context);
        spawn_reader(&peer, events);
        let info = peer.negotiate(Lifecycle::Handshake).await.expect("a handshake");
        ServerSession::new(peer, info, None)
    }
}

fn answer(message: &Value, sender: &UnboundedSender<String>) {
    let result = match (message["method"].as_str(), message["params"]["name"].as_str()) {
        (Some("initialize"), _) => json!({"protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"}}),
        (Some("tools/list"), _) => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        (Some("tools/call"), Some("die")) => {
            let _ = sender.send("end".into());
            return;
        }
        (Some("tools/call"), _) => json!({"content": [{"type": "text", "text": "hello"}]}),
        _ => return,
    };
    let message = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    let _ = sender.send(format!(": still here\r\n\r\nevent: message\r\ndata: {message}\r\n\r\n"));
}

async fn call(session: &ServerSession, tool: &str) -> Result<Vec<ContentPart>, CallFailure> {
    let catalog =
        Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), Vec::new()).expect("a catalog");
    let context = CallContext::new(&Arc::new(Pipeline::new(Vec::new())), Arc::new(catalog), "none");
    session.call(&ToolSpec::new(tool, ""), Map::new(), &Arc::new(context)).await.map(|reply| reply.content)
}

#[tokio::test]
async fn a_server_of_the_first_version_lists_and_answers() {
    let server = AnsweringServer::start().await;
    let session = server.connect().await;
    assert_eq!(
        &*session.list(std::time::Duration::from_secs(5)).await.expect("a list").tools[0].name,
        "echo"
    );
    assert_eq!(call(&session, "echo").await, Ok(vec![ContentPart::Text("hello".into())]));
    let requests = lock(&server.requests).clone();
    assert_eq!(requests[0], "GET /sse");
    let methods = ["initialize", "notifications/initialized", "tools/list", "tools/call"];
    assert_eq!(requests[1..], methods.map(|method| format!("POST /messages?session=7 {method}")));
}

#[tokio::test]
async fn a_call_whose_stream_ends_fails_and_is_not_sent_again() {
    let server = AnsweringServer::start().await;
    let session = server.connect().await;
    let failure = call(&session, "die").await.expect_err("no stream");
    assert_eq!(failure, CallFailure::Transport("the server closed its event stream".into()));
    session.ended().await;
    let sent = lock(&server.requests).iter().filter(|request| request.ends_with("tools/call")).count();
    assert_eq!(sent, 1);
}

#[tokio::test]
async fn the_stream_names_an_endpoint_of_its_own_origin() {
    assert_eq!(open(STREAM).await.as_deref(), Ok("/messages"));
    assert_eq!(
        open(concat!(": hello\n\nevent: ping\ndata: 1\n\n", "event: endpoint\ndata: m\n\n")).await.as_deref(),
        Ok("/m")
    );
    let away = open("event: endpoint\ndata: http://127.0.0.2:9/take\n\n").await.expect_err("refused");
    assert!(
        away.contains("'http://127.0.0.2:9/take', which has another origin than its event stream"),
        "{away}"
    );
    let none = open("event: message\ndata: {}\n\n").await.expect_err("no endpoint");
    assert!(none.contains("its event stream ended immediately"), "{none}");
}

#[tokio::test]
async fn responses_without_a_stream_are_reported() {
    for (answer, expected) in [
        (response("404 Not Found", "text/plain", ""), "404 Not Found"),
        (response("200 OK", "text/html", "<p>"), "it answered with 'text/html' instead of an event stream"),
    ] {
        let server = TestServer::start(move |_| answer.clone()).await;
        let failure = SseChannel::open(server.requester()).await.err().expect("no stream");
        assert!(format!("{failure:?}").contains(expected), "{failure:?}");
    }
}

#[tokio::test]
async fn a_message_that_is_refused_needs_a_new_stream() {
    for (status, words, is_ended) in [
        ("404 Not Found", "Could not find it", true),
        ("400 Bad Request", "No transport found for sessionId", true),
        ("400 Bad Request", "what?", false),
        ("500 Internal Server Error", "session", false),
    ] {
        let server = TestServer::start(move |request| match &*request.method {
            "GET" => event_response(&[STREAM, ": stays open\n\n"]),
            _ => response(status, "text/plain", words),
        })
        .await;
        let (channel, _) = SseChannel::open(server.requester()).await.expect("a stream");
        let context = ConnectionContext::of_test(None, InboundLimits::new(Arc::default()));
        let peer = Peer::new(&"old".into(), Channel::Sse(channel), context);
        let failure = peer.request(Request::new("ping", json!({}))).await.expect_err("refused");
        assert_eq!(failure == CallFailure::SessionEnded { has_begun: false }, is_ended, "{failure:?}");
        assert!(peer.has_lost_session(), "{failure:?}");
    }
}
