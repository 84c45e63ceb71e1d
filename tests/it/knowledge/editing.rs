//! Edits of pages, with their files and links.

use std::fs;

use serde_json::json;

use super::editable;
use crate::support::{Client, text_of};

#[test]
fn an_edit_reaches_page_and_file_and_survives_a_restart() {
    let place = editable();
    let mut client = Client::start(&place, "merger");
    client.call("kg_index", json!({"wiki_dir": place.path("wiki")}));
    let hit =
        client.call("search_knowledge", json!({"query": "circuit breaker"}))["structuredContent"]["hits"][0]
            .clone();
    let id = hit["id"].as_str().expect("an id").to_owned();
    let updates = json!({
        "overview": "A breaker, rewritten by a test.",
        "domains": ["Reliability", "Edited_By_Test"],
        "sources": [{"kind": "Doc", "title": "A source", "url": "https://example.org/doc"}],
    });
    let edited = client.call("kg_edit", json!({"page_id": id, "updates": updates}));
    assert_ne!(edited["isError"], true, "{edited}");
    let file = edited["structuredContent"]["file"].as_str().expect("a file");
    let text = fs::read_to_string(place.path("wiki").join(file)).expect("the file");
    for part in [
        "A breaker, rewritten by a test.",
        "[[domain::Edited_By_Test]]",
        "[[source::Doc|A source|https://example.org/doc]]",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    drop(client);
    let mut again = Client::start(&place, "merger");
    let page = again.call("get_wiki_page", json!({"page_title": id}))["structuredContent"].clone();
    assert_eq!(page["overview"], "A breaker, rewritten by a test.");
    assert_eq!(page["domains"], json!(["Reliability", "Edited By Test"]));
    assert_eq!(page["sources"][0]["url"], "https://example.org/doc");
    let found = again.call("search_knowledge", json!({"query": "rewritten by a test"}));
    assert_eq!(found["structuredContent"]["hits"][0]["id"], id);
    let indexed =
        again.call("kg_index", json!({"wiki_dir": place.path("wiki")}))["structuredContent"].clone();
    assert_eq!(
        (&indexed["updated"], &indexed["added"]),
        (&json!(0), &json!(0)),
        "store and file agree: {indexed}"
    );
}

#[test]
fn links_are_edited_in_both_directions() {
    let place = editable();
    let mut client = Client::start(&place, "merger");
    client.call("kg_index", json!({"wiki_dir": place.path("wiki")}));
    let types = json!({"query": "tool server call retry cache", "page_types": ["Heuristic"], "top_k": 2});
    let hits = client.call("search_knowledge", types)["structuredContent"]["hits"].clone();
    let (from, to) = (hits[0]["id"].as_str().expect("an id"), hits[1]["id"].as_str().expect("an id"));
    let updates = json!({"outgoing_links": [{"edge": "related", "target": to}]});
    let edited = client.call("kg_edit", json!({"page_id": from, "updates": updates}));
    assert_eq!(edited["structuredContent"]["changed"], json!(["links"]), "{edited}");
    let page = client.call("get_wiki_page", json!({"page_title": to}));
    // If both pages link to each other, the shown page's own link is printed.
    let lines = [format!("- related ← {from}"), format!("- related → {from}")];
    assert!(lines.iter().any(|line| text_of(&page).contains(line)), "{page}");
}
