//! Features between a client and the servers behind the host: interfaces, roots, log messages, and changes of lists and
//! resources. They arrive as if the client were connected to the server.

use std::time::Instant;

use serde_json::{Value, json};

use super::{Listening, child, showing};
use crate::support::{Client, Place, host::PATIENCE};

fn options(era: &str, says: &str) -> [String; 3] {
    ["features=yes".into(), format!("era={era}"), format!("says={says}")]
}

fn block(name: &str, era: &str) -> String {
    let options = options(era, name);
    child(name, &options.each_ref().map(String::as_str), "")
}

fn client(place: &Place, capabilities: Value) -> Client {
    let mut client = Client::raw(place, &["serve", "--preset", "all"], &[]);
    client.initialize_with("2025-11-25", capabilities);
    client
}

fn with_apps() -> Value {
    json!({"extensions": {"io.modelcontextprotocol/ui": {"mimeTypes": ["text/html;profile=mcp-app"]}}})
}

fn tool(client: &mut Client, name: &str) -> Value {
    let listed = client.request("tools/list", json!({}))["result"]["tools"].clone();
    let tools = listed.as_array().expect("tools").iter();
    tools.into_iter().find(|tool| tool["name"] == name).cloned().unwrap_or_default()
}

/// Waits for a notification of this kind.
fn notification(client: &mut Client, method: &str) -> Value {
    loop {
        if let Some(place) = client.notifications.iter().position(|one| one["method"] == method) {
            return client.notifications.remove(place)["params"].clone();
        }
        let message = client.next_message();
        client.keep(message);
    }
}

#[test]
fn interfaces_at_the_same_address_of_two_servers_are_different() {
    for era in ["old", "new"] {
        let place = showing(&["a", "b"], &(block("a", era) + &block("b", era)));
        let mut plain = client(&place, json!({}));
        plain.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "b__show"));
        assert_eq!(
            tool(&mut plain, "a__show")["_meta"],
            json!(null),
            "only offered if a client has interfaces"
        );
        assert_eq!(plain.close(), Some(0));

        let mut client = client(&place, with_apps());
        for server in ["a", "b"] {
            assert_eq!(client.text(&format!("{server}__show"), json!({})), "shown");
        }
        client.wait_for_tools(PATIENCE, |tools| {
            ["a__refresh", "b__refresh"].iter().all(|name| tools.iter().any(|tool| tool == name))
        });
        let csp = json!({"ui": {"csp": {"connectDomains": ["https://example.com"]}}});
        let resources = client.request("resources/list", json!({}))["result"]["resources"].clone();
        for server in ["a", "b"] {
            let uri = format!("ui://server/{server}/view/index.html");
            let expected = json!({"ui": {"resourceUri": uri}, "ui/resourceUri": uri});
            assert_eq!(tool(&mut client, &format!("{server}__show"))["_meta"], expected, "{era}");
            let listed = resources.as_array().expect("resources").iter();
            let listed: Vec<_> = listed.filter(|resource| resource["uri"] == uri).collect();
            assert_eq!((listed.len(), &listed[0]["_meta"]), (1, &csp), "{era}: {resources}");
            let read = client.request("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone();
            assert_eq!((&read["uri"], &read["_meta"]), (&json!(uri), &csp), "{era}: {read}");
            assert_eq!(read["mimeType"], "text/html;profile=mcp-app");
            assert_eq!(read["text"], format!("<p>{server}</p>"), "{era}");
            let own = client.text(&format!("{server}__refresh"), json!({}));
            assert_eq!(own, format!("refreshed {server}"));
        }
        let annotated = resources.as_array().expect("resources").iter();
        assert!(annotated.into_iter().any(|one| one["annotations"]["priority"] == 0.5), "{resources}");
        // An interface knows only its server's own names.
        let either = client.call("refresh", json!({})).to_string();
        assert!(
            either.contains("several servers have a tool 'refresh': a__refresh and b__refresh"),
            "{either}"
        );
        assert!(client.request("resources/read", json!({"uri": "memo://1"}))["error"].is_object());
    }
}

#[test]
fn an_interface_uses_the_own_names_of_its_server() {
    let place = showing(&["a"], &block("a", "old"));
    let mut client = client(&place, with_apps());
    client.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "a__refresh"));
    assert_eq!(client.text("refresh", json!({})), "refreshed a");
    let read = client.request("resources/read", json!({"uri": "memo://1"}));
    assert_eq!(read["result"]["contents"][0]["text"], "a memo", "{read}");
    assert_eq!(client.close(), Some(0));

    // The server has listed interfaces, and a client without them does not change that.
    let mut plain = self::client(&place, json!({}));
    assert_eq!(plain.text("a__show", json!({})), "shown");
    assert_ne!(tool(&mut plain, "a__show")["_meta"], json!(null));
    assert_eq!(tool(&mut plain, "a__refresh"), json!(null), "no model may call it");
    assert!(plain.call("refresh", json!({})).to_string().contains("Unknown tool"));
}

fn answer(client: &mut Client, question: &Value, result: Value) {
    client.send(&json!({"jsonrpc": "2.0", "id": question["id"], "result": result}));
}

#[test]
fn servers_get_the_roots_of_the_client() {
    let place = Place::with("", &[]);
    let record = place.path("record").display().to_string();
    let old = child("old", &["features=yes", &format!("record={record}")], "");
    place.write("presets.toml", old + &block("new", "new") + "[presets.all]\nservers = [\"old\", \"new\"]\n");
    let roots = json!([{"uri": "file:///projects/one", "name": "One"}, {"uri": "file:///projects/two"}]);
    let mut client = client(&place, json!({"roots": {"listChanged": true}, "elicitation": {}}));
    for server in ["old", "new"] {
        let call = client.ask("tools/call", json!({"name": format!("{server}__roots"), "arguments": {}}));
        // The second server gets the copy of the session.
        if server == "old" {
            let question = client.next_question();
            assert_eq!(question["method"], "roots/list", "{question}");
            answer(&mut client, &question, json!({"roots": roots}));
        } else {
            for (asked, x) in [("One?", "1"), ("Two?", "2")] {
                let question = client.next_question();
                assert!(question.to_string().contains(asked), "{question}");
                answer(&mut client, &question, json!({"action": "accept", "content": {"x": x}}));
            }
        }
        let text =
            client.answer(call)["result"]["content"][0]["text"].as_str().unwrap_or_default().to_owned();
        let (listed, rest) = text.split_once(';').unwrap_or((&text, ""));
        assert_eq!(serde_json::from_str::<Value>(listed).ok(), Some(roots.clone()), "{server}: {text}");
        assert_eq!(rest, if server == "new" { " \"1\" \"2\"" } else { "" });
    }
    client.send(&json!({"jsonrpc": "2.0", "method": "notifications/roots/list_changed"}));
    let question = client.next_question();
    assert_eq!(question["method"], "roots/list", "{question}");
    answer(&mut client, &question, json!({"roots": [{"uri": "file:///elsewhere"}]}));
    let began = Instant::now();
    while !std::fs::read_to_string(&record)
        .unwrap_or_default()
        .contains("roots [{\"uri\":\"file:///elsewhere\"}]")
    {
        assert!(began.elapsed() < PATIENCE, "{:?}", std::fs::read_to_string(&record));
        std::thread::yield_now();
    }
}

#[test]
fn several_questions_of_a_server_reach_a_new_client_at_once() {
    let place = showing(&["new"], &block("new", "new"));
    let mut client = Client::raw(&place, &["serve", "--preset", "all"], &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"roots": {}, "elicitation": {"form": {}}},
    });
    let mut params = json!({"name": "new__roots", "arguments": {}, "_meta": meta});
    let asked = client.request("tools/call", params.clone())["result"].clone();
    assert_eq!(asked["inputRequests"]["roots"]["method"], "roots/list", "{asked}");
    params["requestState"] = asked["requestState"].clone();
    params["inputResponses"] = json!({"roots": {"roots": [{"uri": "file:///x"}]}});
    let asked = client.request("tools/call", params.clone())["result"].clone();
    assert_eq!(asked["inputRequests"].as_object().map(serde_json::Map::len), Some(2), "{asked}");
    params["requestState"] = asked["requestState"].clone();
    let accept = |x: &str| json!({"action": "accept", "content": {"x": x}});
    params["inputResponses"] = json!({"1": accept("1"), "2": accept("2")});
    let text = client.request("tools/call", params)["result"]["content"][0]["text"].clone();
    assert_eq!(text, "[{\"uri\":\"file:///x\"}]; \"1\" \"2\"");
}

#[test]
fn log_messages_of_servers_reach_the_client_that_wants_them() {
    let options = options("new", "");
    let web = Listening::start("http", &options.each_ref().map(String::as_str));
    let blocks = block("old", "old") + &block("new", "new") + &web.block("web", "http");
    let place = showing(&["old", "new", "web"], &blocks);
    let mut client = Client::start(&place, "all");
    client.text("old__log", json!({}));
    assert_eq!(client.request("logging/setLevel", json!({"level": "warning"}))["result"], json!({}));
    for (server, asked) in [("old", "null"), ("new", "\"warning\""), ("web", "\"warning\"")] {
        let text = client.text(&format!("{server}__log"), json!({}));
        assert_eq!(text, format!("logged, asked for {asked}"));
        let message = notification(&mut client, "notifications/message");
        let expected =
            json!({"level": "warning", "logger": format!("{server}/disk"), "data": {"level": "warning"}});
        assert_eq!(message, expected);
    }
    assert!(client.notifications.iter().all(|one| one["method"] != "notifications/message"), "one each");
}

#[test]
fn changes_of_resources_and_prompts_of_servers_reach_the_client() {
    let options = options("new", "");
    let web = Listening::start("http", &options.each_ref().map(String::as_str));
    for block in [block("s", "old"), block("s", "new"), web.block("s", "http")] {
        let place = showing(&["s"], &block);
        let mut client = Client::start(&place, "all");
        client.wait_for_tools(PATIENCE, |tools| tools.iter().any(|tool| tool == "s__change"));
        assert_eq!(client.request("prompts/list", json!({}))["result"]["prompts"][0]["name"], "s__old");
        let uri = "gatehouse://server/s/memo://1";
        let count = |client: &mut Client| {
            let listed = client.request("resources/list", json!({}))["result"]["resources"].clone();
            listed.as_array().map(Vec::len)
        };
        assert_eq!(count(&mut client), Some(2));
        assert_eq!(
            client.request("resources/subscribe", json!({"uri": uri}))["result"],
            json!({}),
            "{block}"
        );
        client.notifications.clear();
        assert_eq!(client.text("s__change", json!({})), "changed");
        notification(&mut client, "notifications/resources/list_changed");
        notification(&mut client, "notifications/prompts/list_changed");
        assert_eq!(notification(&mut client, "notifications/resources/updated")["uri"], uri);
        assert_eq!(count(&mut client), Some(3));
        let prompts = client.request("prompts/list", json!({}))["result"]["prompts"].clone();
        assert_eq!(prompts.as_array().map(Vec::len), Some(2), "{prompts}");
    }
}

#[test]
fn a_gate_has_an_interface() {
    let place = Place::with("[presets.all]\ngates.asker = {}\n", &["asker"]);
    let mut client = client(&place, with_apps());
    let uri = "ui://asker/view.html";
    assert_eq!(tool(&mut client, "show")["_meta"], json!({"ui": {"resourceUri": uri}}));
    let read = client.request("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone();
    let csp = json!({"ui": {"csp": {"connectDomains": ["https://example.com"]}}});
    assert_eq!((&read["mimeType"], &read["_meta"]), (&json!("text/html;profile=mcp-app"), &csp), "{read}");
}
