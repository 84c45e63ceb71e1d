//! Streamable HTTP against a socket server.
//!
//! Longer than 300 lines because each kind of answer is a row here.

use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

use gatehouse_core::lock;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::downstream::{
    connection::CallFailure,
    peer::{Lifecycle, MAX_MESSAGE, Peer, Request},
    testing::{Parts, SeenRequest, TestServer, event_response, json_response, response},
};

const JSON: &str = "application/json";

fn result(request: &SeenRequest, result: Value) -> Value {
    json!({"jsonrpc": "2.0", "id": request.message["id"], "result": result})
}

fn error(id: &Value, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32000, "message": message}})
}

fn handshake(request: &SeenRequest) -> Value {
    result(request, json!({"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}}))
}

/// Answers what begins a session `ID`, and everything that is not a ping.
fn in_session(request: &SeenRequest, id: &str) -> Option<Parts> {
    match request.message["method"].as_str() {
        Some("initialize") => {
            let body = handshake(request).to_string();
            let length = body.len();
            Some(vec![format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {JSON}\r\nmcp-session-id: {id}\r\ncontent-length: {length}\r\n\r\n{body}"
            )])
        }
        Some("ping") => None,
        None if request.method == "GET" => Some(response("405 Method Not Allowed", "text/plain", "")),
        _ => Some(response("202 Accepted", "text/plain", "")),
    }
}

/// Pings a server that answers so, in a session or without one.
async fn answered(
    has_session: bool,
    answer: impl Fn(&SeenRequest) -> Parts + Send + Sync + 'static,
) -> Result<Value, CallFailure> {
    let server =
        TestServer::start(move |request| in_session(request, "s-1").unwrap_or_else(|| answer(request))).await;
    ping(&started(&server, has_session).await).await
}

async fn started(server: &TestServer, has_session: bool) -> Arc<Peer> {
    let peer = server.peer();
    if has_session {
        peer.negotiate(Lifecycle::Handshake).await.expect("a session");
    }
    peer
}

async fn ping(peer: &Arc<Peer>) -> Result<Value, CallFailure> {
    peer.request(Request::new("ping", json!({}))).await.map(|answer| answer.value)
}

#[tokio::test]
async fn errors_of_any_id_fail_their_request_with_their_words() {
    for status in
        ["200 OK", "400 Bad Request", "404 Not Found", "413 Payload Too Large", "500 Internal Server Error"]
    {
        for id in [json!(null), json!("server-error"), json!(99), json!(1)] {
            let failure =
                answered(false, move |_| response(status, JSON, &error(&id, "the tide is out").to_string()));
            let expected = CallFailure::Refused { code: -32000, message: "the tide is out".into() };
            assert_eq!(failure.await, Err(expected), "{status}");
        }
    }
    let stream =
        answered(false, |_| event_response(&[&format!("data: {}\n\n", error(&json!(null), "no luck"))]));
    assert_eq!(stream.await, Err(CallFailure::Refused { code: -32000, message: "no luck".into() }));
}

#[tokio::test]
async fn large_errors_are_read_within_the_limits_of_messages() {
    let failure = |body: Value| {
        answered(false, move |_| response("500 Internal Server Error", JSON, &body.to_string()))
    };
    let mut long = error(&json!(1), "the tide is out");
    long["trace"] = "x".repeat(100_000).into();
    let expected = CallFailure::Refused { code: -32000, message: "the tide is out".into() };
    assert_eq!(failure(long.clone()).await, Err(expected));
    long["trace"] = vec![0; 2_000_000].into();
    let reason = failure(long).await.expect_err("too many values");
    assert!(matches!(&reason, CallFailure::Status { status: 500, .. }), "{reason:?}");
}

#[tokio::test]
async fn answers_without_a_result_fail_their_request() {
    for (answer, expected) in [
        (response("202 Accepted", "text/plain", ""), "it answered 202 Accepted, without a result"),
        (response("204 No Content", "text/plain", ""), "it answered 204 No Content, without a result"),
        (response("200 OK", JSON, ""), "it is not JSON"),
        (response("200 OK", JSON, "{}"), "it is not a request, a notification or an answer"),
        (response("200 OK", JSON, "[]"), "it has no answer to the request"),
        (response("200 OK", JSON, r#"{"id":99,"result":{}}"#), "it has the ID of another request"),
        (response("200 OK", "text/html", "<p>hello</p>"), "the content type 'text/html' instead of JSON"),
        (event_response(&[": bye\n\n"]), "it ended its event stream without an answer"),
        (event_response(&["data: {\"id\":99,\"result\":{}}\n\n"]), "it has the ID of another request"),
        (
            response("503 Busy\r\nretry-after: 7", "text/html", ""),
            "503 Service Unavailable, and asks to wait (Retry-After: 7)",
        ),
        (
            response("429 Slow\r\nretry-after: 7", JSON, &error(&json!(null), "slow").to_string()),
            "slow, and asks to wait (Retry-After: 7)",
        ),
        (response("400 Bad Request", "text/plain", "what?\u{1b}[31m"), "400 Bad Request: what?"),
        (response("400 Bad Request", JSON, r#"{"error":"too long"}"#), "400 Bad Request: too long"),
        (response("422 Odd", JSON, r#"{"detail":[{"loc":["kelp"]}]}"#), "422 Unprocessable Entity: [{"),
        (
            vec![format!(
                "HTTP/1.1 200 OK\r\ncontent-type: {JSON}\r\ncontent-length: {}\r\n\r\n",
                MAX_MESSAGE + 1
            )],
            "it has more than 16777216 bytes",
        ),
    ] {
        let shown = answer.first().cloned();
        let failure = answered(false, move |_| answer.clone()).await.expect_err("a failure");
        let text = format!("{failure:?}");
        assert!(text.contains(expected) && !text.contains('\u{1b}'), "{shown:?}: {text}");
    }
}

#[tokio::test]
async fn streams_are_read_past_what_is_not_the_answer() {
    let answer = |request: &SeenRequest| format!("data: {}\n\n", result(request, json!({"tide": "in"})));
    for before in [
        "",
        ": ping - 2026-01-01\n\n",
        "event: ping\ndata: ping\n\n",
        "event: keepalive\ndata: {}\n\n",
        "data:\n\n",
        "id: 7\ndata:\n\n",
        "event: endpoint\ndata: /messages\n\n",
        "data: tick\n\n",
        "data: {\"type\":\"heartbeat\"}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/message\",\"params\":{\"level\":\"info\",\"data\":1}}\n\n",
        "data: {\"jsonrpc\":\"2.0\",\"id\":\"p\",\"method\":\"ping\"}\n\n",
    ] {
        for has_session in [true, false] {
            let answered =
                answered(has_session, move |request| event_response(&[before, &answer(request)])).await;
            assert_eq!(answered, Ok(json!({"tide": "in"})), "{before:?}");
        }
    }
    // Also before the first answer, and without the last blank line.
    let server = TestServer::start(|request| match request.message["method"].as_str() {
        Some("initialize") => {
            event_response(&["event: ping\ndata: {}\n\n", &format!("data: {}\n", handshake(request))])
        }
        _ => response("202 Accepted", "text/plain", ""),
    })
    .await;
    server.peer().negotiate(Lifecycle::Handshake).await.expect("a handshake");
}

#[tokio::test]
async fn a_stream_that_ends_early_is_resumed_after_its_last_event() {
    let pinged = Arc::new(Mutex::new(Value::Null));
    let id = Arc::clone(&pinged);
    let server =
        TestServer::start(move |request| match (&*request.method, request.header("last-event-id")) {
            ("GET", Some("e1")) => {
                let answer = json!({"jsonrpc": "2.0", "id": *lock(&id), "result": {"resumed": true}});
                event_response(&[&format!("id: e2\ndata: {answer}\n\n")])
            }
            _ => in_session(request, "s-1").unwrap_or_else(|| {
                *lock(&id) = request.message["id"].clone();
                event_response(&["id: e1\nretry: 1000\ndata:\n\n"])
            }),
        })
        .await;
    let peer = started(&server, true).await;
    assert_eq!(ping(&peer).await, Ok(json!({"resumed": true})));
    let resumed = server.seen().into_iter().rfind(|request| request.method == "GET").expect("a request");
    assert_eq!(resumed.header("mcp-session-id"), Some("s-1"));
    assert_eq!(resumed.header("mcp-protocol-version"), Some("2025-06-18"));
}

#[tokio::test]
async fn statuses_that_say_nothing_was_run_end_the_session() {
    let (json, text) = (JSON, "text/plain");
    let own = |message| error(&json!("ID"), message).to_string();
    let odd = |message| error(&json!(null), message).to_string();
    for (status, kind, body) in [
        ("404 Not Found", text, String::new()),
        ("404 Not Found", json, odd("Who?")),
        ("404 Not Found", json, own("Session not found")),
        ("400 Bad Request", json, odd("Bad Request: No valid session ID provided")),
        ("400 Bad Request", json, own("Your session expired")),
        ("400 Bad Request", json, odd("Server not initialized")),
        ("400 Bad Request", text, "Unknown SESSION".to_owned()),
        ("400 Bad Request", json, r#"{"error":"missing session"}"#.to_owned()),
    ] {
        let ended = Err(CallFailure::SessionEnded { has_begun: false });
        for has_session in [true, false] {
            let body = body.clone();
            let answer = move |request: &SeenRequest| {
                response(status, kind, &body.replace("\"ID\"", &request.message["id"].to_string()))
            };
            let outcome = answered(has_session, answer).await;
            assert_eq!(outcome == ended, has_session, "{status}: {outcome:?}");
        }
    }
}

#[tokio::test]
async fn other_refusals_of_a_session_fail_the_call_and_the_next_gets_another() {
    let own = |message| error(&json!("ID"), message).to_string();
    for (status, body, is_lost) in [
        ("410 Gone", String::new(), true),
        ("403 Forbidden", own("unknown session"), true),
        ("500 Internal Server Error", own("Session not found"), true),
        ("422 Unprocessable Entity", r#"{"detail":"session id is not known"}"#.to_owned(), true),
        ("200 OK", own("Session not found"), true),
        ("200 OK", own("no such record"), false),
        ("404 Not Found", own("no such record"), false),
        ("400 Bad Request", own("no such record"), false),
        ("429 Too Many Requests", own("too many sessions"), false),
    ] {
        let answer = move |request: &SeenRequest| {
            let body = body.replace("\"ID\"", &request.message["id"].to_string());
            in_session(request, "s-1").unwrap_or_else(|| response(status, JSON, &body))
        };
        let server = TestServer::start(answer).await;
        let peer = started(&server, true).await;
        let failure = ping(&peer).await.expect_err("refused");
        assert!(
            matches!(failure, CallFailure::Refused { .. } | CallFailure::Status { .. }),
            "{status}: {failure:?}"
        );
        assert_eq!(peer.has_lost_session(), is_lost, "{status}");
    }
}

#[tokio::test]
async fn redirects_within_the_origin_keep_the_method_and_the_headers() {
    for status in ["307 Temporary Redirect", "308 Permanent Redirect"] {
        let server = TestServer::start(move |request| match &*request.path {
            "/mcp" => response(&format!("{status}\r\nlocation: /mcp/"), "text/plain", ""),
            _ => in_session(request, "s-1").unwrap_or_else(|| json_response(&result(request, json!({})))),
        })
        .await;
        let peer = started(&server, true).await;
        for _ in 0..2 {
            assert_eq!(ping(&peer).await, Ok(json!({})));
        }
        peer.close().await;
        let seen = server.seen();
        assert_eq!(seen.iter().filter(|request| request.path == "/mcp").count(), 1, "asked once");
        let pings = seen.iter().filter(|request| request.in_words() == "POST /mcp/ ping");
        assert_eq!(pings.filter(|request| request.header("mcp-session-id") == Some("s-1")).count(), 2);
        assert!(seen.iter().any(|request| request.in_words() == "DELETE /mcp/"));
    }
    for (status, location) in [
        ("307 Temporary Redirect", "http://127.0.0.2:9/mcp/"),
        ("301 Moved Permanently", "/mcp/"),
        ("303 See Other", "/login"),
        ("307 Temporary Redirect", "/mcp"),
    ] {
        let failure = answered(false, move |_| {
            response(&format!("{status}\r\nlocation: {location}"), "text/plain", "")
        });
        match failure.await {
            Err(CallFailure::Transport(reason)) => assert!(reason.contains(location), "{reason}"),
            other => panic!("{other:?}"),
        }
    }
    let endless = answered(false, |request| {
        let next = format!("307 Temporary Redirect\r\nlocation: {}/x", request.path);
        response(&next, "text/plain", "")
    });
    let endless = endless.await;
    assert!(
        matches!(&endless, Err(CallFailure::Transport(reason)) if reason.contains("redirected more")),
        "{endless:?}"
    );
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_got_nothing() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    drop(listener);
    let server = TestServer::at(format!("http://{address}/mcp").parse().expect("a URL"));
    assert!(matches!(ping(&server.peer()).await, Err(CallFailure::NotSent(_))));
}

/// Returns how often the stream of a session is opened within a minute.
async fn openings(answer: impl Fn() -> Parts + Send + Sync + 'static) -> usize {
    let server = TestServer::start(move |request| match &*request.method {
        "GET" => answer(),
        _ => in_session(request, "s-1").unwrap_or_default(),
    })
    .await;
    let peer = started(&server, true).await;
    sleep(Duration::from_secs(60)).await;
    peer.closing().cancel();
    server.seen().iter().filter(|request| request.method == "GET").count()
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_ends_is_opened_again_after_growing_pauses() {
    let refused = |status: &'static str| openings(move || response(status, "text/plain", ""));
    for status in ["405 Method Not Allowed", "404 Not Found", "400 Bad Request", "401 Unauthorized"] {
        assert_eq!(refused(status).await, 1, "{status}");
    }
    // At 0, 1, 3, 7, 15 and 31 s.
    for status in ["500 Internal Server Error", "204 No Content", "302 Found\r\nlocation: /login"] {
        assert_eq!(refused(status).await, 6, "{status}");
    }
    assert_eq!(openings(|| response("200 OK", JSON, "{}")).await, 6);
    assert_eq!(openings(|| event_response(&[": bye\n\n"])).await, 6);
    assert_eq!(openings(|| event_response(&["retry: 20000\nid: 1\ndata:\n\n"])).await, 3, "every 20 s");
    assert_eq!(openings(|| event_response(&["retry: 1\nid: 1\ndata:\n\n"])).await, 60, "every second");
    assert_eq!(openings(Vec::new).await, 1, "an answer that never comes");
}

#[tokio::test]
async fn requests_repeat_their_method_and_name_as_headers_since_2026() {
    let server = TestServer::start(|request| match request.message["method"].as_str() {
        Some("server/discover") => json_response(&result(
            request,
            json!({
            "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}),
        )),
        _ => json_response(&result(request, json!({"content": []}))),
    })
    .await;
    let peer = server.peer();
    peer.negotiate(Lifecycle::Discovery).await.expect("a connection");
    let call = Request::new("tools/call", json!({"name": "größe"}));
    peer.request(call).await.expect("a result");
    let seen = server.seen();
    let shown = |request: &SeenRequest| {
        ["mcp-protocol-version", "mcp-method", "mcp-name", "mcp-session-id"]
            .map(|name| request.header(name).unwrap_or("-").to_owned())
    };
    assert_eq!(shown(&seen[0]), ["2026-07-28", "server/discover", "-", "-"]);
    assert_eq!(shown(&seen[1]), ["2026-07-28", "tools/call", "=?base64?Z3LDtsOfZQ==?=", "-"]);
    assert_eq!(seen.len(), 2, "{seen:?}");
}

#[tokio::test]
async fn notifications_may_be_answered_in_any_way() {
    for answer in [
        response("202 Accepted", "text/plain", "Accepted"),
        response("204 No Content", JSON, ""),
        response("200 OK", JSON, ""),
        response("200 OK", JSON, "null"),
        response("200 OK", JSON, "{}"),
        response("200 OK", "text/html", "<p>thanks</p>"),
        event_response(&[": thanks\n\n"]),
        response("500 Internal Server Error", JSON, r#"{"error":"what?"}"#),
    ] {
        let shown = answer.concat();
        let server = TestServer::start(move |request| match request.message["method"].as_str() {
            Some("notifications/initialized") => answer.clone(),
            Some("ping") => json_response(&result(request, json!({}))),
            _ => in_session(request, "s-1").unwrap_or_default(),
        })
        .await;
        assert_eq!(ping(&started(&server, true).await).await, Ok(json!({})), "{shown}");
    }
}
