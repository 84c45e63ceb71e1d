//! Reading, searching and passing on shortened results.

use serde_json::{Value, json};

use super::{log, place, shortened};
use crate::support::Client;

#[test]
fn a_log_is_shortened_to_what_went_wrong_and_every_byte_can_be_read() {
    let place = place();
    let mut client = Client::start(&place, "work");
    let log = log();
    let (short, id) = shortened(&mut client, &log);
    assert!(short.len() * 10 < log.len(), "{} of {} bytes: {short}", short.len(), log.len());
    assert!(short.contains("disk quota exceeded on volume nimbus-7"), "{short}");
    assert!(
        short.contains(&format!("full result stored: get_workspace_file {{\\\"path\\\":\\\"{id}\\\"}}")),
        "{short}"
    );
    assert_eq!(shortened(&mut client, &log), (short, id.clone()), "the same bytes again");

    let (mut whole, mut offset) = (String::new(), Some(0));
    while let Some(at) = offset {
        let page =
            client.call("get_workspace_file", json!({"path": id, "offset": at}))["structuredContent"].clone();
        let text = page["content"].as_str().expect("a page");
        assert!(text.chars().count() <= 8_000, "{page}");
        whole += text;
        offset = page["next"].as_u64();
    }
    assert_eq!(whole, log);
    let lines = client.call("get_workspace_file", json!({"path": id, "lines": "1113"}));
    assert!(
        lines["structuredContent"]["content"].as_str().is_some_and(|line| line.contains("ERROR store")),
        "{lines}"
    );

    let read = client.request("resources/read", json!({"uri": format!("gatehouse://artifact/{id}")}));
    assert_eq!(read["result"]["contents"][0]["text"], log);
    let listed = client.request("resources/list", json!({}));
    assert!(listed.to_string().contains(&id), "{listed}");
    let templates = client.request("resources/templates/list", json!({}));
    assert!(templates.to_string().contains("gatehouse://artifact/{id}"), "{templates}");
}

#[test]
fn rows_come_as_a_table_with_nothing_left_out_and_without_an_artifact() {
    let place = place();
    let mut client = Client::start(&place, "work");
    let row = |n: u32| {
        json!({"identifier_of_the_order": n, "number_of_its_customer": n * 7, "is_available_in_the_warehouse": n.is_multiple_of(3),
            "expected_days_until_delivery": n % 9, "kilograms_with_packaging": n % 40, "priority_of_the_order": n % 4})
    };
    let rows: Vec<Value> = (0..120).map(row).collect();
    let text = client.text("echo", json!({"text": serde_json::to_string_pretty(&rows).expect("JSON")}));
    for n in 0..120 {
        let customer = (n * 7).to_string();
        let is_present =
            text.lines().any(|line| line.split(|c: char| !c.is_ascii_digit()).any(|part| part == customer));
        assert!(is_present, "row {n} is missing in {text}");
    }
    assert!(!text.contains("art-") && text.matches("kilograms_with_packaging").count() == 1, "{text}");
    assert_eq!(client.call("search_workspace", json!({}))["structuredContent"]["artifacts"], json!([]));
}

/// JSON with so much content that a lossless encoding saves little.
fn tree() -> Value {
    const WORDS: [&str; 12] = [
        "bark", "moss", "ring", "sap", "root", "crown", "gall", "acorn", "lichen", "beetle", "canopy",
        "trunk",
    ];
    let branch = |n: u32| {
        let leaves: Vec<Value> =
            (0..n % 5 + 1).map(|leaf| json!({"leaf": leaf, "weight": n * leaf})).collect();
        let mut seed = n;
        let words = (0..40).map(|_| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            WORDS[(seed >> 24) as usize % WORDS.len()]
        });
        let note = words.collect::<Vec<_>>().join(" ");
        (format!("branch-{n}"), json!({"note": note, "leaves": leaves}))
    };
    json!({"name": "oak", "branches": (0..120).map(branch).collect::<serde_json::Map<_, _>>()})
}

#[test]
fn parts_of_json_are_taken_by_pointer_and_jq_and_moved_without_a_model() {
    let place = place();
    let mut client = Client::start(&place, "work");
    let tree = tree();
    let (_, id) = shortened(&mut client, &tree.to_string());
    let mut part = |arguments: Value| -> Value {
        let part = client.call("get_workspace_file", arguments);
        let content = part["structuredContent"]["content"].as_str().unwrap_or_else(|| panic!("{part}"));
        serde_json::from_str(content).unwrap_or_else(|error| panic!("{error}: {content}"))
    };
    let pointed = part(json!({"path": id, "json_pointer": "/branches/branch-17/leaves"}));
    assert_eq!(pointed, tree["branches"]["branch-17"]["leaves"]);
    let heaviest = part(json!({"path": id, "jq": "[.branches[].leaves[].weight] | max"}));
    let weights = |value: &Value| -> Vec<u64> {
        let branches = value["branches"].as_object().expect("branches").values();
        branches
            .flat_map(|b| b["leaves"].as_array().expect("leaves").iter().filter_map(|l| l["weight"].as_u64()))
            .collect()
    };
    assert_eq!(heaviest, json!(weights(&tree).into_iter().max()));
    assert!(part(json!({"path": id, "json_pointer": "/branches"})).is_object(), "a page of whole members");

    let moved = client.text("echo", json!({"text": {"$artifact": id, "pointer": "/name"}}));
    assert_eq!(moved, "oak");
    let wrong = client.fails("echo", json!({"text": {"$artifact": id, "pointer": "/branches/branch-17"}}));
    assert!(wrong.contains("'text' must be a string"), "inserted values are checked: {wrong}");
    let nowhere =
        client.fails("get_workspace_file", json!({"path": id, "json_pointer": "/branches/branch-999"}));
    assert!(nowhere.contains("/branches"), "{nowhere}");
    assert!(!client.log().contains("lichen"), "nothing of it is logged");
}

#[test]
fn kept_results_are_found_by_what_they_say() {
    let place = place();
    let mut client = Client::start(&place, "work");
    let (_, logged) = shortened(&mut client, &log());
    let (_, grown) = shortened(&mut client, &tree().to_string());
    let listed = client.call("search_workspace", json!({}))["structuredContent"]["artifacts"].clone();
    let ids: Vec<&str> =
        listed.as_array().expect("a list").iter().filter_map(|a| a["artifactId"].as_str()).collect();
    assert_eq!(ids, [&*grown, &*logged], "newest first: {listed}");
    let found =
        client.call("semantic_search", json!({"query": "disk quota exceeded"}))["structuredContent"].clone();
    assert_eq!(found["results"][0]["artifactId"], logged, "{found}");
    let reply = client.call("get_artifact_context", json!({"ids": [logged, "art-000000000000"]}))["structuredContent"].clone();
    assert!(reply["contexts"].to_string().contains("disk quota exceeded"), "{reply}");
    assert_eq!(reply["unknown"], json!(["art-000000000000"]), "{reply}");
}
