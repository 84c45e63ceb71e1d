//! What servers list: in pages, changing, and with tools among them that nobody should be shown.

use serde_json::json;

use super::{Listening, child, showing};
use crate::support::Client;

#[test]
fn a_list_in_pages_is_read_to_its_end() {
    let place = showing(&["s"], &child("s", &["pages=5"], ""));
    let mut client = Client::start(&place, "all");
    assert_eq!(client.tools().len(), 12);
    assert_eq!(client.text("s__ask", json!({})), client.text("s__ask", json!({})));
}

#[test]
fn clients_are_told_when_the_list_of_a_server_grows() {
    let sse = Listening::start("sse", &[]);
    let place =
        showing(&["pipes", "sse"], &format!("{}{}", child("pipes", &[], ""), sse.block("sse", "sse")));
    let mut client = Client::start(&place, "all");
    for (times, server) in [(1, "pipes"), (2, "sse")] {
        assert!(!client.tools().contains(&format!("{server}__grown")));
        assert_eq!(client.text(&format!("{server}__grow"), json!({})), "grown");
        client.told(times);
        assert!(client.tools().contains(&format!("{server}__grown")));
        assert_eq!(client.text(&format!("{server}__grown"), json!({})), "new here");
    }
}

#[test]
fn a_bad_tool_is_left_out_alone_and_what_is_said_of_tools_is_cleaned() {
    let place = showing(&["s"], &child("s", &["bad=yes"], ""));
    let mut client = Client::start(&place, "all");
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let coloured = tools.iter().find(|tool| tool["name"] == "s__coloured").expect("a tool");
    let said = coloured["description"].as_str().expect("a description");
    assert!(!said.contains(['\u{1b}', '\u{202e}']) && said.contains("hides"), "{said:?}");
    assert_eq!(tools.len(), 13, "{listed}");
    assert_eq!(client.text("s__echo", json!({"text": "the first of the two"})), "the first of the two");
    let log = client.log_with("'echo' is listed twice");
    assert!(log.contains("is left out"), "{log}");
}
