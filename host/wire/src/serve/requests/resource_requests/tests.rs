//! Tests of resources and prompts, with and without sessions.

mod client;
mod shelf;

use std::sync::Arc;

use gatehouse_core::{Catalog, CompiledPreset, Principal, Source, catalog::SourceListing, lock};
use serde_json::{Map, Value, json};

use self::{
    client::{Client, VERSIONS, view},
    shelf::Shelf,
};

#[tokio::test]
async fn what_a_preset_does_not_have_does_not_exist() {
    for version in VERSIONS {
        let mut client = Client::new(version, &[]).await;
        assert_eq!(client.capabilities, json!({"logging": {}, "tools": {"listChanged": true}}));
        for (method, params) in [
            ("prompts/list", json!({})),
            ("prompts/get", json!({"name": "x"})),
            ("prompts/get", json!({"name": 5})),
            ("resources/list", json!({})),
            ("resources/read", json!({"uri": "test://a/1"})),
            ("resources/templates/list", json!({})),
            ("resources/subscribe", json!({"uri": "test://a/1"})),
            ("resources/unsubscribe", json!({"uri": "test://a/1"})),
        ] {
            assert_eq!(client.error(method, params).await.0, -32601, "{method}");
        }
        let shelf = Shelf::new("a", 1, 10, true);
        let mut client = Client::new(version, &[&shelf]).await;
        let changes = json!({"listChanged": true});
        let resources = json!({"listChanged": true, "subscribe": true});
        let expected = json!({"logging": {}, "prompts": changes, "resources": resources, "tools": changes});
        assert_eq!(client.capabilities, expected);
        assert!(client.error("resources/subscribe", json!({"uri": "test://nowhere/1"})).await.0 < 0);
        assert_eq!(client.error("resources/read", json!({"uri": 5})).await.0, -32602);
    }
}

#[tokio::test]
async fn a_list_goes_on_from_source_to_source() {
    let few = [Shelf::new("a", 3, 2, false), Shelf::new("b", 2, 2, false), Shelf::new("c", 1, 1, false)];
    let many = [Shelf::new("d", 120, 200, false), Shelf::new("e", 1, 1, false)];
    for version in VERSIONS {
        let mut client = Client::new(version, &few.each_ref()).await;
        let uris: Vec<Vec<String>> = client.pages().await;
        let (a, b) = (|id| format!("test://a/{id}"), |id| format!("test://b/{id}"));
        let last = vec![a(2), b(0), b(1), "test://c/0".into()];
        assert_eq!(uris, [vec![a(0), a(1)], last], "URIs without a source are left out");
        let reply = client.ask("resources/list", json!({})).await;
        let first = json!({"uri": a(0), "name": "book", "description": "hidden", "size": 1});
        assert_eq!(reply["result"]["resources"][0], first);
        let reply = client.ask("resources/templates/list", json!({})).await;
        let book = json!({"uriTemplate": "test://a/{id}", "name": "book", "description": "A book."});
        assert_eq!(reply["result"]["resourceTemplates"][0], book);
        assert_eq!(reply["result"]["resourceTemplates"].as_array().map(Vec::len), Some(3));

        let mut client = Client::new(version, &many.each_ref()).await;
        let sizes: Vec<usize> = client.pages().await.iter().map(Vec::len).collect();
        assert_eq!(sizes, [120, 1], "a source that has many ends the page");
    }
}

#[tokio::test]
async fn a_cursor_that_nobody_gave_out_is_refused() {
    use base64::Engine as _;
    let shelf = Shelf::new("a", 3, 2, false);
    let mut client = Client::new(VERSIONS[0], &[&shelf]).await;
    let encoded = |text: &str| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text);
    for cursor in [
        String::new(),
        "garbage!".into(),
        encoded("{}"),
        encoded(r#"[{"gate": "b"}, null]"#),
        encoded(r#"[{"gate": "a"}, "no number"]"#),
        encoded(r#"[{"gate": "a"}, "-1"]"#),
        "A".repeat(1 << 20),
    ] {
        let (code, message) = client.error("resources/list", json!({"cursor": cursor})).await;
        assert_eq!(
            (code, &*message),
            (-32602, "invalid cursor; list again without a cursor"),
            "{cursor:.40}"
        );
    }
    for method in ["resources/templates/list", "prompts/list"] {
        let shelf = Shelf::new("a", 3, 2, true);
        let mut client = Client::new(VERSIONS[0], &[&shelf]).await;
        assert_eq!(client.error(method, json!({"cursor": "x"})).await.0, -32602, "{method}");
    }
}

#[tokio::test]
async fn a_source_that_fails_is_left_out_of_the_list() {
    let shelves = ["broken", "panics", "stuck", "whole"].map(|name| Shelf::new(name, 1, 1, false));
    let mut client = Client::new(VERSIONS[0], &shelves.each_ref()).await;
    let uris: Vec<String> = client.pages().await.concat();
    assert_eq!(uris, ["test://whole/0"]);
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_that_says_why() {
    let (shelf, slow) = (Shelf::new("a", 3, 2, false), Shelf::new("slow", 1, 1, false));
    for (version, not_found) in [(VERSIONS[0], -32002), (VERSIONS[1], -32602)] {
        let mut client = Client::new(version, &[&shelf, &slow]).await;
        let reply = client.ask("resources/read", json!({"uri": "test://a/2"})).await;
        let text = json!({"uri": "test://a/2", "mimeType": "text/x-book", "text": "book 2"});
        assert_eq!(reply["result"]["contents"], json!([text]));
        let reply = client.ask("resources/read", json!({"uri": "test://a/bytes"})).await;
        assert_eq!(reply["result"]["contents"][0]["blob"], "AP8=");
        for (uri, code, reason) in [
            ("test://a/3", not_found, "Book not found: 'test://a/3'"),
            ("test://a/x/y", not_found, "unknown resource: 'test://a/x/y'"),
            ("file:///etc/passwd", not_found, "unknown resource: 'file:///etc/passwd'"),
            ("", not_found, "unknown resource: ''"),
            ("test://a/down", -32603, "Its engine is down. Start it."),
            ("test://slow/never", -32603, "'resources/read' was stopped after 0.02 s"),
        ] {
            assert_eq!(
                client.error("resources/read", json!({"uri": uri})).await,
                (code, reason.into()),
                "{uri}"
            );
        }
        let reply = client.ask("resources/read", json!({"uri": "test://a/down"})).await;
        let data = &reply["error"]["data"];
        assert_eq!(data["uri"], "test://a/down");
        assert_eq!(data["gatehouse/error"]["type"], "UNAVAILABLE");
        let (code, reason) = client.error("resources/read", json!({"uri": "test://a/panic"})).await;
        assert!(code == -32603 && reason.starts_with("the host failed on this call"), "{code} {reason}");
    }
    assert!(lock(&shelf.readers).iter().all(|reader| *reader == Principal::Local));
}

#[tokio::test]
async fn a_read_that_is_given_up_ends_and_holds_no_other_up() {
    let shelf = Shelf::new("a", 1, 1, false);
    let mut client = Client::new(VERSIONS[0], &[&shelf]).await;
    let never = json!({"uri": "test://a/never"});
    client.say(json!({"jsonrpc": "2.0", "id": 7, "method": "resources/read", "params": never})).await;
    let one = json!({"uri": "test://a/0"});
    assert_eq!(client.ask("resources/read", one.clone()).await["id"], 1);
    client
        .say(json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}}))
        .await;
    shelf.given_up.notified().await;
    assert_eq!(client.ask("resources/read", one).await["id"], 1, "the cancelled read is not answered");
}

#[tokio::test]
async fn a_prompt_is_made_from_its_arguments() {
    let shelves = [Shelf::new("b", 0, 0, true), Shelf::new("a", 0, 0, true)];
    for version in VERSIONS {
        let mut client = Client::new(version, &shelves.each_ref()).await;
        assert_eq!(client.error("resources/list", json!({})).await.0, -32601);
        let reply = client.ask("prompts/list", json!({})).await;
        let arguments = json!([{"name": "book", "required": true}, {"name": "how", "required": false}]);
        let listed = |name: &str| json!({"name": name, "title": "Read", "arguments": arguments});
        assert_eq!(reply["result"]["prompts"], json!([listed("read_a"), listed("read_b")]));

        let get = |name: &str, arguments: Value| json!({"name": name, "arguments": arguments});
        let reply = client.ask("prompts/get", get("read_a", json!({"book": "one"}))).await;
        let resource = json!({"uri": "test://a/1", "blob": "AQ=="});
        let expected = json!([
            {"role": "user", "content": {"type": "text", "text": "Read \"one\"."}},
            {"role": "assistant", "content": {"type": "resource", "resource": resource}},
        ]);
        assert_eq!(reply["result"]["messages"], expected);
        for (params, code, reason) in [
            (json!({"name": "read_a"}), -32602, "prompt 'read_a': argument 'book' is missing"),
            (get("read_a", json!({"book": 1})), -32602, "prompt 'read_a': argument 'book' must be a string"),
            (get("read_c", json!({})), -32602, "Unknown prompt: 'read_c'. Did you mean 'read_a'?"),
            (get("read_a", json!({"book": "down"})), -32603, "Its engine is down."),
        ] {
            assert_eq!(client.error("prompts/get", params).await, (code, reason.into()));
        }
        assert_eq!(client.error("prompts/get", json!({"name": 5})).await.0, -32602);
    }
}

#[tokio::test]
async fn clients_are_notified_of_changed_lists() {
    let (one, two) = (Shelf::new("a", 1, 1, true), Shelf::new("b", 1, 1, false));
    let mut client = Client::new(VERSIONS[0], &[&one]).await;
    client.ask("ping", json!({})).await;
    let mut now = async |shelves: &[&Arc<Shelf>], expected: &[&str]| {
        client.presets.swap(view(shelves).await.into(), &Arc::default());
        let mut methods = Vec::new();
        for _ in expected {
            methods.push(client.hear().await["method"].as_str().expect("a method").to_owned());
        }
        methods.sort();
        assert_eq!(methods, expected);
        assert_eq!(client.ask("ping", json!({})).await["result"], json!({}));
    };
    let [prompts, resources] =
        ["prompts", "resources"].map(|list| format!("notifications/{list}/list_changed"));
    now(&[&one, &two], &[&resources]).await;
    now(&[&one, &two], &[]).await;
    let without_prompt = Shelf::new("a", 1, 1, false);
    now(&[&without_prompt, &two], &[&prompts]).await;
    now(&[&one], &[&prompts, &resources]).await;
}

#[tokio::test]
async fn a_subscriber_is_notified_only_of_the_lists_it_requested() {
    let (one, two) = (Shelf::new("a", 1, 1, true), Shelf::new("b", 1, 1, true));
    let mut client = Client::new(VERSIONS[1], &[&one]).await;
    let wanted = json!({"notifications": {"resourcesListChanged": true}});
    let reply = client.ask("subscriptions/listen", wanted).await;
    assert_eq!(reply["method"], "notifications/subscriptions/acknowledged", "{reply}");
    client.presets.swap(view(&[&one, &two]).await.into(), &Arc::default());
    assert_eq!(client.hear().await["method"], "notifications/resources/list_changed");
    client.presets.swap(view(&[&one]).await.into(), &Arc::default());
    assert_eq!(client.hear().await["method"], "notifications/resources/list_changed", "and not of prompts");
}

#[tokio::test]
async fn what_a_source_tells_of_a_resource_is_passed_on() {
    for version in VERSIONS {
        let shelf = Shelf::new("a", 2, 2, false);
        let mut client = Client::new(version, &[&shelf]).await;
        let uris = ["test://a/0", "test://a/1", "test://b/0"];
        if version == VERSIONS[1] {
            let wanted = json!({"notifications": {"resourceSubscriptions": uris}});
            let reply = client.ask("subscriptions/listen", wanted).await;
            assert_eq!(
                reply["params"]["notifications"]["resourceSubscriptions"],
                json!(uris[..2]),
                "{reply}"
            );
        } else {
            for uri in &uris[..2] {
                let reply = client.ask("resources/subscribe", json!({"uri": uri})).await;
                assert_eq!(reply["result"], json!({}), "{reply}");
            }
        }
        // One notification for several changes, and one more after a lost connection, which may have missed changes.
        for goes in [false, true, false] {
            lock(&shelf.changes).send_modify(|count| *count += 1);
            if goes {
                *lock(&shelf.changes) = Default::default();
            }
            // A subscription is active once it is acknowledged.
            while lock(&shelf.changes).receiver_count() == 0 {
                tokio::task::yield_now().await;
            }
            lock(&shelf.changes).send_modify(|count| *count += 1);
            let notification = client.hear().await;
            assert_eq!(notification["method"], "notifications/resources/updated", "{notification}");
            assert_eq!(notification["params"]["uri"], uris[0], "{notification}");
        }
        if version == VERSIONS[0] {
            client.ask("resources/unsubscribe", json!({"uri": uris[0]})).await;
            let changes = lock(&shelf.changes).clone();
            changes.closed().await;
        }
    }
}

#[tokio::test]
async fn two_sources_of_one_address_or_one_prompt_are_refused() {
    let offers = |shelves: [Arc<Shelf>; 2]| async move {
        let mut offers = Vec::new();
        for source in shelves {
            let listing = source.list(&Map::new()).await.expect("a listing");
            offers.push(SourceListing { source, listing, params: Map::new(), problem: None, pending: None });
        }
        let built = Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), offers);
        built.map(|_| ()).expect_err("refused").to_string()
    };
    let message = offers([Shelf::new("a", 1, 1, false), Shelf::new("a", 1, 1, false)]).await;
    assert!(
        message.starts_with("resource collision: gate 'a' has 'test://a/{id}' and gate 'a' has"),
        "{message}"
    );
    let message = offers([Shelf::new("a", 0, 0, true), Shelf::new("a", 0, 0, true)]).await;
    assert_eq!(message, "prompt name collision: 'read_a' in both gate 'a' and gate 'a'");
}
