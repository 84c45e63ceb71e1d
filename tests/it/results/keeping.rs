//! Stored results: lifetime, presets without the reading tools, and a broken store.

use serde_json::json;

use super::{PRESETS, log, place, shortened};
use crate::support::{Client, Place};

#[test]
fn a_result_outlives_the_host_that_kept_it_even_if_that_is_killed() {
    let place = place();
    let mut client = Client::start(&place, "work");
    let (short, id) = shortened(&mut client, &log());
    drop(client);
    let mut client = Client::start(&place, "work");
    let read = client.request("resources/read", json!({"uri": format!("gatehouse://artifact/{id}")}));
    assert_eq!(read["result"]["contents"][0]["text"], log());
    assert_eq!(shortened(&mut client, &log()).0, short, "the summary has the same bytes");
}

#[test]
fn without_its_tools_in_the_preset_no_tool_is_named() {
    let presets = format!(
        "[models]\nllm = \"off\"\n{PRESETS}deny = []\n[presets.bare]\nextends = [\"work\"]\ndeny = [\"get_*\"]\n"
    );
    let presets = presets.replace("deny = []\n", "");
    let place = Place::with(&presets, &["echo", "summarizer"]);
    let mut client = Client::start(&place, "bare");
    let (short, id) = shortened(&mut client, &log());
    assert!(!short.contains("get_workspace_file"), "{short}");
    assert!(short.contains(&format!("gatehouse://artifact/{id}")), "{short}");
}

#[test]
fn a_store_that_is_broken_costs_no_result() {
    let place = place();
    place.write("state/artifacts.db", vec![7; 8192]);
    let mut client = Client::start(&place, "work");
    let text = client.text("echo", json!({"text": log()}));
    assert_eq!(text, log(), "the unchanged result");
    let fault = client.fails("search_workspace", json!({}));
    assert!(fault.contains("artifacts.db") && fault.contains("[UNAVAILABLE]"), "{fault}");
}
