//! The binary alone, in a folder of its own and for a user who has nothing yet.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::Value;

use crate::support::place::{binary, built};

/// The binary in an empty folder, with an empty home.
fn alone() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("gatehouse");
    // Linked where that can be: a debug build is large.
    fs::hard_link(binary(), &copy).or_else(|_| fs::copy(binary(), &copy).map(drop)).expect("the binary");
    fs::create_dir(folder.path().join("home")).expect("a home");
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(folder.join("gatehouse"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder.join("home"));
    command.output().expect("gatehouse runs")
}

fn json(output: &Output) -> Value {
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_binary_alone_lists_shows_and_explains_the_shipped_gates() {
    let folder = alone();
    let told = json(&run(folder.path(), &["gates", "list", "--json"]));
    let names: Vec<&str> =
        told.as_array().expect("gates").iter().filter_map(|g| g["name"].as_str()).collect();
    assert_eq!(
        names,
        ["code", "document-retrieval", "idea", "kg", "proxy", "research", "script", "summarizer"]
    );
    assert!(told[0]["built_in"] == true && told[0]["granted"][0] == "knowledge:read", "{told}");
    let text = run(folder.path(), &["gates", "list"]).stdout;
    assert!(String::from_utf8_lossy(&text).lines().skip(1).all(|line| line.ends_with("built in")));
    let tools = json(&run(folder.path(), &["allowed-tools", "full"]));
    assert_eq!(tools.as_array().map(Vec::len), Some(13), "{tools}");
    let why = run(folder.path(), &["explain", "kg_edit", "--preset", "full"]);
    assert!(why.status.success(), "{}", String::from_utf8_lossy(&why.stderr));
}

#[test]
fn a_file_in_a_gates_folder_stands_before_the_built_in_gate() {
    let folder = alone();
    // Where the built-in configuration looks, which lies in the data folder.
    let gates = folder.path().join("home/.local/share/gatehouse/gates");
    fs::create_dir_all(&gates).expect("a folder of gates");
    fs::write(gates.join("idea.wasm"), built("echo")).expect("a gate");
    let told = json(&run(folder.path(), &["gates", "inspect", "idea", "--json"]));
    assert!(told["built_in"] == false && told["tools"][0]["name"] != "wiki_idea_search", "{told}");
}

#[test]
fn a_gate_that_is_lost_from_the_cache_is_unpacked_again() {
    let folder = alone();
    let file = || {
        let told = json(&run(folder.path(), &["gates", "inspect", "idea", "--json"]));
        told["file"].as_str().expect("a file").to_owned()
    };
    let first = file();
    fs::write(&first, "cut short").expect("damaged");
    assert_eq!(file(), first);
    fs::remove_dir_all(Path::new(&first).parent().expect("a folder")).expect("removed");
    assert_eq!(file(), first);
}

#[test]
fn a_file_in_the_cache_that_the_binary_did_not_write_is_not_a_gate() {
    let folder = alone();
    let told = json(&run(folder.path(), &["gates", "inspect", "idea", "--json"]));
    let file = Path::new(told["file"].as_str().expect("a file")).with_file_name("wc.wasm");
    fs::write(file, built("echo")).expect("a gate");
    let told = json(&run(folder.path(), &["gates", "list", "--json"]));
    assert!(told.as_array().expect("gates").iter().all(|gate| gate["name"] != "wc"), "{told}");
    let inspected = run(folder.path(), &["gates", "inspect", "wc"]);
    assert!(!inspected.status.success());
}
