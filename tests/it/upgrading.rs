//! Data of older hosts: nothing is lost, and today's host continues with it.

use std::{fs, path::Path};

use serde_json::json;

use crate::support::{
    Client, Place,
    place::{Ran, copy_folder},
    repository,
};

const PRESETS: &str = "[gates.keeper]\ngrants = [\"kv\"]\n[gates.keeper.folders]\n\"/own\" = { private = true }\n\
                       [presets.p]\ngates.keeper = {}\n";

fn old() -> Place {
    let place = Place::with(PRESETS, &["keeper"]);
    copy_folder(&repository().join("tests/fixtures/state-0"), &place.path("state"));
    for about in ["README.md", ".gitattributes"] {
        fs::remove_file(place.path("state").join(about)).expect("no part of the data");
    }
    place
}

fn run(place: &Place, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), 0, "{arguments:?}: {}{}", ran.stdout(), ran.stderr());
    ran
}

/// Returns the ids of pages in the sample wiki, from file names: `Heuristic/Deadline_Inside_Retry`.
fn pages() -> Vec<String> {
    let wiki = repository().join("docs/sample-wiki");
    let names = |folder: &str| {
        let entries = fs::read_dir(wiki.join(folder)).expect("a folder of pages");
        let mut names: Vec<String> = entries
            .map(|entry| entry.expect("an entry").path())
            .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let kinds = [
        ("workflows", "Workflow"),
        ("principles", "Principle"),
        ("implementations", "Implementation"),
        ("environments", "Environment"),
        ("heuristics", "Heuristic"),
    ];
    kinds
        .iter()
        .flat_map(|(folder, kind)| names(folder).into_iter().map(move |name| format!("{kind}/{name}")))
        .collect()
}

fn version(place: &Place, database: &str) -> u32 {
    let file = fs::read(place.path("state").join(database)).expect("a database");
    // `user_version` in the header: four bytes at offset 60, big-endian.
    u32::from_be_bytes(file[60..64].try_into().expect("4 bytes"))
}

#[test]
fn pages_of_an_older_host_are_all_there_and_can_be_searched_and_edited() {
    let place = old();
    assert_eq!(version(&place, "knowledge.db"), 2, "the fixture is of the second schema");
    let pages = pages();
    assert_eq!(run(&place, &["status", "--json"]).json()["knowledge"]["pages"], pages.len());
    for page in &pages {
        let text = run(&place, &["kg", "get", page]).stdout();
        assert!(text.contains("##") || text.contains("== "), "{page}: {text}");
    }
    let found = run(&place, &["kg", "search", "when should a call be retried"]).stdout();
    assert!(found.contains("Repeat_Only_What_May_Be_Repeated"), "{found}");
    assert!(version(&place, "knowledge.db") > 2, "it was brought up to date");

    let wiki = place.sample_wiki().display().to_string();
    let moved = run(&place, &["kg", "index", &wiki]).stdout();
    let same = "0 added, 28 updated, 0 unchanged, 0 removed; 100 links, 0 of them unresolved";
    assert!(moved.starts_with(same), "{moved}");
    let again = run(&place, &["kg", "index", &wiki]).stdout();
    assert!(again.contains("0 added, 0 updated, 28 unchanged, 0 removed"), "{again}");
}

#[test]
fn documents_of_an_older_host_are_found_and_read() {
    let place = old();
    let listed = run(&place, &["docs", "list", "--json"]).json();
    assert_eq!((&listed[0]["name"], &listed[0]["file_count"]), (&json!("manual"), &json!(28)), "{listed}");
    let found =
        run(&place, &["docs", "search", "manual", "deadline of each attempt", "--top-k", "3"]).stdout();
    assert!(found.contains("Deadline_Inside_Retry.md"), "{found}");
}

#[test]
fn what_gates_kept_is_theirs_still() {
    let place = old();
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("recall", json!({"name": "k"})), "kept");
    assert_eq!(client.text("read_file", json!({"path": "/own/note"})), "written");
    client.text("keep", json!({"key": "new", "value": "too"}));
    assert_eq!(client.close(), Some(0));
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("recall", json!({"name": "new"})), "too");
}

#[test]
fn a_backup_of_an_older_data_folder_can_be_restored() {
    let place = old();
    let file = place.path("backup.tar").display().to_string();
    run(&place, &["backup", &file]);
    let other = Place::with(PRESETS, &["keeper"]);
    run(&other, &["restore", &file]);
    assert_eq!(run(&other, &["status", "--json"]).json()["knowledge"]["pages"], pages().len());
    assert!(Path::new(&other.path("state/gates/keeper/own/note")).is_file());
}
