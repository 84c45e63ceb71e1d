//! Resources and prompts of gates over stdio and HTTP, with the official SDKs, and of misbehaving gates.

mod clients;
mod completion;

use serde_json::{Value, json};

use crate::support::{Client, Place, place::built};

/// Two gates with the same component, each with books and a prompt.
const PRESETS: &str = r#"
[gates.fiction]
limits = { time = "1 s" }

[presets.library]
gates.fiction = { shelf = "fiction" }
gates.poetry = { shelf = "poetry", books = 2 }

[presets.locked]
gates.fiction = { shelf = "fiction", locked = true }
gates.poetry = { shelf = "poetry", books = 2 }

[presets.plain]
gates.echo = {}

[presets.twice]
gates.fiction = { shelf = "same" }
gates.poetry = { shelf = "same" }
"#;

fn library() -> Place {
    let place = Place::with(PRESETS, &["echo"]);
    for gate in ["fiction", "poetry"] {
        place.write(&format!("gates/{gate}.wasm"), built("shelf"));
    }
    place
}

fn read(client: &mut Client, uri: &str) -> Value {
    client.request("resources/read", json!({"uri": uri}))
}

fn listed(client: &mut Client) -> Vec<String> {
    let reply = client.request("resources/list", json!({}));
    let resources = reply["result"]["resources"].as_array().unwrap_or_else(|| panic!("{reply}"));
    resources.iter().map(|resource| resource["uri"].as_str().expect("an address").to_owned()).collect()
}

#[test]
fn a_preset_declares_what_its_gates_have() {
    let place = library();
    let mut client = Client::raw(&place, &["serve", "--preset", "plain"], &[]);
    let result = client.initialize("2025-11-25");
    assert_eq!(result["capabilities"], json!({"logging": {}, "tools": {"listChanged": true}}));
    assert_eq!(client.request("resources/list", json!({}))["error"]["code"], -32601);
    let mut client = Client::raw(&place, &["serve", "--preset", "library"], &[]);
    let changes = json!({"listChanged": true});
    let result = client.initialize("2025-11-25");
    let resources = json!({"listChanged": true, "subscribe": true});
    assert_eq!(
        result["capabilities"],
        json!({"completions": {}, "logging": {}, "prompts": changes, "resources": resources, "tools": changes})
    );
    let first = &client.request("resources/list", json!({}))["result"]["resources"][0];
    let expected = json!({"uri": "test://fiction/0", "name": "book-0", "title": "Book 0", "mimeType": "text/plain", "size": 18});
    assert_eq!(*first, expected);
}

#[test]
fn a_gate_that_does_not_behave_ends_its_own_request_and_no_other() {
    let place = library();
    let mut client = Client::start(&place, "library");
    for (uri, code, reason) in [
        ("test://fiction/trap", -32603, "gate 'fiction' trapped"),
        ("test://fiction/loop", -32603, "1 s"),
        ("test://fiction/huge", -32603, "gate 'fiction'"),
        ("test://fiction/99", -32002, "Book not found: '99'"),
        ("test://fiction/1/2", -32002, "unknown resource: 'test://fiction/1/2'"),
        ("gatehouse://artifact/art-0123456789ab", -32002, "unknown resource"),
    ] {
        let error = &read(&mut client, uri)["error"];
        assert_eq!(error["code"], code, "{uri}: {error}");
        assert!(error["message"].as_str().is_some_and(|message| message.contains(reason)), "{uri}: {error}");
        assert_eq!(
            read(&mut client, "test://fiction/1")["result"]["contents"][0]["text"],
            "Book 1 of fiction."
        );
    }
    drop(client);
    let mut client = Client::start(&place, "locked");
    assert_eq!(listed(&mut client), ["test://poetry/0", "test://poetry/1"]);
    client.log_with("gate 'fiction' is missing from the resource list: The shelf is locked.");
    assert_eq!(read(&mut client, "test://fiction/1")["result"]["contents"][0]["text"], "Book 1 of fiction.");
}

#[test]
fn two_gates_that_answer_for_one_address_are_refused() {
    let place = library();
    let output = place.run(&["presets", "check"]).stdout();
    assert!(output.contains("resource collision: gate 'fiction' has 'test://same/{id}'"), "{output}");
}

#[test]
fn a_line_in_the_log_tells_of_each_read() {
    let place = library();
    let mut client = Client::raw(&place, &["serve", "--preset", "library", "--log-calls"], &[]);
    client.initialize("2025-11-25");
    read(&mut client, "test://fiction/1");
    read(&mut client, "test://fiction/99");
    client.request("prompts/get", json!({"name": "review_poetry", "arguments": {"book": "1"}}));
    let log = client.log_with("prompts/get");
    let lines: Vec<&str> = log.lines().filter(|line| line.contains("resources/read")).collect();
    assert_eq!(lines.len(), 2, "{log}");
    assert!(lines[0].contains("test://fiction/1") && lines[0].contains("\"ok\""), "{log}");
    assert!(lines[1].contains("not-found") && !log.contains("Book 1 of"), "{log}");
}

#[test]
fn clients_are_notified_when_a_reload_changes_what_there_is() {
    let place = library();
    let mut client = Client::start(&place, "library");
    assert_eq!(listed(&mut client).len(), 2);
    let more = PRESETS
        .replace("gates.poetry = { shelf = \"poetry\", books = 2 }", "gates.poetry = { shelf = \"essays\" }");
    place.write("presets.toml", more);
    let mut methods = Vec::new();
    while methods.len() < 2 {
        let message = client.next_message();
        methods.push(message["method"].as_str().unwrap_or_default().to_owned());
    }
    methods.sort();
    assert_eq!(methods, ["notifications/prompts/list_changed", "notifications/resources/list_changed"]);
    assert_eq!(read(&mut client, "test://essays/0")["result"]["contents"][0]["text"], "Book 0 of essays.");
    assert_eq!(read(&mut client, "test://poetry/0")["error"]["code"], -32002);
}

fn updated(client: &mut Client) -> String {
    loop {
        let message = client.next_message();
        if message["method"] == "notifications/resources/updated" {
            return message["params"]["uri"].as_str().expect("an address").to_owned();
        }
    }
}

#[test]
fn subscribers_are_notified_when_a_resource_changes_by_itself() {
    let place = library();
    let mut client = Client::start(&place, "library");
    let books = listed(&mut client);
    let first = books.iter().find(|uri| uri.contains("fiction")).expect("a book").clone();
    let nowhere = client.request("resources/subscribe", json!({"uri": first.replace("/0", "/999")}));
    assert!(
        nowhere["error"]["message"].as_str().is_some_and(|reason| reason.contains("Book not found")),
        "{nowhere}"
    );
    let foreign = client.request("resources/subscribe", json!({"uri": "test://elsewhere"}));
    assert!(foreign["error"].is_object(), "{foreign}");
    // The first book changes constantly, the others never.
    let taken = client.request("resources/subscribe", json!({"uri": first}));
    assert!(taken["result"].is_object(), "{taken}");
    let still = client.request("resources/subscribe", json!({"uri": first.replace("/0", "/1")}));
    assert!(still["result"].is_object(), "{still}");
    assert_eq!([updated(&mut client), updated(&mut client)], [first.clone(), first.clone()]);
    let ended = client.request("resources/unsubscribe", json!({"uri": first}));
    assert!(ended["result"].is_object(), "{ended}");
    let mut plain = Client::start(&place, "plain");
    assert_eq!(plain.request("resources/subscribe", json!({"uri": first}))["error"]["code"], -32601);
}
