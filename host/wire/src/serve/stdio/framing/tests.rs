//! Tests of replies that the connection creates itself.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, duplex};

use super::*;

/// Returns these replies for the given lines.
async fn answers(input: Vec<u8>) -> Vec<Value> {
    let (ours, mut theirs) = duplex(1 << 20);
    let (reader, mut feeder) = duplex(1 << 16);
    let mut lines = LineTransport::new((reader, ours));
    let feeding = tokio::spawn(async move { feeder.write_all(&input).await });
    while lines.receive().await.is_some() {}
    lines.close().await.expect("written");
    feeding.await.expect("fed").expect("fed");
    drop(lines);
    let mut output = String::new();
    theirs.read_to_string(&mut output).await.expect("UTF-8");
    output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
}

#[tokio::test]
async fn every_request_is_answered_under_its_own_id() {
    let input = [
        "",
        "not JSON",
        "[]",
        r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":[]}"#,
        r#"{"jsonrpc":"2.0","method":"$/lsp","params":5}"#,
        r#"{"jsonrpc":"2.0","id":"a"}"#,
        r#"{"jsonrpc":"2.0","id":9,"error":"nonsense"}"#,
        r#"{"jsonrpc":"2.0","id":8,"method":"ping"}"#,
    ];
    let replies = answers((input.join("\n") + "\n").into_bytes()).await;
    let errors: Vec<(Value, i64)> = replies
        .iter()
        .map(|answer| (answer["id"].clone(), answer["error"]["code"].as_i64().expect("a code")))
        .collect();
    let null = Value::Null;
    assert_eq!(errors, [(null.clone(), -32700), (null, -32600), (json!(7), -32602), (json!("a"), -32600)]);
}

#[tokio::test]
async fn values_that_the_parser_rejects_are_answered_under_the_id() {
    let call = |id: u32, value: &str| {
        let params = format!(r#"{{"name":"t","arguments":{{"id":99,"a":{value}}}}}"#);
        format!(r#"{{"method":"tools/call","params":{params},"jsonrpc":"2.0","id":{id}}}"#).into_bytes()
    };
    let nested = format!("{}{}", "[".repeat(126), "]".repeat(126));
    let mut invalid_utf8 = call(4, r#""?""#);
    let mark = invalid_utf8.iter().position(|byte| *byte == b'?').expect("the mark");
    invalid_utf8[mark] = 0xFF;
    let lines = [
        call(1, "1e"),
        call(2, &nested),
        call(3, "NaN"),
        invalid_utf8,
        format!(r#"{{"jsonrpc":"2.0","id":5,"result":{{"a":{nested}}}}}"#).into_bytes(),
        format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{{"a":{nested}}}}}"#).into_bytes(),
    ];
    let replies = answers([lines.join(&b'\n'), b"\n".to_vec()].concat()).await;
    let errors: Vec<_> = replies.iter().map(|answer| (&answer["id"], &answer["error"]["code"])).collect();
    let code = json!(-32700);
    assert_eq!(errors, [1, 2, 3, 4].map(|id| json!(id)).iter().map(|id| (id, &code)).collect::<Vec<_>>());
    assert_eq!(replies[1]["error"]["message"], "the message is nested 129 levels deep; the limit is 127");
}

#[tokio::test]
async fn a_lone_surrogate_is_read_as_the_replacement_character() {
    let line = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"cut \ud83d"}}"#;
    let message = parse_line(line).expect("a message");
    let params = serde_json::to_value(&message).expect("JSON")["params"]["name"].clone();
    assert_eq!(params, "cut \u{fffd}");
}

#[tokio::test]
async fn a_line_that_is_too_long_is_answered_and_the_next_one_read() {
    let long = "x".repeat(MAX_LINE);
    let id_first =
        format!(r#"{{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{{"name":"{long}"}}}}"#);
    let id_last =
        format!(r#"{{"method":"tools/call","params":{{"name":"{long}"}},"jsonrpc":"2.0","id":"z"}}"#);
    let replies = answers(format!("{id_first}\n{id_last}\n{long}y\nnot JSON\n").into_bytes()).await;
    let ids: Vec<Value> = replies.iter().map(|answer| answer["id"].clone()).collect();
    assert_eq!(ids, [json!(3), json!("z"), Value::Null, Value::Null]);
    assert_eq!(
        replies[0]["error"]["message"],
        format!("the message is {} bytes; the limit is {MAX_LINE}", id_first.len() + 1)
    );
    assert_eq!(replies[3]["error"]["code"], -32700, "what follows is read as a line of its own");
}

#[test]
fn a_large_line_is_parsed_elsewhere_and_marked() {
    let call = |id: u32, length: usize| {
        let text = "x".repeat(length);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"t","arguments":{{"a":"{text}"}}}}}}"#
        )
    };
    let input = [call(1, 10), call(2, MIN_LARGE_MESSAGE), call(3, 10)].join("\n").into_bytes();
    let mut lines = LineTransport::new((std::io::Cursor::new(input), tokio::io::sink()));
    lines.begun = true;
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build();
    let marked = runtime.expect("a runtime").block_on(async {
        let mut marked = Vec::new();
        loop {
            // The only other thread is held, so a line that is parsed there is not ready.
            let (go_on, held) = std::sync::mpsc::channel::<()>();
            let holding = spawn_blocking(move || held.recv());
            let first = futures_util::poll!(std::pin::pin!(lines.receive()));
            drop(go_on);
            let _ = holding.await;
            let (message, waited) = match first {
                std::task::Poll::Ready(message) => (message, false),
                std::task::Poll::Pending => (lines.receive().await, true),
            };
            let Some(JsonRpcMessage::Request(request)) = message else { break marked };
            let is_large = request.request.extensions().get::<LargeRequest>().is_some();
            marked.push((request.id.to_string(), is_large, waited));
        }
    });
    let small = |id: &str| (id.to_owned(), false, false);
    assert_eq!(marked, [small("1"), ("2".to_owned(), true, true), small("3")]);
}
