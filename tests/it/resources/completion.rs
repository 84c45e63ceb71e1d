//! Completion of prompt and template arguments, by gates and by servers.

use serde_json::{Value, json};

use super::library;
use crate::support::{Client, Http, Place, place::binary, session::message};

fn complete(client: &mut Client, target: Value, argument: &str, typed: &str) -> Value {
    let argument = json!({"name": argument, "value": typed});
    client.request("completion/complete", json!({"ref": target, "argument": argument}))
}

fn prompt(name: &str) -> Value {
    json!({"type": "ref/prompt", "name": name})
}

fn values(reply: &Value) -> Vec<&str> {
    let values = reply["result"]["completion"]["values"].as_array().unwrap_or_else(|| panic!("{reply}"));
    values.iter().filter_map(Value::as_str).collect()
}

#[test]
fn arguments_and_templates_are_completed_by_the_gate_that_has_them() {
    let place = library();
    let mut client = Client::start(&place, "library");
    let reply = complete(&mut client, prompt("review_fiction"), "book", "");
    let expected = json!({"values": ["0", "1", "2"], "total": 3, "hasMore": false});
    assert_eq!(reply["result"]["completion"], expected, "{reply}");
    let reply = complete(&mut client, prompt("review_poetry"), "book", "1");
    assert_eq!(values(&reply), ["1"]);
    let template = json!({"type": "ref/resource", "uri": "test://poetry/{id}"});
    assert_eq!(values(&complete(&mut client, template.clone(), "id", "")), ["0", "1"]);
    let many = complete(&mut client, prompt("review_fiction"), "style", "x");
    let (shown, completion) = (values(&many).len(), &many["result"]["completion"]);
    assert_eq!((shown, &completion["total"], &completion["hasMore"]), (100, &json!(250), &json!(true)));
    let asked = json!({"ref": prompt("review_fiction"), "argument": {"name": "book", "value": "echo"},
        "context": {"arguments": {"style": "long"}}});
    let reply = client.request("completion/complete", asked);
    assert_eq!(values(&reply), ["review_fiction [(\"style\", \"long\")]"]);
}

#[test]
fn what_is_missing_is_reported_and_nobody_waits_for_a_gate_that_never_ends() {
    let place = library();
    let mut client = Client::start(&place, "library");
    let fiction = || prompt("review_fiction");
    for (target, argument, typed, reason) in [
        (prompt("review_fction"), "book", "", "Did you mean 'review_fiction'?"),
        (fiction(), "bok", "", "prompt 'review_fiction' has no argument 'bok'. Did you mean 'book'?"),
        (json!({"type": "ref/resource", "uri": "test://prose/{id}"}), "id", "", "Unknown resource template"),
        (json!({"type": "ref/resource", "uri": "test://poetry/{id}"}), "di", "", "has no argument 'di'"),
        (fiction(), "book", &"x".repeat(5_000), "the limits are 4096 bytes per value"),
    ] {
        let reply = complete(&mut client, target, argument, typed);
        assert_eq!(reply["error"]["code"], -32602, "{reply}");
        assert!(
            reply["error"]["message"].as_str().is_some_and(|message| message.contains(reason)),
            "{reply}"
        );
    }
    for (typed, reason) in [("loop", "was stopped after 1 s"), ("trap", "the shelf fell over")] {
        let reply = complete(&mut client, fiction(), "book", typed);
        assert!(
            reply["error"]["message"].as_str().is_some_and(|message| message.contains(reason)),
            "{reply}"
        );
    }
    assert_eq!(values(&complete(&mut client, fiction(), "book", "2")), ["2"]);
    let mut plain = Client::start(&place, "plain");
    assert_eq!(complete(&mut plain, fiction(), "book", "")["error"]["code"], -32601);
    let odd = client.request("completion/complete", json!({"ref": {"type": "ref/tool"}}));
    assert_eq!(odd["error"]["code"], -32602, "{odd}");
}

#[test]
fn prompts_and_templates_of_a_server_are_completed_by_it() {
    let inner = library();
    let (command, config, state) = (binary(), inner.path("presets.toml"), inner.path("state"));
    let place = Place::with(
        &format!(
            "[servers.far]\ncommand = {command:?}\nargs = [\"serve\", \"--preset\", \"library\", \"--config\", {config:?}]\n\
             env = {{ GATEHOUSE_STATE = {state:?} }}\n[presets.all]\nservers = [\"far\"]\n"
        ),
        &[],
    );
    let mut client = Client::start(&place, "all");
    assert_eq!(values(&complete(&mut client, prompt("far__review_poetry"), "book", "")), ["0", "1"]);
    let own = json!({"type": "ref/resource", "uri": "gatehouse://server/far/test://poetry/{id}"});
    assert_eq!(values(&complete(&mut client, own, "id", "0")), ["0"]);
    let family = json!({"type": "ref/resource", "uri": "gatehouse://server/far/{+uri}"});
    assert!(values(&complete(&mut client, family, "uri", "x")).is_empty());
}

#[test]
fn clients_without_sessions_are_answered_too() {
    let place = library();
    let host = Http::start(&place, "library", &[]);
    let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "completion/complete")];
    let params = json!({"ref": prompt("review_poetry"), "argument": {"name": "book", "value": ""}, "_meta": {
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    }});
    let (_, _, body) = host.post("/mcp", &message(1, "completion/complete", params), &headers);
    assert!(body.contains("\"values\":[\"0\",\"1\"]"), "{body}");
}
