//! Tool lists of servers: paged, changing, and with tools that must be left out.

use std::time::Instant;

use serde_json::json;

use super::{Listening, child, showing};
use crate::support::{Client, host::PATIENCE};

#[test]
fn a_list_in_pages_is_read_to_its_end() {
    let place = showing(&["s"], &child("s", &["pages=5"], ""));
    let mut client = Client::start(&place, "all");
    assert_eq!(client.tools().len(), 12);
    assert_eq!(client.text("s__ask", json!({})), client.text("s__ask", json!({})));
}

#[test]
fn a_list_without_an_end_is_reported_and_takes_no_other_server_with_it() {
    let blocks = child("s", &["pages=endless"], "") + &child("honest", &[], "");
    let place = showing(&["s", "honest"], &blocks);
    let mut client = Client::start(&place, "all");
    assert_eq!(client.text("honest__echo", json!({"text": "here"})), "here");
    assert!(client.tools().iter().any(|tool| tool.starts_with("s__")), "what was read is served");
    client.log_with("part of tools/list: it has no end after 64 pages");
}

#[test]
fn twenty_thousand_tools_are_cut_with_a_log_line() {
    let place = showing(&[], "");
    let many: Vec<_> = (0..20_000)
        .map(|number| json!({"name": format!("t{number}"), "inputSchema": {"type": "object"}}))
        .collect();
    let file = place.write("many.json", serde_json::to_vec(&many).expect("JSON"));
    let block = child("s", &[&format!("tools={}", file.display())], "") + &child("honest", &[], "");
    place.write("presets.toml", block + "[presets.all]\nservers = [\"s\", \"honest\"]\n");
    let mut client = Client::start(&place, "all");
    // On a busy machine, the list is answered before this server is.
    let start = Instant::now();
    while client.tools().iter().filter(|tool| tool.starts_with("s__")).count() != 4_096 {
        assert!(start.elapsed() < PATIENCE, "{:?}", client.tools().len());
    }
    assert_eq!(client.text("honest__echo", json!({"text": "here"})), "here");
    assert_eq!(client.text("s__echo", json!({"text": "and here"})), "and here");
    client.log_with("tools after number 4096 were not read");
}

#[test]
fn clients_are_notified_when_the_list_of_a_server_grows() {
    let sse = Listening::start("sse", &[]);
    let place =
        showing(&["pipes", "sse"], &format!("{}{}", child("pipes", &[], ""), sse.block("sse", "sse")));
    let mut client = Client::start(&place, "all");
    for server in ["pipes", "sse"] {
        let mut names = client.tools();
        assert!(!names.contains(&format!("{server}__grown")));
        assert_eq!(client.text(&format!("{server}__grow"), json!({})), "grown");
        names.push(format!("{server}__grown"));
        names.sort();
        client.wait_for_tools(PATIENCE, |tools| tools == names);
        assert_eq!(client.text(&format!("{server}__grown"), json!({})), "new here");
    }
}

#[test]
fn tools_that_cannot_be_read_or_called_are_left_out_with_the_reason() {
    let place = showing(&[], "");
    let schema = json!({"type": "object"});
    let tools = json!([
        {"name": "bare", "description": "Has no schema of its arguments."},
        {"name": "slow", "inputSchema": schema, "execution": {"taskSupport": "required"}},
        {"name": "either", "inputSchema": schema, "execution": {"taskSupport": "optional"}},
    ]);
    let file = place.write("tools.json", tools.to_string());
    let option = format!("tools={}", file.display());
    let streamed = Listening::start("http", &[&option]);
    let blocks = child("pipes", &[&option], "") + &streamed.block("web", "http");
    place.write("presets.toml", blocks + "[presets.all]\nservers = [\"pipes\", \"web\"]\n");
    let mut client = Client::start(&place, "all");
    let listed = client.tools();
    for server in ["pipes", "web"] {
        let shown = |tool: &str| listed.contains(&format!("{server}__{tool}"));
        assert_eq!(
            ["echo", "either", "bare", "slow"].map(shown),
            [true, true, false, false],
            "{server}: {listed:?}"
        );
    }
    client.log_with("tool 'bare': missing field `inputSchema`");
    client.log_with("tool 'slow' runs only as a task");
}

#[test]
fn only_a_bad_tool_is_left_out_and_tool_descriptions_are_cleaned() {
    let place = showing(&["s"], &child("s", &["bad=yes"], ""));
    let mut client = Client::start(&place, "all");
    let listed = client.request("tools/list", json!({}));
    let tools = listed["result"]["tools"].as_array().expect("tools");
    let coloured = tools.iter().find(|tool| tool["name"] == "s__coloured").expect("a tool");
    let description = coloured["description"].as_str().expect("a description");
    assert!(
        !description.contains(['\u{1b}', '\u{202e}']) && description.contains("hides"),
        "{description:?}"
    );
    assert_eq!(tools.len(), 14, "{listed}");
    assert!(tools.iter().any(|tool| tool["name"] == "s__two_words_43f24fb6"), "{listed}");
    assert_eq!(client.text("s__echo", json!({"text": "the first of the two"})), "the first of the two");
    let log = client.log_with("'echo' is listed twice");
    assert!(log.contains("leaving out"), "{log}");
}
