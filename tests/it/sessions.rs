//! Sessions over HTTP: they outlive connections and the host, abandoned ones do not block new ones, and each protocol
//! version gets only its own features.

use serde_json::{Value, json};

use crate::support::{
    Http, Place,
    session::{events, message, reply_to},
};

const PRESETS: &str = "[gates.vices]\nlimits = { time = \"500 ms\", concurrency = 1 }\n\
    [presets.p]\ngates.vices = {}\ngates.echo = {}\n";

fn host() -> (Place, Http) {
    let place = Place::with(PRESETS, &["vices", "echo"]);
    let host = Http::start(&place, "p", &[]);
    (place, host)
}

fn call(id: u64, tool: &str) -> Value {
    let arguments = if tool == "echo" { json!({"text": "here"}) } else { json!({}) };
    message(id, "tools/call", json!({"name": tool, "arguments": arguments}))
}

fn echo(host: &Http, session: &str) -> Value {
    let params = json!({"name": "echo", "arguments": {"text": "here"}});
    host.request("/mcp", session, "tools/call", params)["result"]["content"][0]["text"].clone()
}

fn clients(place: &Place) -> usize {
    let status = place.run(&["status", "--json"]).json();
    status["hosts"][0]["clients"].as_array().map_or(0, Vec::len)
}

#[test]
fn sessions_that_clients_left_shut_nobody_out() {
    let (_place, host) = host();
    let mine = host.session("/mcp", &[]);
    let changes = host.events("/mcp", &mine);
    let (first, _) = host.initialize("/mcp", "2025-11-25");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| (0..150).for_each(|_| drop(host.initialize("/mcp", "2025-06-18"))));
        }
    });
    assert_eq!(echo(&host, &host.session("/mcp", &[])), "here", "there is room for another");
    assert_eq!(echo(&host, &mine), "here", "a session in use remains");
    assert_eq!(echo(&host, &first), "here", "an unused session can be resumed");
    let meta = json!({"_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let headers = [("mcp-method", "tools/list"), ("mcp-protocol-version", "2026-07-28")];
    let (status, _, body) = host.post("/mcp", &message(1, "tools/list", meta), &headers);
    assert_eq!(status, 200, "stateless requests need no room: {body}");
    drop(changes);
}

#[test]
fn a_client_that_is_ready_twice_is_one_client() {
    let (place, host) = host();
    let session = host.session("/mcp", &[]);
    for _ in 0..3 {
        let ready = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        assert_eq!(host.post("/mcp", &ready, &[("mcp-session-id", &session)]).0, 202);
    }
    // The host handles messages of a session in order, so the answer follows the earlier notifications.
    assert_eq!(echo(&host, &session), "here");
    let other = host.session("/mcp", &[]);
    assert_eq!(echo(&host, &other), "here");
    let mut seen = clients(&place);
    while seen < 2 {
        seen = clients(&place);
    }
    assert_eq!(seen, 2);
}

#[test]
fn a_session_goes_on_when_its_host_was_restarted() {
    let (place, host) = host();
    let session = host.session("/mcp/p/p", &[]);
    let asked = host.break_off("/mcp/p/p", &session, &call(41, "vice_sleep"));
    let host = host.killed_and_restarted(&place, "p");

    // Requests that arrive together find one restored session.
    std::thread::scope(|scope| {
        for id in 100..108 {
            let (host, session) = (&host, session.as_str());
            scope.spawn(move || {
                let ping = message(id, "ping", json!({}));
                let (status, _, body) = host.post("/mcp/p/p", &ping, &[("mcp-session-id", session)]);
                assert_eq!(status, 200, "{body}");
                assert_eq!(reply_to(id, &body)["result"], json!({}));
            });
        }
    });
    let answer = host.request("/mcp/p/p", &session, "tools/list", json!({}));
    assert!(answer["result"]["tools"].as_array().is_some_and(|tools| !tools.is_empty()), "{answer}");
    // The call ended with its host; the client learns that when it resumes the stream.
    let lost = host.resume("/mcp/p/p", &session, &asked);
    assert_eq!((lost.len(), &lost[0].message()["id"]), (1, &json!(41)), "{lost:?}");
    assert!(
        lost[0].message()["error"]["message"].as_str().is_some_and(|reason| reason.contains("Repeat the"))
    );
    // The lists may have changed between the two hosts, so the client is notified.
    let changes = host.events("/mcp/p/p", &session);
    assert_eq!(changes.next()["method"], "notifications/tools/list_changed");

    // A session that its client ended stays ended, and made-up ids are unknown.
    let ended = host.send("DELETE", "/mcp/p/p", &[("mcp-session-id", &session)], "");
    assert_eq!(ended.status, 204, "{ended:?}");
    let made_up =
        ["nonsense", "0a1b2c3d-0000-4000-8000-0123456789ab", &session.replace("2025-11-25", "2026-07-28")];
    for id in [&[session.as_str()][..], &made_up[..]].concat() {
        let (status, _, body) = host.post("/mcp/p/p", &call(1, "echo"), &[("mcp-session-id", id)]);
        assert_eq!(status, 404, "{id}: {body}");
        assert_eq!(host.send("DELETE", "/mcp/p/p", &[("mcp-session-id", id)], "").status, 404, "{id}");
    }
}

#[test]
fn a_session_opens_no_door() {
    let token = "0123456789abcdef0123456789abcdef";
    let place = Place::with(PRESETS, &["vices", "echo"]);
    let host = Http::start(&place, "p", &[("GATEHOUSE_TOKEN", token)]);
    let bearer = format!("Bearer {token}");
    let session = host.session("/mcp", &[("authorization", bearer.as_str())]);
    assert_eq!(host.post("/mcp", &call(1, "echo"), &[("mcp-session-id", &session)]).0, 401);
    let with = [("mcp-session-id", session.as_str()), ("authorization", bearer.as_str())];
    assert_eq!(host.post("/mcp/p/q", &call(1, "echo"), &with).0, 404, "no such preset");
}

#[test]
fn a_reply_that_found_nobody_waits_for_its_client() {
    let (_place, host) = host();
    let session = host.session("/mcp", &[]);
    let mut asked = host.break_off("/mcp", &session, &call(41, "vice_sleep"));
    assert_eq!(asked.data, "", "the stream gets its id before any message");
    // Concurrency is 1, so this is answered after the first call ended.
    let other = host.session("/mcp", &[]);
    let params = json!({"name": "well_behaved", "arguments": {}});
    while host.request("/mcp", &other, "tools/call", params.clone())["result"]["isError"] == true {}
    for _ in 0..2 {
        let rest = host.resume("/mcp", &session, &asked);
        assert_eq!((rest.len(), &rest[0].message()["id"]), (1, &json!(41)), "{rest:?}");
        assert!(rest[0].data.contains("stopped after 0.5 s"), "{rest:?}");
        assert_eq!(host.resume("/mcp", &session, &rest[0]), [], "there is nothing after it");
    }
    let strangers = host.resume("/mcp", &other, &asked);
    assert!(strangers[0].message()["error"].is_object(), "another session cannot read it: {strangers:?}");
    let id = asked.id.take().expect("an id");
    let mut parts: Vec<&str> = id.split('.').collect();
    parts[2] = "18446744073709551615";
    asked.id = Some(parts.join("."));
    assert_eq!(host.resume("/mcp", &session, &asked), [], "there is nothing after the largest number");
}

#[test]
fn a_call_goes_on_while_its_client_is_away() {
    let (_place, host) = host();
    let session = host.session("/mcp", &[]);
    let asked = host.break_off("/mcp", &session, &call(41, "vice_sleep"));
    // The answer arrives whether or not the call still runs.
    let rest = host.resume("/mcp", &session, &asked);
    assert_eq!(rest.last().expect("an event").message()["id"], 41, "{rest:?}");
}

#[test]
fn streams_are_named_first_for_those_who_know_what_it_means() {
    let (_place, host) = host();
    for version in ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"] {
        let (session, opened) = host.initialize("/mcp", version);
        assert!(opened.iter().all(|event| !event.data.is_empty()), "{version}: {opened:?}");
        let with = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", version)];
        let (_, _, body) = host.post("/mcp", &call(2, "vice_sleep"), &with);
        let streamed = events(&body);
        let named = streamed.iter().filter(|event| event.data.is_empty()).count();
        assert_eq!(named, usize::from(version == "2025-11-25"), "{version}: {body}");
        assert_eq!(streamed.last().expect("an event").message()["id"], 2, "{version}");
        assert!(streamed.iter().all(|event| event.id.is_some()), "{version}: {body}");
    }
}

#[test]
fn a_request_that_rmcp_refuses_does_not_run() {
    let (_place, host) = host();
    let session = host.session("/mcp", &[]);
    let mut both = call(5, "vice_sleep");
    both["result"] = Value::Null;
    let (status, _, body) = host.post("/mcp", &both, &[("mcp-session-id", &session)]);
    assert_eq!(status, 400, "it is a request and a reply: {body}");
    // The only place for calls of this gate is free.
    let params = json!({"name": "well_behaved", "arguments": {}});
    let answer = host.request("/mcp", &session, "tools/call", params);
    assert_eq!(answer["result"]["isError"], false, "{answer}");
}

#[test]
fn each_reply_goes_to_its_own_request_although_two_have_one_id() {
    let (_place, host) = host();
    let session = host.session("/mcp", &[]);
    let with = [("mcp-session-id", session.as_str())];
    // Until the host has handled `initialized`, rmcp runs the requests, and takes equal IDs for one request.
    while host.post("/mcp", &call(1, "echo"), &with).1["content-type"] != "application/json" {}
    let asked = host.break_off("/mcp", &session, &call(7, "vice_sleep"));
    assert_eq!(echo(&host, &session), "here", "with the same ID, while the first runs");
    let rest = host.resume("/mcp", &session, &asked);
    assert!(rest[0].data.contains("stopped after 0.5 s"), "{rest:?}");
}

#[test]
fn a_reply_is_plain_json_if_it_comes_soon_and_alone() {
    let place = Place::with("[presets.p]\ngates.asker = {}\n", &["asker"]);
    let host = Http::start(&place, "p", &[]);
    let tell = |id: u64| message(id, "tools/call", json!({"name": "tell", "arguments": {}}));
    for version in ["2025-03-26", "2025-06-18", "2025-11-25"] {
        let (session, _) = host.initialize("/mcp", version);
        let with = [("mcp-session-id", session.as_str()), ("mcp-protocol-version", version)];
        host.post("/mcp", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &with);
        // Until the host has handled `initialized`, rmcp runs the requests, and answers with a stream.
        let list = message(1, "tools/list", json!({}));
        while host.post("/mcp", &list, &with).1["content-type"] != "application/json" {}
        let level = message(2, "logging/setLevel", json!({"level": "info"}));
        for request in [tell(2), message(2, "tools/list", json!({})), level] {
            let (status, headers, body) = host.post("/mcp", &request, &with);
            assert_eq!((status, &*headers["content-type"]), (200, "application/json"), "{version}: {body}");
            assert_eq!(reply_to(2, &body)["error"], Value::Null, "{version}: {body}");
        }
        let (_, headers, body) = host.post("/mcp", &tell(3), &with);
        assert_eq!(headers["content-type"], "text/event-stream", "a log message comes first: {body}");
        let methods = events(&body).into_iter().filter(|event| !event.data.is_empty());
        let methods: Vec<Value> = methods.map(|event| event.message()["method"].clone()).collect();
        assert_eq!(methods, [json!("notifications/message"), Value::Null], "{version}: {body}");
        assert_eq!(reply_to(3, &body)["result"]["content"][0]["text"], "told");
    }
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let with =
        |tool| [("mcp-method", "tools/call"), ("mcp-name", tool), ("mcp-protocol-version", "2026-07-28")];
    let tell =
        |meta: &Value| message(4, "tools/call", json!({"name": "tell", "arguments": {}, "_meta": meta}));
    let (_, headers, body) = host.post("/mcp", &tell(&meta), &with("tell"));
    assert_eq!(headers["content-type"], "application/json", "{body}");
    assert_eq!(reply_to(4, &body)["result"]["content"][0]["text"], "told", "{body}");
    let (status, _, body) = host.post("/mcp", &tell(&meta), &with("ask"));
    assert_eq!((status, &reply_to(4, &body)["error"]["code"]), (400, &json!(-32020)), "another tool: {body}");
    let mut logged = meta;
    logged["io.modelcontextprotocol/logLevel"] = json!("info");
    let (_, headers, body) = host.post("/mcp", &tell(&logged), &with("tell"));
    assert_eq!(headers["content-type"], "text/event-stream", "{body}");
    assert_eq!(events(&body).len(), 2, "{body}");
}
