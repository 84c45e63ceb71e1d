//! The peer over pipes, with servers of both lifecycles.
//!
//! Longer than 300 lines because each kind of message is a row here.

use std::sync::atomic::AtomicUsize;

use gatehouse_core::{
    Catalog, CompiledPreset, ContentPart, Pipeline, Reply,
    http::{Redactor, Secret},
    tool::ToolSpec,
};
use tokio::io::AsyncWriteExt as _;

use super::*;
use crate::downstream::{
    connection::{ListChanged, ServerConnection as _},
    session::ServerSession,
    testing::scripted::{LIFECYCLES, begin, scripted_session, session_on, try_session},
};

fn reply_to(message: &Value) -> Value {
    let result = json!({"content": [{"type": "text", "text": message["params"]["name"]}]});
    json!({"jsonrpc": "2.0", "id": message["id"], "result": result})
}

fn is_call(message: &Value) -> bool {
    message["method"] == "tools/call"
}

fn test_context() -> Arc<CallContext> {
    let catalog =
        Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), Vec::new()).expect("a catalog");
    Arc::new(CallContext::new(&Arc::new(Pipeline::new(Vec::new())), Arc::new(catalog), "none"))
}

async fn call(session: &ServerSession, tool: &str) -> Result<Reply, CallFailure> {
    session.call(&ToolSpec::new(tool, ""), Map::new(), &test_context()).await
}

fn text(reply: Result<Reply, CallFailure>) -> String {
    match &reply.expect("a reply").content[..] {
        [ContentPart::Text(text)] => text.to_string(),
        other => panic!("not one text: {other:?}"),
    }
}

/// Connects to a server that answers each call with these messages, in which `ID` is the ID of the call.
async fn answering(lifecycle: Lifecycle, messages: &'static [&'static str]) -> ServerSession {
    let answers = move |message: &Value| match is_call(message) {
        true => messages.iter().map(|text| text.replace("ID", &message["id"].to_string()).into()).collect(),
        false => begin(message).into_iter().collect(),
    };
    scripted_session(lifecycle, answers).await.0
}

fn limits(secrets: &[&str]) -> InboundLimits {
    let secrets: Vec<_> = secrets.iter().map(|secret| Secret::new(*secret)).collect();
    InboundLimits::new(Arc::new(Redactor::new(&secrets)))
}

#[tokio::test]
async fn answers_in_any_order_find_their_calls() {
    for lifecycle in LIFECYCLES {
        let mut held = Vec::new();
        let (session, mut received) = scripted_session(lifecycle, move |message| {
            if !is_call(message) {
                return begin(message).into_iter().collect();
            }
            held.push(message.clone());
            if held.len() < 3 {
                return Vec::new();
            }
            // In reverse order, one with its ID as a string, one as a fraction, and one twice.
            let mut answers: Vec<Value> = held.drain(..).rev().map(|message| reply_to(&message)).collect();
            answers[0] = json!({
                "jsonrpc": "2.0", "id": answers[0]["id"], "error": {"code": -32602, "message": "no such tool"},
            });
            answers[1]["id"] = json!(answers[1]["id"].to_string());
            answers[2]["id"] = json!(answers[2]["id"].as_f64());
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
            assert_eq!(version.is_string(), lifecycle == Lifecycle::Discovery, "{call}");
        }
    }
}

#[tokio::test]
async fn a_call_that_is_dropped_is_cancelled_at_the_server() {
    for lifecycle in LIFECYCLES {
        let (session, mut received) =
            scripted_session(lifecycle, |message| begin(message).into_iter().collect()).await;
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
    for lifecycle in LIFECYCLES {
        let (session, _received) = scripted_session(lifecycle, |message| match is_call(message) {
            true => vec![Value::Null],
            false => begin(message).into_iter().collect(),
        })
        .await;
        for _ in 0..2 {
            let failure = call(&session, "last").await.expect_err("no answer");
            assert!(
                matches!(&failure, CallFailure::Transport(reason) if reason.contains("closed")),
                "{failure:?}"
            );
        }
    }
}

#[tokio::test]
async fn odd_answers_are_used_or_fail_with_the_words_of_the_server() {
    let fine = "Ok(\"fine\")";
    for (message, expected) in [
        (
            "{\"jsonrpc\":\"2.0\",\"id\":ID,\"error\":null,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}}",
            fine,
        ),
        (
            "\u{feff}{\"id\":ID,\"method\":null,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]},\"v\":1}\r",
            fine,
        ),
        (
            "[{\"jsonrpc\":\"2.0\",\"id\":ID,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"fine\"}]}}]",
            fine,
        ),
        (
            "{\"id\":ID,\"error\":{\"code\":-32603,\"message\":\"It failed\",\"data\":{\"row\":7}}}",
            "It failed: {\"row\":7} (-32603)",
        ),
        ("{\"id\":ID,\"error\":\"mussels are out\"}", "mussels are out (-32603)"),
        (
            "{\"id\":ID,\"error\":{\"code\":\"EBUSY\",\"message\":{\"en\":\"later\"}}}",
            "{\"en\":\"later\"} (-32603)",
        ),
        ("{\"id\":ID,\"error\":{\"code\":-7.0,\"message\":\"\",\"data\":\"later\"}}", "later (-7)"),
        ("{\"id\":null,\"error\":{\"code\":1,\"message\":\"I lost it\"}}", "I lost it (1)"),
        ("{\"error\":{\"code\":1,\"message\":\"It is lost\"}}", "It is lost (1)"),
        ("{\"id\":ID,\"result\":\"only text\"}", "not as the protocol has it"),
        ("{\"id\":ID,\"result\":null}", "not as the protocol has it"),
        ("{\"id\":ID,\"result\":{\"content\":[],\"structuredContent\":{\"mean\":NaN}}}", "it is not JSON"),
    ] {
        for lifecycle in LIFECYCLES {
            let messages: &'static [&'static str] = vec![message].leak();
            let session = answering(lifecycle, messages).await;
            let shown = match call(&session, "odd").await {
                Err(CallFailure::Refused { code, message }) => format!("{message} ({code})"),
                Err(CallFailure::Unreadable(reason)) => reason,
                other => format!("{:?}", Ok::<_, ()>(text(other))),
            };
            assert!(shown.contains(expected), "{message}: {shown}");
        }
    }
}

#[tokio::test]
async fn bytes_that_are_not_utf_8_become_replacement_characters() {
    let (input, _reader) = tokio::io::duplex(1 << 16);
    let (mut writer, output) = tokio::io::duplex(1 << 16);
    let handshake_reply = begin(&json!({"method": "initialize", "id": 1})).expect("an answer");
    let mut answer = br#"{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"text","text":"caf"#.to_vec();
    answer.extend(b"\xe9 \\ud83d\"}]}}\n");
    writer.write_all(format!("{handshake_reply}\n").as_bytes()).await.expect("a client");
    let context = ConnectionContext::of_test(None, limits(&[]));
    let session = session_on(Lifecycle::Handshake, context, output, input).await.expect("a session");
    let mut call = Box::pin(call(&session, "menu"));
    assert!(futures_util::poll!(&mut call).is_pending());
    writer.write_all(&answer).await.expect("a client");
    assert_eq!(text(call.await), "caf\u{fffd} \u{fffd}");
}

#[tokio::test]
async fn a_server_may_ask_during_a_call() {
    for lifecycle in LIFECYCLES {
        let mut asked = None;
        let (session, mut received) = scripted_session(lifecycle, move |message| {
            if is_call(message) {
                asked = Some(message.clone());
                let params =
                    json!({"message": "Sure?", "requestedSchema": {"type": "object", "properties": {}}});
                return vec![
                    json!({"jsonrpc": "2.0", "id": "q", "method": "elicitation/create", "params": params}),
                ];
            }
            match &asked {
                Some(call) if message["id"] == "q" => vec![reply_to(call)],
                _ => begin(message).into_iter().collect(),
            }
        })
        .await;
        assert_eq!(text(call(&session, "ask").await), "ask");
        let mut answer = Value::Null;
        while answer["id"] != "q" {
            answer = received.recv().await.expect("a message");
        }
        let reason = answer["error"]["message"].as_str().expect("no client to ask");
        assert!(reason.starts_with("the caller is not an MCP client"), "{reason}");
    }
}

#[tokio::test]
async fn a_server_that_asks_without_end_is_read_on_and_refused() {
    for lifecycle in LIFECYCLES {
        let (session, mut received) = scripted_session(lifecycle, |message| {
            if !is_call(message) {
                return begin(message).into_iter().collect();
            }
            let roots = |id| json!({"jsonrpc": "2.0", "id": format!("r{id}"), "method": "roots/list"});
            let unknown = json!({"jsonrpc": "2.0", "id": "u", "method": "kelp/harvest"});
            (0..500).map(roots).chain([unknown, reply_to(message)]).collect()
        })
        .await;
        assert_eq!(text(call(&session, "go on").await), "go on");
        let (mut answered, mut refused) = (0, 0);
        while answered + refused < 501 {
            let message = received.recv().await.expect("a message");
            if message.get("method").is_none() {
                match message["error"]["message"].as_str() {
                    Some("too many requests wait for an answer") => refused += 1,
                    _ => answered += 1,
                }
            }
        }
        assert!(answered > 0, "{answered} answered and {refused} refused");
    }
}

#[tokio::test]
async fn a_modern_server_without_a_call_gets_no_roots() {
    let ask = json!({"jsonrpc": "2.0", "id": 9, "method": "roots/list"});
    let (_session, mut received) =
        scripted_session(Lifecycle::Discovery, move |message| match begin(message) {
            Some(handshake_reply) => vec![handshake_reply, ask.clone()],
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
    let handshake_reply = begin(&json!({"method": "initialize", "id": 1})).expect("an answer");
    writer.write_all(format!("{handshake_reply}\n").as_bytes()).await.expect("a client");
    let context = ConnectionContext::of_test(None, limits(&[]));
    let session = session_on(Lifecycle::Handshake, context, output, input).await.expect("a session");
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

#[tokio::test]
async fn changed_lists_are_reported() {
    let kinds = ["tools", "prompts", "resources"];
    let changes =
        kinds.map(|kind| json!({"jsonrpc": "2.0", "method": format!("notifications/{kind}/list_changed")}));
    let count = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&count);
    let changed: ListChanged = Arc::new(move || {
        counted.fetch_add(1, Ordering::Relaxed);
    });
    let context = ConnectionContext::of_test(Some(changed), limits(&[]));
    let (session, _received) =
        try_session(Lifecycle::Handshake, context, move |message| match is_call(message) {
            true => changes.iter().cloned().chain([reply_to(message)]).collect(),
            false => begin(message).into_iter().collect(),
        })
        .await;
    assert_eq!(text(call(&session.expect("a session"), "change").await), "change");
    assert_eq!(count.load(Ordering::Relaxed), 3);
}

/// Returns the end of a connection whose server sends this text two times a millisecond.
async fn end_after(text: &str) -> ConnectionEnd {
    let (input, _reader) = tokio::io::duplex(1 << 16);
    let (mut writer, output) = tokio::io::duplex(1 << 16);
    let handshake_reply = begin(&json!({"method": "initialize", "id": 1})).expect("an answer");
    writer.write_all(format!("{handshake_reply}\n").as_bytes()).await.expect("a client");
    let context = ConnectionContext::of_test(None, limits(&[]));
    let session = session_on(Lifecycle::Handshake, context, output, input).await.expect("a session");
    let flood = async {
        while writer.write_all(format!("{text}\n{text}\n").as_bytes()).await.is_ok() {
            tokio::time::advance(Duration::from_millis(1)).await;
        }
        std::future::pending::<()>().await;
    };
    tokio::select! {
        end = session.ended() => end,
        () = flood => unreachable!(),
    }
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_what_no_request_awaits_ends_the_connection() {
    let began = Instant::now();
    for text in [
        "",
        "not a message",
        r#"{"jsonrpc":"2.0","id":77,"result":{"content":[]}}"#,
        r#"{"jsonrpc":"2.0","id":77,"error":{"code":1,"message":"What?"}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9,"progress":1}}"#,
        r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#,
        r#"{"jsonrpc":"2.0","method":"kelp/grew"}"#,
    ] {
        let end = end_after(text).await;
        let reason = "it sent more than 1000 unrequested messages a second for 10 s";
        assert_eq!(end, ConnectionEnd { reason: reason.into(), is_abuse: true }, "{text}");
    }
    assert!(began.elapsed() >= Duration::from_secs(7 * 10), "{:?}", began.elapsed());
}

async fn session_with(secrets: &[&str], answer: impl Fn(&Value) -> Value + Send + 'static) -> ServerSession {
    let context = ConnectionContext::of_test(None, limits(secrets));
    let answers = move |message: &Value| match begin(message) {
        Some(handshake_reply) => vec![handshake_reply],
        None if message.get("id").is_some() => vec![answer(message)],
        None => Vec::new(),
    };
    try_session(Lifecycle::Handshake, context, answers).await.0.expect("a session")
}

#[tokio::test]
async fn an_answer_beyond_the_limits_fails_its_request_alone() {
    let session = session_with(&[], |message| {
        let rows = match message["params"]["name"].as_str() {
            Some("values") => format!("{}0", "0,".repeat(600_000)),
            Some("memory") => format!("{}0", "{\"a\":{}},".repeat(150_000)),
            // Its end cannot be found, so its ID must come first.
            Some("deep") => {
                return format!("{{\"id\":{},\"result\":{}", message["id"], "[".repeat(200)).into();
            }
            _ => return reply_to(message),
        };
        format!(
            "{{\"result\":{{\"content\":[],\"structuredContent\":{{\"a\":[{rows}]}}}},\"id\":{}}}",
            message["id"]
        )
        .into()
    })
    .await;
    for (tool, expected) in [
        ("values", "values; the limit is 500000"),
        ("memory", "of memory as JSON; the limit is 100 MiB"),
        ("deep", "it is not JSON"),
    ] {
        match call(&session, tool).await {
            Err(CallFailure::Unreadable(reason)) => assert!(reason.contains(expected), "{tool}: {reason}"),
            other => panic!("{tool}: {other:?}"),
        }
    }
    assert_eq!(text(call(&session, "small").await), "small");
}

#[tokio::test]
async fn large_messages_share_the_memory_of_their_server() {
    let session = session_with(&[], |message| {
        let rows = "{\"a\":1},".repeat(120_000);
        format!(
            "{{\"id\":{},\"result\":{{\"content\":[],\"structuredContent\":{{\"a\":[{rows}0]}}}}}}",
            message["id"]
        )
        .into()
    })
    .await;
    let (one, two) = (test_context(), test_context());
    let tool = ToolSpec::new("rows", "");
    session.call(&tool, Map::new(), &one).await.expect("a reply");
    let mut second = Box::pin(session.call(&tool, Map::new(), &two));
    assert!(timeout(Duration::from_millis(200), &mut second).await.is_err(), "both take more than there is");
    drop(one);
    second.await.expect("a reply");
}

#[tokio::test]
async fn secrets_are_removed_from_results_and_errors() {
    let session = session_with(&["s3cret-token"], |message| {
        let long = format!("{} s3cret-token", "x".repeat(100_000));
        match message["params"]["name"].as_str() {
            Some("fails") => json!({"id": message["id"], "error":
                {"code": 1, "message": "no s3cret-token", "data": {"s3cret-token": 1}}}),
            _ => json!({"id": message["id"], "result": {"content": [{"type": "text", "text": long}]}}),
        }
    })
    .await;
    let shown = text(call(&session, "echo").await);
    assert!(shown.ends_with("x [redacted]"), "{}", &shown[shown.len() - 20..]);
    let failure = call(&session, "fails").await.expect_err("an error");
    assert_eq!(
        failure,
        CallFailure::Refused { code: 1, message: "no [redacted]: {\"[redacted]\":1}".into() }
    );
}

/// Returns the lifecycle of a session with a server that answers as `answers` says, and the time that it took.
async fn negotiated(
    first: Lifecycle,
    answers: impl FnMut(&Value) -> Vec<Value> + Send + 'static,
) -> (Result<Lifecycle, NegotiationFailure>, Duration) {
    let began = Instant::now();
    let context = ConnectionContext::of_test(None, limits(&[]));
    let (session, _received) = try_session(first, context, answers).await;
    (session.map(|session| session.start().lifecycle), began.elapsed())
}

fn refusal_of(message: &Value, code: i32) -> Value {
    json!({"jsonrpc": "2.0", "id": message["id"], "error": {"code": code, "message": "What?"}})
}

#[tokio::test(start_paused = true)]
async fn the_first_good_answer_decides_the_lifecycle() {
    let is = |message: &Value, method: &str| message["method"] == method;
    let silent = move |message: &Value| match is(message, "initialize") {
        true => begin(message).into_iter().collect(),
        false => Vec::new(),
    };
    let (lifecycle, time) = negotiated(Lifecycle::Discovery, silent).await;
    assert_eq!((lifecycle.expect("a session"), time.as_secs()), (Lifecycle::Handshake, 10));
    let (lifecycle, time) = negotiated(Lifecycle::Handshake, silent).await;
    assert_eq!((lifecycle.expect("a session"), time.as_secs()), (Lifecycle::Handshake, 0));

    // Some servers refuse, or answer with the result of a tool.
    for odd in [
        (|message| refusal_of(message, -32602)) as fn(&Value) -> Value,
        |message| json!({"jsonrpc": "2.0", "id": message["id"], "result": {"content": [], "isError": true}}),
        |message| json!({"jsonrpc": "2.0", "id": message["id"], "result": null}),
        |_| json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": "before initialization"}}),
        |_| "unknown method server/discover".into(),
    ] {
        let (lifecycle, time) =
            negotiated(Lifecycle::Discovery, move |message| match is(message, "server/discover") {
                true => vec![odd(message)],
                false => begin(message).into_iter().collect(),
            })
            .await;
        assert_eq!(lifecycle.expect("a session"), Lifecycle::Handshake);
        assert!(time.as_secs() <= 10, "{time:?}");
    }

    // A slow server finds both requests, and refuses the second or the first.
    let mut waiting = Vec::new();
    let (lifecycle, time) = negotiated(Lifecycle::Discovery, move |message| {
        waiting.push(message.clone());
        match is(message, "initialize") {
            true => vec![refusal_of(&waiting[1], -32022), begin(&waiting[0]).expect("an answer")],
            false => Vec::new(),
        }
    })
    .await;
    assert_eq!((lifecycle.expect("a session"), time.as_secs()), (Lifecycle::Discovery, 10));

    // Some servers refuse the version at first.
    let mut asked = 0;
    let (lifecycle, _) = negotiated(Lifecycle::Discovery, move |message| {
        asked += 1;
        match asked {
            1 => vec![refusal_of(message, -32022)],
            _ => begin(message).into_iter().collect(),
        }
    })
    .await;
    assert_eq!(lifecycle.expect("a session"), Lifecycle::Discovery);

    // A server that knew only the handshake was updated.
    let (lifecycle, _) = negotiated(Lifecycle::Handshake, move |message| match is(message, "initialize") {
        true => vec![refusal_of(message, -32601)],
        false => begin(message).into_iter().collect(),
    })
    .await;
    assert_eq!(lifecycle.expect("a session"), Lifecycle::Discovery);

    let (lifecycle, _) = negotiated(Lifecycle::Discovery, |message| vec![refusal_of(message, -32603)]).await;
    let failures = lifecycle.expect_err("no session").0;
    assert_eq!(failures.len(), 2, "{failures:?}");
}
