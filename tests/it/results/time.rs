//! Expired results are absent from every reply, and a full store loses nothing.

use std::process::Command;

use serde_json::{Value, json};

use super::{log, place, shortened};
use crate::support::{Client, Place, text_of};

/// A host that stores texts that begin with "keep" for this time.
fn kept_for(milliseconds: u32) -> Place {
    let presets = format!(
        "[gates.shortener]\ngrants = [\"artifacts\"]\n\n[gates.summarizer]\ngrants = [\"artifacts\", \"kv\"]\n\n\
         [presets.p]\nstructured = true\ngates.echo = {{}}\ngates.shortener = {{ ttl_ms = {milliseconds} }}\ngates.summarizer = {{}}\n\
         [presets.p.filters]\nshortener = [\"echo\"]\nsummarizer = []\n"
    );
    Place::with(&presets, &["echo", "shortener", "summarizer"])
}

#[test]
fn what_is_past_its_time_is_in_no_reply() {
    let place = kept_for(3_000);
    let mut client = Client::start(&place, "p");
    let id = client.text("echo", json!({"text": format!("keep {}", "quokka\n".repeat(900))}));
    assert!(id.starts_with("art-"), "{id}");
    let listed = |client: &mut Client| {
        client.call("search_workspace", json!({}))["structuredContent"]["artifacts"].as_array().map(Vec::len)
    };
    assert_eq!(listed(&mut client), Some(1));
    let watched = client.request("resources/subscribe", json!({"uri": format!("gatehouse://artifact/{id}")}));
    assert!(watched["result"].is_object(), "{watched}");
    let page = client.call("get_workspace_file", json!({"path": id}));
    assert!(
        page["structuredContent"]["content"].as_str().is_some_and(|page| page.contains("quokka")),
        "{page}"
    );
    let updated_uri = loop {
        let message = client.next_message();
        if message["method"] == "notifications/resources/updated" {
            break message["params"]["uri"].clone();
        }
    };
    assert_eq!(updated_uri, format!("gatehouse://artifact/{id}"));
    assert_eq!(listed(&mut client), Some(0));
    let uri = format!("gatehouse://artifact/{id}");
    let found = client.call("semantic_search", json!({"query": "quokka"}));
    assert_eq!(found["structuredContent"]["results"], json!([]), "{found}");
    let reply = client.call("get_artifact_context", json!({"ids": [id]}));
    assert_eq!(reply["structuredContent"]["unknown"], json!([id]), "{reply}");
    for arguments in
        [json!({"path": id}), json!({"path": id, "lines": "1"}), json!({"path": id, "offset": 9})]
    {
        let reason = client.fails("get_workspace_file", arguments);
        assert!(reason.contains(&format!("artifact '{id}' not found or expired")), "{reason}");
    }
    let reason = client.fails("echo", json!({"text": {"$artifact": id}}));
    assert!(reason.contains(&format!("artifact '{id}' not found or expired")), "{reason}");
    let read = client.request("resources/read", json!({"uri": uri}));
    assert!(read["error"]["message"].is_string(), "{read}");
    assert_eq!(client.request("resources/list", json!({}))["result"]["resources"], json!([]));
}

/// Incompressible text of about this length; each number gives another text.
fn noise(characters: usize, number: u64) -> String {
    let mut seed = number;
    let mut line = |_| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        format!("{:016x} {:016x}\n", seed, seed.rotate_left(29) ^ 0x9e37_79b9_7f4a_7c15)
    };
    (0..characters / 34).map(&mut line).collect()
}

#[test]
fn a_store_that_is_full_says_so_and_the_result_is_returned_all_the_same() {
    let place = place();
    let presets = std::fs::read_to_string(place.path("presets.toml")).expect("presets");
    place.write("presets.toml", format!("[artifacts]\nmax_bytes = \"1 MiB\"\n{presets}"));
    let mut client = Client::start(&place, "work");
    let (_, kept) = shortened(&mut client, &log());
    let reply = client.call("echo", json!({"text": noise(4 << 20, 1)}));
    let text = text_of(&reply);
    assert!(text.contains("the full result is not stored: the store of results is full"), "{text}");
    assert!(text.len() < 20_000 && !text.contains("get_workspace_file"), "{} bytes: {text}", text.len());
    assert_ne!(reply["isError"], true, "{reply}");
    // A text below the size limit of replies is returned whole if it cannot be stored.
    client.call("echo", json!({"text": noise(1_400_000, 2)}));
    let mut number = 3;
    let whole = loop {
        let text = noise(9_900, number);
        number += 1;
        let answer = client.text("echo", json!({"text": text}));
        if !answer.contains("full result stored") {
            break answer == text;
        }
    };
    assert!(whole);
    let line = client.call("get_workspace_file", json!({"path": kept, "lines": "1"}));
    assert!(
        line["structuredContent"]["content"].as_str().is_some_and(|line| line.contains("INFO http")),
        "{line}"
    );
    let status: Value = place.run(&["status", "--json"]).json();
    assert!(status["artifacts"]["artifacts"].as_u64().is_some_and(|kept| kept >= 1), "{status}");
    assert!(status["artifacts"]["bytes"].as_u64().is_some_and(|bytes| bytes <= 1 << 20), "{status}");
    let output = place.run(&["status"]).stdout();
    assert!(output.contains("of at most 1.0 MiB"), "{output}");
}

#[test]
fn a_disk_that_is_full_costs_no_result() {
    const ROOM: &str = "mkdir -p state && mount -t tmpfs -o size=1500k none state && exec \"$0\" \"$@\"";
    let place = place();
    let mut confined = Command::new("unshare");
    confined.args(["--map-root-user", "--mount", "sh", "-c"]);
    let tried = Command::new(confined.get_program())
        .args(confined.get_args())
        .arg("mount -t tmpfs none /mnt")
        .status();
    if !tried.is_ok_and(|status| status.success()) {
        assert!(std::env::var_os("GATEHOUSE_REQUIRE_SERVICES").is_none(), "no disk of our own can be made");
        eprintln!(
            "SKIPPED: `unshare --map-root-user --mount` does not work here, so there is no small disk to fill"
        );
        return;
    }
    let command = place.command(&["serve", "--preset", "work"]);
    confined.arg(ROOM).arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => confined.env(name, value),
            None => confined.env_remove(name),
        };
    }
    confined.current_dir(place.path(""));
    let mut client = Client::spawn(confined);
    client.initialize("2025-11-25");
    let (_, kept) = shortened(&mut client, &log());
    let text = client.text("echo", json!({"text": noise(4 << 20, 1)}));
    assert!(text.contains("the full result is not stored: the store of results is full"), "{text}");
    assert!(text.len() < 20_000, "{} bytes", text.len());
    let line = client.call("get_workspace_file", json!({"path": kept, "lines": "1"}));
    assert!(
        line["structuredContent"]["content"].as_str().is_some_and(|line| line.contains("INFO http")),
        "{line}"
    );
    assert!(client.text("echo", json!({"text": noise(20_000, 2)})).contains("full result stored"));
}

#[test]
fn a_host_that_is_killed_while_it_stores_loses_nothing_that_it_reported() {
    let place = place();
    let mut artifacts = Vec::new();
    for round in 0..4 {
        let mut client = Client::start(&place, "work");
        let text = format!("{round}\n{}", noise(600_000, round));
        artifacts.push((shortened(&mut client, &text).1, text));
        for other in 0..4 {
            let arguments = json!({"text": format!("{round} {other}\n{}", noise(400_000, other))});
            client.ask("tools/call", json!({"name": "echo", "arguments": arguments}));
        }
        drop(client);
    }
    let mut client = Client::start(&place, "work");
    for (id, text) in &artifacts {
        let read = client.request("resources/read", json!({"uri": format!("gatehouse://artifact/{id}")}));
        assert_eq!(read["result"]["contents"][0]["text"], *text);
    }
    assert!(client.text("echo", json!({"text": log()})).contains("full result stored"));
}
