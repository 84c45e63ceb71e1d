//! Checks the JSON in docs/requests.md: the shipped preset serves its requests, and the answers have the documented
//! shape.

use serde_json::{Value, json};

use super::all_fences;
use crate::support::{Client, Place};

fn examples(member: &str) -> Vec<(String, Value)> {
    let on_page = all_fences().into_iter().filter(|fence| fence.place.starts_with("docs/requests.md:"));
    let parsed = on_page.filter(|fence| fence.info == "json").map(|fence| {
        let value: Value =
            serde_json::from_str(&fence.text).unwrap_or_else(|e| panic!("{}: {e}", fence.place));
        (fence.place, value)
    });
    parsed.filter(|(_, value)| value.get(member).is_some()).collect()
}

fn answer(client: &mut Client, request: &Value) -> Value {
    let result = client.call("request", request.clone());
    serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON")
}

/// Returns the names of the answer's members and of their members, such as `result.content`.
fn shape(value: &Value) -> Vec<String> {
    let members = value.as_object().expect("an object");
    let mut names: Vec<String> = members.keys().cloned().collect();
    for (name, inner) in members {
        let inner = inner.as_object().into_iter().flat_map(|inner| inner.keys());
        names.extend(inner.map(|inner| format!("{name}.{inner}")));
    }
    names.sort();
    names
}

#[test]
fn the_requests_on_the_page_are_served_and_answers_look_like_the_one_shown() {
    let place = Place::shipped();
    place.sample_wiki();
    assert_eq!(place.run(&["kg", "index", "wiki"]).code(), 0);
    let mut client = Client::start(&place, "gateway");
    let requests = examples("intent");
    assert!(!requests.is_empty(), "docs/requests.md shows no request");
    for (at, request) in requests {
        let served = answer(&mut client, &request);
        assert_eq!(served["ok"], true, "{at}: {served}");
    }
    let shown = examples("ok");
    assert!(!shown.is_empty(), "docs/requests.md shows no answer");
    for (at, shown) in shown {
        let request = json!({"intent": "QUERY", "action": shown["request"]["action"], "params": {"query": "retry", "top_k": 1}});
        let served = answer(&mut client, &request);
        assert_eq!(shape(&served), shape(&shown), "{at}: {served}");
        assert_eq!(served["request"], shown["request"], "{at}");
    }
}
