//! Malformed messages, unknown methods and missing items get the error that the specification requires.

use serde_json::{Value, json};

use crate::support::{Client, Http, Place, session::message};

const PRESETS: &str = "[presets.p]\ngates.echo = {}\n";

fn place() -> Place {
    Place::with(PRESETS, &["echo"])
}

/// Methods that MCP 2026-07-28 removed or that this host does not declare, with valid parameters.
fn absent() -> [(&'static str, Value); 9] {
    [
        ("resources/list", json!({})),
        ("resources/templates/list", json!({})),
        ("resources/read", json!({"uri": "x://y"})),
        ("resources/subscribe", json!({"uri": "x://y"})),
        ("prompts/list", json!({})),
        ("prompts/get", json!({"name": "x"})),
        (
            "completion/complete",
            json!({"ref": {"type": "ref/prompt", "name": "x"}, "argument": {"name": "a", "value": "b"}}),
        ),
        ("tasks/list", json!({})),
        ("no/such/method", json!({})),
    ]
}

#[test]
fn bodies_that_are_no_message_are_refused_with_the_reason() {
    let place = place();
    let host = Http::start(&place, "p", &[]);
    let session = host.session("/mcp", &[]);
    let named = [("mcp-session-id", session.as_str())];
    for (body, code, id) in [
        ("this is not JSON", -32700, Value::Null),
        ("", -32700, Value::Null),
        ("[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]", -32600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}", -32600, Value::Null),
        ("{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}", -32600, json!(1.5)),
        ("{\"jsonrpc\":\"2.0\",\"id\":3}", -32600, json!(3)),
    ] {
        for headers in [&named[..0], &named[..]] {
            let response = host.send("POST", "/mcp", headers, body);
            let reply: Value =
                serde_json::from_str(&response.body).unwrap_or_else(|_| panic!("{body}: {response:?}"));
            assert_eq!(response.status, 400, "{body}: {response:?}");
            assert_eq!((&reply["error"]["code"], &reply["id"]), (&json!(code), &id), "{body}: {reply}");
        }
    }
    let listed = host.request("/mcp", &session, "tools/list", json!({}));
    assert!(listed["result"]["tools"].is_array(), "{listed}");
}

fn unreadable() -> [(Vec<u8>, u64); 4] {
    let call = |id: u64, value: &[u8]| {
        let head = br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"echo","arguments":{"text":"#;
        [&head[..], value, format!("}}}},\"id\":{id}}}").as_bytes()].concat()
    };
    let nested = format!("{}{}", "[".repeat(126), "]".repeat(126));
    let values: [&[u8]; 4] = [b"01", b"\"\xFF\"", b"NaN", nested.as_bytes()];
    let mut id = 40;
    values.map(|value| {
        id += 1;
        (call(id, value), id)
    })
}

/// A call whose text ends inside a surrogate pair.
const CUT: &str = r#"{"jsonrpc":"2.0","id":39,"method":"tools/call","params":{"name":"echo","arguments":{"text":"cut \ud83d"}}}"#;

#[test]
fn requests_that_cannot_be_read_are_answered_over_http() {
    let place = place();
    let host = Http::start(&place, "p", &[]);
    let session = host.session("/mcp", &[]);
    for (body, id) in unreadable() {
        let head = host.bare("POST", "/mcp", &[("mcp-session-id", &session)], &"?".repeat(body.len()));
        let response = host.say([&head.as_bytes()[..head.len() - body.len()], &body].concat());
        let reply: Value =
            serde_json::from_str(&response.body).unwrap_or_else(|_| panic!("{id}: {response:?}"));
        assert_eq!(
            (response.status, &reply["error"]["code"], &reply["id"]),
            (400, &json!(-32700), &json!(id)),
            "{reply}"
        );
    }
    let response = host.send("POST", "/mcp", &[("mcp-session-id", &session)], CUT);
    assert_eq!(response.status, 200, "{response:?}");
    assert!(response.body.contains("cut \u{fffd}"), "{response:?}");
}

#[test]
fn requests_that_cannot_be_read_are_answered_over_stdio() {
    let place = place();
    let mut client = Client::start(&place, "p");
    for (line, id) in unreadable() {
        client.send_line(&line);
        let answer = client.answer(id);
        assert_eq!(answer["error"]["code"], -32700, "{answer}");
    }
    client.send_line(CUT);
    let answer = client.answer(39);
    assert_eq!(answer["result"]["content"][0]["text"], "cut \u{fffd}", "{answer}");
}

#[test]
fn what_there_is_not_is_not_found() {
    let place = place();
    let host = Http::start(&place, "p", &[]);
    let session = host.session("/mcp", &[]);
    for (method, mut params) in absent() {
        let answer = host.request("/mcp", &session, method, params.clone());
        assert_eq!(answer["error"]["code"], -32601, "{method}: {answer}");
        params["_meta"] = json!({
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
            "io.modelcontextprotocol/clientCapabilities": {},
        });
        let name = params
            .get("name")
            .or_else(|| params.get("uri"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        let mut headers = vec![("mcp-method", method), ("mcp-protocol-version", "2026-07-28")];
        if !name.is_empty() {
            headers.push(("mcp-name", &name));
        }
        let (status, _, body) = host.post("/mcp", &message(9, method, params), &headers);
        let answer: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{method}: {body}"));
        assert_eq!((status, &answer["error"]["code"]), (404, &json!(-32601)), "{method}: {body}");
        assert_eq!(answer["id"], 9, "{method}: {body}");
    }
}

#[test]
fn what_sessions_know_and_2026_does_not_is_not_found_whatever_its_parameters() {
    let place = Place::with("[presets.p]\ngates.shelf = {}\n", &["shelf"]);
    let host = Http::start(&place, "p", &[]);
    let session = host.session("/mcp", &[]);
    for (method, params) in [("ping", json!({})), ("logging/setLevel", json!({"level": "debug"}))] {
        assert_eq!(host.request("/mcp", &session, method, params)["result"], json!({}), "{method}");
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    for (method, params) in [
        ("initialize", json!({"_meta": meta})),
        ("ping", json!({"_meta": meta})),
        ("logging/setLevel", json!({"_meta": meta})),
        ("logging/setLevel", json!({"_meta": meta, "level": "debug"})),
        ("resources/subscribe", json!({"_meta": meta})),
        ("resources/unsubscribe", json!({"_meta": meta})),
    ] {
        let headers = [("mcp-method", method), ("mcp-protocol-version", "2026-07-28")];
        let (status, _, body) = host.post("/mcp", &message(9, method, params), &headers);
        assert_eq!(status, 404, "{method}: {body}");
        assert!(body.contains("-32601"), "{method}: {body}");
    }
}

#[test]
fn over_stdio_it_is_the_same() {
    let place = place();
    let mut client = Client::start(&place, "p");
    for (method, params) in absent() {
        assert_eq!(client.request(method, params)["error"]["code"], -32601, "{method}");
    }
    for line in [
        "{\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"tools/list\"}",
        "{\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"tools/list\"}",
        "[{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"ping\"}]",
    ] {
        client.send_line(line);
    }
    assert_eq!(client.tools(), ["big", "echo"]);
    let errors: Vec<_> =
        client.notifications.iter().map(|m| (m["id"].clone(), m["error"]["code"].clone())).collect();
    assert_eq!(
        errors,
        [(Value::Null, json!(-32600)), (json!(1.5), json!(-32600)), (Value::Null, json!(-32600))],
        "answers that belong to no request"
    );
}

#[test]
fn a_notification_may_come_before_everything_else() {
    let place = place();
    let mut client = Client::raw(&place, &["serve", "--preset", "p"], &[]);
    for method in ["notifications/initialized", "notifications/cancelled", "notifications/of_tomorrow"] {
        client.send(&json!({"jsonrpc": "2.0", "method": method, "params": {"requestId": 5}}));
    }
    client.send(&json!({"jsonrpc": "2.0", "id": 99, "result": {}}));
    assert_eq!(client.request("ping", json!({}))["result"], json!({}));
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
    client.initialize("2025-11-25");
    assert_eq!(client.tools(), ["big", "echo"]);
    assert_eq!(client.close(), Some(0));
}
