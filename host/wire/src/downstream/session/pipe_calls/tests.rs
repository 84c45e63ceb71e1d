//! Calls of several callers on one pipe, with servers of both lifecycles.

use std::sync::Arc;

use gatehouse_core::{CallContext, Catalog, CompiledPreset, ContentPart, Pipeline, Reply};
use rmcp::{model::ProtocolVersion, service::ClientLifecycleMode};
use serde_json::{Map, Value, json};
use tokio::io::AsyncWriteExt as _;

use crate::downstream::{
    connection::{CallFailure, ServerConnection as _},
    session::{
        ServerSession,
        scripted::{scripted_session, session_on},
    },
};

fn modes() -> [ClientLifecycleMode; 2] {
    let preferred_versions = vec![ProtocolVersion::LATEST];
    [ClientLifecycleMode::Initialize, ClientLifecycleMode::Discover { preferred_versions }]
}

/// Answers the messages that begin a session.
fn begin(message: &Value) -> Option<Value> {
    let result = match message["method"].as_str() {
        Some("initialize") => json!({
            "protocolVersion": "2025-11-25", "capabilities": {"tools": {}},
            "serverInfo": {"name": "s", "version": "1"},
        }),
        Some("server/discover") => json!({
            "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}},
            "ttlMs": 0, "cacheScope": "private",
        }),
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn reply_to(message: &Value) -> Value {
    let text = &message["params"]["name"];
    let result = json!({"content": [{"type": "text", "text": text}]});
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

fn is_call(message: &Value) -> bool {
    message["method"] == "tools/call"
}

async fn call(session: &ServerSession, tool: &str) -> Result<Reply, CallFailure> {
    let catalog =
        Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), Vec::new()).expect("a catalog");
    let context = CallContext::new(&Arc::new(Pipeline::new(Vec::new())), Arc::new(catalog), "none");
    session.call(tool, Map::new(), &Arc::new(context)).await
}

fn text(reply: Result<Reply, CallFailure>) -> String {
    match &reply.expect("a reply").content[..] {
        [ContentPart::Text(text)] => text.to_string(),
        other => panic!("not one text: {other:?}"),
    }
}

#[tokio::test]
async fn answers_in_any_order_find_their_calls() {
    for mode in modes() {
        let mut held = Vec::new();
        let (session, mut received) = scripted_session(mode, move |message| {
            if !is_call(message) {
                return begin(message).into_iter().collect();
            }
            held.push(message.clone());
            if held.len() < 3 {
                return Vec::new();
            }
            // In reverse order, one with its ID as a string, and one twice.
            let mut answers: Vec<Value> = held.drain(..).rev().map(|message| reply_to(&message)).collect();
            answers[0] = json!({
                "jsonrpc": "2.0", "id": answers[0]["id"], "error": {"code": -32602, "message": "no such tool"},
            });
            answers[1]["id"] = json!(answers[1]["id"].to_string());
            answers.push(answers[1].clone());
            answers
        })
        .await;
        let (one, two, three) =
            tokio::join!(call(&session, "one"), call(&session, "two"), call(&session, "three"));
        assert_eq!((text(one), text(two)), ("one".to_owned(), "two".to_owned()));
        let refused = CallFailure::Refused { code: -32602, message: "no such tool".into() };
        assert_eq!(three.expect_err("refused"), refused);
        let mut calls = Vec::new();
        while calls.len() < 3 {
            let message = received.recv().await.expect("a message");
            calls.extend(is_call(&message).then_some(message));
        }
        for call in calls {
            assert_eq!(call["params"]["_meta"]["progressToken"], call["id"]);
            let version = &call["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"];
            assert_eq!(version.is_string(), session.since_2026, "{call}");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    for mode in modes() {
        let (session, mut received) =
            scripted_session(mode, |message| begin(message).into_iter().collect()).await;
        let mut id = Value::Null;
        tokio::select! {
            reply = call(&session, "slow") => panic!("answered: {reply:?}"),
            () = async {
                while id.is_null() {
                    let message = received.recv().await.expect("a message");
                    id = if is_call(&message) { message["id"].clone() } else { Value::Null };
                }
            } => {}
        }
        let message = received.recv().await.expect("a message");
        assert_eq!(
            (&message["method"], &message["params"]["requestId"]),
            (&json!("notifications/cancelled"), &id)
        );
    }
}

#[tokio::test]
async fn calls_fail_when_the_server_ends_and_afterwards() {
    for mode in modes() {
        let (session, _received) = scripted_session(mode, |message| match is_call(message) {
            true => vec![Value::Null],
            false => begin(message).into_iter().collect(),
        })
        .await;
        for _ in 0..2 {
            let failure = call(&session, "last").await.expect_err("no answer");
            assert!(matches!(&failure, CallFailure::Transport(why) if why.contains("closed")), "{failure:?}");
        }
    }
}

#[tokio::test]
async fn a_server_may_ask_during_a_call() {
    for mode in modes() {
        let mut asked = None;
        let (session, mut received) = scripted_session(mode, move |message| {
            if is_call(message) {
                asked = Some(message.clone());
                let params =
                    json!({"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}});
                return vec![
                    json!({"jsonrpc": "2.0", "id": 7, "method": "elicitation/create", "params": params}),
                ];
            }
            match &asked {
                Some(call) if message["id"] == 7 => vec![reply_to(call)],
                _ => begin(message).into_iter().collect(),
            }
        })
        .await;
        assert_eq!(text(call(&session, "ask").await), "ask");
        let mut answer = Value::Null;
        while answer["id"] != 7 {
            answer = received.recv().await.expect("a message");
        }
        let why = answer["error"]["message"].as_str().expect("no client to ask");
        assert!(why.starts_with("the caller is not an MCP client"), "{why}");
    }
}

#[tokio::test]
async fn a_modern_server_without_a_call_gets_no_roots() {
    let [_, discovery] = modes();
    let ask = json!({"jsonrpc": "2.0", "id": 9, "method": "roots/list"});
    let (_session, mut received) = scripted_session(discovery, move |message| match begin(message) {
        Some(begun) => vec![begun, ask.clone()],
        None => Vec::new(),
    })
    .await;
    let mut answer = Value::Null;
    while answer["id"] != 9 {
        answer = received.recv().await.expect("a message");
    }
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
}

/// Begins a call that the server does not read. The session ends by itself if the server closes its output.
async fn end_during_a_write(closes_output: bool) {
    let (input, _reader) = tokio::io::duplex(1 << 10);
    let (mut writer, output) = tokio::io::duplex(1 << 16);
    let begun = begin(&json!({"method": "initialize", "id": 0})).expect("an answer");
    writer.write_all(format!("{begun}\n").as_bytes()).await.expect("a client");
    let session = session_on(ClientLifecycleMode::Initialize, output, input).await;
    let long = "x".repeat(10_000);
    let mut stuck = Box::pin(call(&session, &long));
    assert!(futures_util::poll!(&mut stuck).is_pending());
    match closes_output {
        true => drop(writer),
        false => session.close().await,
    }
    session.ended().await;
}

#[tokio::test(start_paused = true)]
async fn a_session_ends_although_its_server_does_not_read() {
    end_during_a_write(false).await;
    end_during_a_write(true).await;
}
