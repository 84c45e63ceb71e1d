//! Document retrieval as agents use it.

use serde_json::json;

use super::{add, manual, place, question};
use crate::support::{Client, Place, fault_of};

const TOOL: &str = "mfai_document_retrieval";

fn stocked() -> Place {
    let place = place();
    place.write("docs/manual.md", manual());
    place.write("docs/notes/espresso.md", "# Espresso\r\n\r\nGrind 18 g, pull 36 g in 27 s.\t\r\n");
    place.write(
        "docs/src/grinder.rs",
        "//! Grinds beans.\n\n/// Sets the coarseness of the burrs.\npub fn set_coarseness(steps: u8) {}\n",
    );
    add(&place);
    place
}

#[test]
fn a_small_document_comes_back_byte_for_byte_in_both_modes() {
    let place = stocked();
    let mut client = Client::start(&place, "documents");
    assert_eq!(client.tools(), ["list_repositories_with_navigation", TOOL, "read_repository_file"]);
    for (query, mode, path) in [
        ("grind espresso", "text", "notes/espresso.md"),
        ("how much coffee do I need for an espresso?", "semantic", "notes/espresso.md"),
        ("set_coarseness", "text", "src/grinder.rs"),
        ("grinder.rs", "text", "src/grinder.rs"),
    ] {
        let reply = client.call(TOOL, question(query, mode));
        let data = &reply["structuredContent"];
        assert_eq!(data["sources"], json!([format!("docs/{path}")]), "{query}: {reply}");
        let whole = std::fs::read_to_string(place.path("docs").join(path)).expect("a document");
        assert_eq!((&reply["content"][1]["text"], &data["content"]), (&json!(whole), &json!(whole)));
        assert_eq!((&data["was_compressed"], &data["method"]), (&json!(false), &json!("whole")));
    }
}

#[test]
fn a_large_document_is_shortened_to_its_budget_with_the_answer_in_it_and_every_gap_can_be_read() {
    let place = stocked();
    let mut client = Client::start(&place, "documents");
    for mode in ["text", "semantic"] {
        let reply = client.call(TOOL, question("how is the pressure sensor calibrated?", mode));
        let data = &reply["structuredContent"];
        let content = data["content"].as_str().expect("content");
        let tokens = data["token_count"].as_u64().expect("a count");
        assert!((7_600..=8_000).contains(&tokens), "{tokens} tokens");
        assert!(data["original_token_count"].as_u64().is_some_and(|tokens| tokens > 30_000), "{data}");
        assert!(content.contains("the gauge shows 2.75 bar") && content.contains("press RESET twice"));
        let gaps: Vec<(u64, u64)> = content.lines().filter_map(gap).collect();
        assert!(!gaps.is_empty(), "{content}");
        let manual = manual();
        let lines: Vec<&str> = manual.lines().collect();
        for (first, last) in gaps {
            let ask =
                json!({"repository": "docs", "path": "manual.md", "start_line": first, "end_line": last});
            let read = client.call("read_repository_file", ask);
            let text = read["structuredContent"]["content"].as_str().expect("lines");
            assert!(text.starts_with(lines[first as usize - 1]), "lines {first} to {last}: {text}");
        }
    }
}

fn gap(line: &str) -> Option<(u64, u64)> {
    let lines = line.strip_prefix("[… lines ")?.split_once(':')?.0;
    let (first, last) = lines.split_once('-').unwrap_or((lines, lines));
    let number = |text: &str| text.replace(',', "").parse().ok();
    Some((number(first)?, number(last)?))
}

#[test]
fn nothing_found_brings_the_guide_and_an_unknown_name_the_nearest() {
    let place = stocked();
    let mut client = Client::start(&place, "documents");
    for mode in ["text", "semantic"] {
        let reply = client.call(TOOL, question("zygomorphic xylophones", mode));
        let data = &reply["structuredContent"];
        assert_eq!(data["sources"], json!(["Navigation Guide"]), "{reply}");
        let content = data["content"].as_str().expect("content");
        assert!(
            content.starts_with("No document of `docs` answers: \"zygomorphic xylophones\""),
            "{content}"
        );
        assert!(content.contains("manual.md"), "no guide in {content}");
    }
    let reply = client.call(TOOL, json!({"query": "q", "repository": "dosc", "search_type": "text"}));
    let fault = fault_of(&reply);
    assert!(
        fault["message"].as_str().is_some_and(|text| text.contains("repository 'dosc' not found")),
        "{fault}"
    );
    assert!(reply.to_string().contains("docs"), "{reply}");
    let ask = json!({"repository": "docs", "path": "espresso.md"});
    let missing = client.fails("read_repository_file", ask);
    assert!(missing.contains("notes/espresso.md"), "{missing}");
}

#[test]
fn a_store_that_is_broken_is_a_fault_and_never_the_guide() {
    let place = stocked();
    place.write("state/documents.db", vec![7; 8192]);
    for suffix in ["-wal", "-shm"] {
        let _ = std::fs::remove_file(place.path(&format!("state/documents.db{suffix}")));
    }
    let mut client = Client::start(&place, "documents");
    let text = client.fails(TOOL, question("espresso", "text"));
    assert!(text.contains("documents.db") && text.contains("[UNAVAILABLE]"), "{text}");
    assert!(!text.contains("Try:"), "{text}");
    let doctor = place.run(&["doctor"]);
    assert!(doctor.stdout().contains("FAIL  documents:"), "{}", doctor.stdout());
}

#[test]
fn a_gate_without_the_grant_reads_nothing() {
    let place = Place::with("[presets.p]\ngates.document-retrieval = {}\n", &["document-retrieval"]);
    let text = Client::start(&place, "p").fails(TOOL, question("q", "text"));
    assert!(text.contains("add \"documents\" to grants under [gates.document-retrieval]"), "{text}");
}
