//! Answers to one HTTP message, from a socket.

use std::sync::Arc;

use gatehouse_net::HttpClients;
use rmcp::model::{DiscoverRequest, PingRequest, RequestId};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpListener,
};

use super::*;
use crate::{downstream::inbound::InboundLimits, login::cause_in_words};

async fn answered(request: ClientRequest, answer: String) -> Result<StreamableHttpPostResponse, String> {
    answered_in(None, request, answer).await
}

async fn answered_in(
    session: Option<&str>,
    request: ClientRequest,
    answer: String,
) -> Result<StreamableHttpPostResponse, String> {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
    let url = format!("http://{}/mcp", listener.local_addr().expect("an address"));
    let serve = async {
        let (mut socket, _) = listener.accept().await.expect("a client");
        let _ = socket.read(&mut [0; 4_096]).await.expect("a request");
        // The client closes the connection after it has read enough.
        let _ = socket.write_all(answer.as_bytes()).await;
    };
    let inbound = InboundReader::new(&InboundLimits::new(Arc::default()));
    let id = RequestId::Number(7);
    inbound.register_request(&id, false);
    let message = ClientJsonRpcMessage::request(request, id);
    let client = HttpClients::default().for_url(&url.parse().expect("a url")).expect("a client").clone();
    let sent = post(&client, &inbound, &url, &message, session, None, RequestHeaders::new());
    let (came, ()) = tokio::join!(sent, serve);
    came.map_err(|error| cause_in_words(&error))
}

fn ping() -> ClientRequest {
    ClientRequest::PingRequest(PingRequest::default())
}

fn http(status: &str, kind: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}"
    )
}

#[tokio::test]
async fn faults_quote_the_answer_of_the_server() {
    for (answer, expected) in [
        (
            http("429 Too Many Requests\r\nretry-after: 7", "text/plain", "slow down"),
            "it answered 429 Too Many Requests, and asks to wait (Retry-After: 7)",
        ),
        (http("503 Service Unavailable", "text/html", "<p>down</p>"), "it answered 503 Service Unavailable"),
        (
            http("400 Bad Request", "text/plain", "what?\u{1b}[31m"),
            "unexpected server response: HTTP 400 Bad Request: what?",
        ),
        (http("200 OK", "text/html", "<p>hello</p>"), "Unexpected content type: Some(\"text/html\")"),
    ] {
        let why = answered(ping(), answer).await.expect_err("a fault");
        assert!(why.starts_with(expected) && !why.contains('\u{1b}'), "{why}");
    }
}

#[tokio::test]
async fn an_invalid_answer_fails_its_request() {
    let many = format!(r#"{{"jsonrpc":"2.0","id":7,"result":{{"a":[{}0]}}}}"#, "0,".repeat(600_000));
    for (body, expected) in [
        ("hello".to_owned(), "it is not an MCP message"),
        (many, "the limit is 500000"),
        ("x".repeat(MAX_MESSAGE + 1), "it has more than 16777216 bytes"),
    ] {
        let came = answered(ping(), http("200 OK", "application/json", &body)).await;
        let Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), _)) = came else {
            panic!("{came:?}");
        };
        assert!(error.error.message.contains(expected), "{error:?}");
        assert_eq!(error.id, Some(RequestId::Number(7)));
    }
}

#[tokio::test]
async fn a_server_that_rejects_discovery_counts_as_older() {
    let discover = || ClientRequest::DiscoverRequest(DiscoverRequest::default());
    let error =
        r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}"#;
    for (kind, body, message) in [
        ("application/json", error, "Missing session ID"),
        ("text/plain", "what?", "HTTP 400 Bad Request: what?"),
    ] {
        let came = answered(discover(), http("400 Bad Request", kind, body)).await;
        let Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), None)) = came else {
            panic!("{came:?}");
        };
        assert_eq!((error.id, &*error.error.message), (Some(RequestId::Number(7)), message));
    }
    let refused =
        answered(discover(), http("401 Unauthorized", "text/plain", "who?")).await.expect_err("refused");
    assert!(refused.contains("HTTP 401"), "{refused}");
}

#[tokio::test]
async fn a_refused_session_differs_from_an_error_of_the_request() {
    let error = |id: &str, message: &str| {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"error":{{"code":-32000,"message":"{message}"}}}}"#)
    };
    let (json, text) = ("application/json", "text/plain");
    for (status, kind, body) in [
        ("404 Not Found", text, String::new()),
        ("404 Not Found", json, error("null", "Session not found")),
        ("404 Not Found", json, error("\"server-error\"", "What?")),
        ("404 Not Found", json, error("7", "Session not found")),
        ("400 Bad Request", json, error("null", "Bad Request: No valid session ID provided")),
        ("400 Bad Request", json, error("null", "Bad Request: Server not initialized")),
        ("400 Bad Request", text, "Bad Request: No valid session ID provided".to_owned()),
    ] {
        let came = answered_in(Some("s"), ping(), http(status, kind, &body)).await.expect_err("refused");
        assert_eq!(came, "Session expired (HTTP 404)", "{status}: {body}");
        let came = answered(ping(), http(status, kind, &body)).await;
        assert!(came.err().is_none_or(|why| !why.contains("expired")), "without a session: {body}");
    }
    for (status, message) in
        [("404 Not Found", "no such record"), ("400 Bad Request", "the login session is over")]
    {
        let came = answered_in(Some("s"), ping(), http(status, json, &error("7", message))).await;
        let Ok(StreamableHttpPostResponse::Json(JsonRpcMessage::Error(error), _)) = came else {
            panic!("{came:?}");
        };
        assert_eq!((error.id, &*error.error.message), (Some(RequestId::Number(7)), message));
    }
}
