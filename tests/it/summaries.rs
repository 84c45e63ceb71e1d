//! Summaries by the gate `summarizer`: the shortened result, and tools that read the rest.

use serde_json::{Value, json};

use crate::support::{Client, Place};

const PRESETS: &str = "[gates.summarizer]\ngrants = [\"artifacts\", \"kv\", \"models\"]\n\n[presets.p]\ngates.echo = {}\n\
                       gates.summarizer = {}\nfilters = { summarizer = [\"echo.*\"] }\n";

fn client() -> (Place, Client) {
    let place = Place::with(PRESETS, &["echo", "summarizer"]);
    let client = Client::start(&place, "p");
    (place, client)
}

fn orders() -> String {
    let order = |n: u64| match n % 7 {
        0 => {
            json!({"id": n, "state": "late", "days": n * 37 % 91, "note": format!("call {} again", n * 7_919 % 1_000)})
        }
        rest => {
            json!({"id": n, "state": "sent", "weight": n * 31 % 89, format!("option{rest}"): {"by": n % 5}})
        }
    };
    serde_json::to_string(&json!({"orders": (0..900).map(order).collect::<Vec<_>>(), "total": 900}))
        .expect("JSON")
}

fn id_of(result: &Value) -> String {
    let head: Value =
        serde_json::from_str(result["content"][0]["text"].as_str().expect("text")).expect("JSON");
    head["metadata"]["artifactId"].as_str().expect("an id").to_owned()
}

#[test]
fn a_large_result_is_short_and_the_whole_of_it_is_within_reach() {
    let (_place, mut client) = client();
    let text = orders();
    let short = client.call("echo", json!({"text": text}));
    let content = short["content"].as_array().unwrap();
    let read: usize = content.iter().filter_map(|block| block["text"].as_str()).map(str::len).sum();
    assert!(
        read * 4 < text.len() && short.get("structuredContent").is_none(),
        "{read} of {}: {short}",
        text.len()
    );
    let id = id_of(&short);
    let head = content[0]["text"].as_str().unwrap();
    assert!(
        head.contains(&format!("full result stored: get_workspace_file {{\\\"path\\\":\\\"{id}\\\"}}")),
        "{head}"
    );
    assert_eq!(client.call("echo", json!({"text": text})), short);

    let count = json!({"path": id, "jq": "[.orders[] | select(.state == \"late\")] | length"});
    // Block 0 describes the part; block 1 is its content.
    let mut part = |arguments| client.call("get_workspace_file", arguments)["content"][1]["text"].clone();
    assert_eq!(part(count), "129");
    let one = json!({"path": id, "json_pointer": "/orders/7/note"});
    assert_eq!(part(one), "call 433 again");
    assert!(client.text("search_workspace", json!({"query": "echo"})).starts_with(&id));
    let found = client.text("semantic_search", json!({"query": "late orders"}));
    assert!(found.contains(&id), "{found}");
    let context = client.text("get_artifact_context", json!({"ids": [id]}));
    assert!(context.contains("\"omitted\":[]"), "{context}");

    let uri = format!("gatehouse://artifact/{id}");
    assert!(
        content.iter().any(|block| block["type"] == "resource_link" && block["uri"] == uri.as_str()),
        "{short}"
    );
    let listed = client.request("resources/list", json!({}));
    assert_eq!(listed["result"]["resources"][0]["uri"], uri.as_str(), "{listed}");
    let read = client.request("resources/read", json!({"uri": uri}));
    assert_eq!(read["result"]["contents"][0]["text"], text.as_str());
}

#[test]
fn rows_that_a_digest_of_text_names_are_read_by_pointer_and_filter() {
    let (_place, mut client) = client();
    let mut csv = "id,city,sales\n".to_owned();
    for n in 0..2_000 {
        csv += &format!("{n:05},\"City, {}\",{}\n", n * 7_919 % 1_009, n * 31 % 89);
    }
    let mut yaml = String::new();
    for n in 0..300 {
        yaml += &format!(
            "---\nkind: Job\nmetadata:\n  name: job-{n}\nspec:\n  size: {}\n  image: shop/{}\n",
            n * 37 % 91,
            n * 7_919 % 1_009
        );
    }
    for (text, pointer, value, filter, output) in [
        (csv, "/7/city", "City, 947", "[.[] | select(.sales == 88)] | length", "22"),
        (yaml, "/12/metadata/name", "job-12", "max_by(.spec.size).spec.size", "90"),
    ] {
        let short = client.call("echo", json!({"text": text}));
        let id = id_of(&short);
        let mut part = |arguments| client.call("get_workspace_file", arguments)["content"][1]["text"].clone();
        assert_eq!(part(json!({"path": id, "json_pointer": pointer})), value);
        assert_eq!(part(json!({"path": id, "jq": filter})), output);
    }
}

#[test]
fn what_needs_no_short_form_comes_as_it_is() {
    let (_place, mut client) = client();
    assert_eq!(client.text("echo", json!({"text": "short"})), "short");
    let word = "x".repeat(3_000);
    assert_eq!(client.text("echo", json!({"text": word})), word);
    assert_eq!(client.text("search_workspace", json!({})), "No stored result matches.");
}

#[test]
fn an_artifact_goes_into_arguments_by_its_id() {
    let (_place, mut client) = client();
    let id = id_of(&client.call("echo", json!({"text": orders()})));
    let part = json!({"text": {"$artifact": id, "pointer": "/orders/7/note"}});
    assert_eq!(client.text("echo", part), "call 433 again");
}

#[test]
fn the_prompt_says_how_to_get_at_what_is_kept() {
    let (_place, mut client) = client();
    let got = client.request("prompts/get", json!({"name": "gateway-init", "arguments": {}}));
    let text = got["result"]["messages"][0]["content"]["text"].as_str().unwrap_or_else(|| panic!("{got}"));
    assert!(text.contains("`get_workspace_file`") && text.contains("3 h"), "{text}");
}
