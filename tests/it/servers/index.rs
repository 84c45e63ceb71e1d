//! The index of server tools is a cache: an unusable file neither disables servers nor approves tools.

use std::fs;

use serde_json::json;

use super::child;
use crate::support::{Client, Place};

fn used() -> Place {
    let blocks = child("s", &[], "") + &child("strict", &[], "on_change = \"quarantine\"");
    let place = Place::with(&format!("{blocks}[presets.all]\nservers = [\"s\", \"strict\"]\n"), &[]);
    let refreshed = place.run(&["servers", "refresh"]);
    assert_eq!(refreshed.code(), 0, "{}", refreshed.stderr());
    place
}

fn serves(place: &Place) {
    let mut client = Client::start(place, "all");
    let listed = client.tools();
    assert!(listed.contains(&"s__echo".to_owned()), "{listed:?}");
    assert!(!listed.iter().any(|tool| tool.starts_with("strict__")), "{listed:?}");
    assert_eq!(client.text("s__echo", json!({"text": "x"})), "x");
    let status = place.run(&["servers", "status", "--json"]).json();
    assert!(!status.to_string().contains("\"open\""), "no breaker opens: {status}");
}

#[test]
fn a_damaged_index_is_set_aside_and_nothing_counts_as_reviewed() {
    let place = used();
    let file = place.path("state/tools.db");
    let mut bytes = fs::read(&file).expect("the index");
    bytes[..100].fill(7);
    fs::write(&file, &bytes).expect("damage it");
    let refreshed = place.run(&["servers", "refresh"]);
    let stderr = refreshed.stderr();
    assert_eq!((refreshed.code(), stderr.matches("tools.db.set-aside").count()), (0, 1), "{stderr}");
    assert!(stderr.contains("is not an intact database") && stderr.contains("Reviews are lost"), "{stderr}");
    serves(&place);
    let shown = place.run(&["servers", "review", "strict"]).stdout();
    let all = shown.split_once("--approve '*@").and_then(|(_, all)| all.split_once('\''));
    let (digest, _) = all.unwrap_or_else(|| panic!("{shown}"));
    let approved = place.run(&["servers", "review", "strict", "--approve", &format!("*@{digest}")]);
    assert_eq!(approved.code(), 0, "{}", approved.stderr());
    assert!(Client::start(&place, "all").tools().contains(&"strict__echo".to_owned()));
}

#[test]
fn an_index_that_cannot_be_written_is_kept_in_memory() {
    let place = used();
    let file = place.path("state/tools.db");
    fs::remove_file(&file).expect("the index");
    fs::create_dir(&file).expect("a folder in its place");
    serves(&place);
    let refused = place.run(&["servers", "review", "strict", "--approve", "echo@00"]);
    assert_eq!(refused.code(), 1);
    assert!(refused.stderr().contains("cannot store the approval"), "{}", refused.stderr());
}
