//! Gates that ask the user or the client's model during a call, in both protocol eras, over stdio and HTTP.

mod approvals;
mod clients;
mod elsewhere;
mod operator;

use std::io::{BufRead, BufReader, Write};

use serde_json::{Value, json};

use crate::support::{
    Client, Http, Place,
    session::{events, message},
    text_of,
};

const PRESETS: &str = "[gates.asker]\ngrants = [\"elicitation\", \"sampling\"]\n\
    [presets.all]\ngates.asker = {}\ngates.echo = {}\n";

fn place() -> Place {
    Place::with(PRESETS, &["asker", "echo"])
}

fn client(place: &Place, capabilities: Value) -> Client {
    let mut client = Client::raw(place, &["serve", "--preset", "all"], &[]);
    client.initialize_with("2025-11-25", capabilities);
    client
}

/// Returns call parameters as MCP 2026-07-28 sends them: capabilities in `_meta` instead of a session.
fn stateless(tool: &str, arguments: Value) -> Value {
    json!({"name": tool, "arguments": arguments, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"elicitation": {"form": {}, "url": {}}, "sampling": {}},
    }})
}

fn accept(n: u64) -> Value {
    json!({"action": "accept", "content": {"n": n}})
}

#[test]
fn a_gate_asks_a_person_over_pipes() {
    let place = place();
    let mut client = client(&place, json!({"elicitation": {"form": {}, "url": {}}, "sampling": {}}));
    let call =
        client.ask("tools/call", json!({"name": "ask", "arguments": {"message": "How many?", "times": 3}}));
    for answer in [accept(7), json!({"action": "decline"}), json!({"action": "cancel"})] {
        let asked = client.next_message();
        assert_eq!(asked["method"], "elicitation/create", "{asked}");
        assert_eq!(asked["params"]["message"], "Gate 'asker' asks: How many?");
        assert_eq!(client.text("echo", json!({"text": "meanwhile"})), "meanwhile");
        client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
    }
    assert_eq!(text_of(&client.answer(call)["result"]), "{\"n\":7} declined cancelled");

    let call = client
        .ask("tools/call", json!({"name": "open", "arguments": {"url": "https://x.example/login?a=b"}}));
    let asked = client.next_message();
    assert_eq!(
        (&asked["params"]["mode"], &asked["params"]["url"]),
        (&json!("url"), &json!("https://x.example/login?a=b"))
    );
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": {"action": "accept"}}));
    assert_eq!(text_of(&client.answer(call)["result"]), "Consent::Accepted");
    assert!(client.fails("open", json!({"url": "http://x.example/"})).contains("must use https"));

    let call = client.ask("tools/call", json!({"name": "ask_model", "arguments": {"prompt": "Why?"}}));
    let asked = client.next_message();
    assert_eq!(asked["method"], "sampling/createMessage", "{asked}");
    assert_eq!(asked["params"]["messages"][0]["content"]["text"], "Why?");
    let answer =
        json!({"role": "assistant", "model": "m-1", "content": {"type": "text", "text": "Because."}});
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": answer}));
    assert_eq!(text_of(&client.answer(call)["result"]), "m-1: Because.");
    let known = client.text("client", json!({}));
    assert!(
        known.contains("\"test\"") && known.contains("forms: true") && known.contains("2025-11-25"),
        "{known}"
    );
}

#[test]
fn the_time_of_a_call_stands_still_while_a_person_thinks() {
    let limits = "limits = { time = \"500 ms\" }\n[gates.vices]\nlimits = { time = \"1 s\" }\n[presets.all]\ngates.vices = {}";
    let presets = PRESETS.replace("[presets.all]", limits);
    let place = Place::with(&presets, &["asker", "echo", "vices"]);
    let mut client = client(&place, json!({"elicitation": {}}));
    let call = client.ask("tools/call", json!({"name": "ask", "arguments": {"message": "How many?"}}));
    let asked = client.next_message();
    // Runs twice as long as the time limit of the gate that asks.
    assert!(client.fails("vice_loop", json!({})).contains("was stopped after 1 s"));
    client.send(&json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(1)}));
    assert_eq!(text_of(&client.answer(call)["result"]), "{\"n\":1}");
}

#[test]
fn an_error_names_what_is_not_granted_or_cannot_be_shown() {
    let place = Place::with(&PRESETS.replace("\"elicitation\", ", ""), &["asker", "echo"]);
    let mut asked = client(&place, json!({"elicitation": {}}));
    let denied = asked.fails("ask", json!({"message": "How many?"}));
    assert!(denied.contains("add \"elicitation\" to grants under [gates.asker]"), "{denied}");
    assert!(asked.fails("ask_model", json!({"prompt": "Why?"})).contains("cannot ask its model"));
    let place = self::place();
    let mut mute = client(&place, json!({}));
    let cannot = mute.fails("ask", json!({"message": "How many?"}));
    assert!(cannot.contains("the client 'test' cannot show a form to the user"), "{cannot}");
    let mut able = client(&place, json!({"elicitation": {}}));
    let nested = json!({"type": "object", "properties": {"a": {"type": "object"}}});
    let refused = able.fails("ask", json!({"message": "How many?", "form": nested}));
    assert!(refused.contains("the field 'a' of its form"), "{refused}");
    let call = place.run(&["call", "ask", "{\"message\": \"How many?\"}", "--preset", "all"]);
    let output = format!("{}{}", call.stdout(), call.stderr());
    assert!(output.contains("the caller is not an MCP client"), "{output}");
}

#[test]
fn messages_go_to_clients_that_asked_for_them() {
    let place = place();
    let mut client = client(&place, json!({}));
    assert_eq!(client.text("tell", json!({})), "told");
    assert!(client.notifications.is_empty(), "{:?}", client.notifications);
    assert_eq!(client.request("logging/setLevel", json!({"level": "info"}))["result"], json!({}));
    assert_eq!(client.text("tell", json!({})), "told");
    let expected = json!({"level": "warning", "logger": "asker", "data": {"large": true}});
    assert_eq!(
        client.notifications.iter().map(|notification| &notification["params"]).collect::<Vec<_>>(),
        [&expected]
    );
}

#[test]
fn a_session_is_asked_on_the_stream_of_its_call() {
    let place = place();
    let host = Http::start(&place, "all", &[]);
    let who = json!({"name": "test", "version": "1"});
    let params =
        json!({"protocolVersion": "2025-11-25", "capabilities": {"elicitation": {}}, "clientInfo": who});
    let (_, answered, _) = host.post("/mcp", &message(1, "initialize", params), &[]);
    let session = answered.get("mcp-session-id").expect("a session").clone();
    let with = [("mcp-session-id", session.as_str())];
    host.post("/mcp", &json!({"jsonrpc": "2.0", "method": "notifications/initialized"}), &with);
    let call = message(2, "tools/call", json!({"name": "ask", "arguments": {"message": "How many?"}}));
    let mut stream = host.connect();
    stream
        .write_all(host.bare("POST", "/mcp", &with, &call.to_string()).as_bytes())
        .expect("a host that reads");
    let mut lines = BufReader::new(stream).lines().map_while(Result::ok);
    let mut next = || {
        let data = lines.by_ref().find_map(|line| {
            Some(line.strip_prefix("data:")?.trim().to_owned()).filter(|data| !data.is_empty())
        });
        serde_json::from_str::<Value>(&data.expect("an event")).expect("JSON")
    };
    let asked = next();
    assert_eq!(asked["method"], "elicitation/create", "{asked}");
    let (status, ..) =
        host.post("/mcp", &json!({"jsonrpc": "2.0", "id": asked["id"], "result": accept(3)}), &with);
    assert_eq!(status, 202);
    assert_eq!(text_of(&next()["result"]), "{\"n\":3}");
}

#[test]
fn a_parked_call_goes_on_for_its_own_caller_alone() {
    let place = place();
    let host = Http::start(&place, "all", &[]);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "ask")];
    let post = |params: Value| {
        let (_, _, body) = host.post("/mcp", &message(1, "tools/call", params), &headers);
        let last = events(&body).last().map(|event| event.message());
        last.unwrap_or_else(|| serde_json::from_str(&body).unwrap_or_else(|_| panic!("no answer: {body}")))
    };
    let arguments = json!({"message": "How many?", "times": 2});
    let mut params = stateless("ask", arguments);
    let mut response = post(params.clone());
    for n in 1..=2 {
        assert_eq!(response["result"]["resultType"], "input_required", "{response}");
        params["requestState"] = response["result"]["requestState"].clone();
        params["inputResponses"] = json!({"1": accept(n)});
        let mut other = params.clone();
        other["arguments"]["times"] = json!(5);
        assert_eq!(post(other)["error"]["code"], -32602);
        response = post(params.clone());
    }
    assert_eq!(text_of(&response["result"]), "{\"n\":1} {\"n\":2}", "{response}");
    let again = post(params);
    assert!(
        again["error"]["message"].as_str().is_some_and(|reason| reason.contains("Call the tool again")),
        "{again}"
    );
}
