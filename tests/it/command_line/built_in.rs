//! The binary alone, in an empty folder with an empty home.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use serde_json::{Value, json};

use crate::support::{
    Client, Place, SHIPPED,
    place::{binary, built},
};

fn alone() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("gatehouse");
    // Linked if possible, because a debug build is large.
    fs::hard_link(binary(), &copy).or_else(|_| fs::copy(binary(), &copy).map(drop)).expect("the binary");
    fs::create_dir(folder.path().join("home")).expect("a home");
    folder
}

fn run(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(folder.join("gatehouse"));
    command.args(arguments).current_dir(folder).env_clear().env("HOME", folder.join("home"));
    command.output().expect("gatehouse runs")
}

fn printed(output: &Output) -> Value {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{stderr}");
    serde_json::from_slice(&output.stdout).expect("JSON")
}

#[test]
fn the_binary_alone_lists_shows_and_explains_the_shipped_gates() {
    let folder = alone();
    let gates = printed(&run(folder.path(), &["gates", "list", "--json"]));
    let names: Vec<&str> =
        gates.as_array().expect("gates").iter().filter_map(|g| g["name"].as_str()).collect();
    assert_eq!(names, SHIPPED);
    assert!(gates[0]["built_in"] == true && gates[0]["granted"][0] == "knowledge:read", "{gates}");
    let text = run(folder.path(), &["gates", "list"]).stdout;
    assert!(String::from_utf8_lossy(&text).lines().skip(1).all(|line| line.ends_with("built in")));
    let tools = printed(&run(folder.path(), &["allowed-tools", "full"]));
    assert_eq!(tools.as_array().map(Vec::len), Some(13), "{tools}");
    let reason = run(folder.path(), &["explain", "kg_edit", "--preset", "full"]);
    assert!(reason.status.success(), "{}", String::from_utf8_lossy(&reason.stderr));
}

#[test]
fn a_file_in_a_gates_folder_stands_before_the_built_in_gate() {
    let folder = alone();
    // The built-in configuration searches this folder in the data folder.
    let gates = folder.path().join("home/.local/share/gatehouse/gates");
    fs::create_dir_all(&gates).expect("a folder of gates");
    fs::write(gates.join("idea.wasm"), built("echo")).expect("a gate");
    let report = printed(&run(folder.path(), &["gates", "inspect", "idea", "--json"]));
    assert!(report["built_in"] == false && report["tools"][0]["name"] != "wiki_idea_search", "{report}");
}

#[test]
fn the_shipped_gates_are_written_nowhere_and_never_taken_from_files() {
    let folder = alone();
    let report = printed(&run(folder.path(), &["gates", "inspect", "idea", "--json"]));
    assert_eq!(
        (&report["file"], &report["built_in"]),
        (&Value::from("built-in/idea.wasm"), &Value::from(true))
    );
    assert!(!folder.path().join("home/.cache/gatehouse/built-in").exists());
    // A file at the path of a shipped gate in the working folder is not used.
    fs::create_dir(folder.path().join("built-in")).expect("a folder");
    for name in ["idea", "wc"] {
        fs::write(folder.path().join(format!("built-in/{name}.wasm")), built("echo")).expect("a gate");
    }
    assert_eq!(printed(&run(folder.path(), &["gates", "inspect", "idea", "--json"])), report);
    let listed = printed(&run(folder.path(), &["gates", "list", "--json"]));
    assert!(listed.as_array().expect("gates").iter().all(|gate| gate["name"] != "wc"), "{listed}");
    assert!(!run(folder.path(), &["gates", "inspect", "wc"]).status.success());
}

#[test]
fn the_shipped_gates_are_served_without_a_cache_that_can_be_written() {
    let place = Place::with("[host]\ngates = [\"built-in\"]\n[presets.one]\ngates.research = {}\n", &[]);
    // Root ignores file modes, so block the cache with a file.
    let place = place.with_own_cache();
    place.write(".cache", "not a folder");
    for _ in 0..2 {
        let mut client = Client::start(&place, "one");
        let tool = client.tools().swap_remove(0);
        assert!(!client.call(&tool, json!({})).to_string().contains("cannot be loaded"));
        let log = client.log();
        for warning in ["cannot store compiled gates", "cannot store the gate index"] {
            assert_eq!(log.matches(warning).count(), 1, "{log}");
        }
        assert_eq!(client.close(), Some(0));
    }
}
