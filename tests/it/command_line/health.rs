//! `gatehouse status`, `doctor` and `schema`.

use std::fs;

use serde_json::Value;

use super::run;
use crate::support::{Place, SHIPPED};

#[test]
fn status_shows_what_is_configured_and_how_it_is() {
    let place = Place::shipped();
    let status = run(&place, 0, &["status", "--json"]).json();
    assert_eq!(
        status["config"],
        serde_json::json!(place.path("presets.toml").canonicalize().expect("a path"))
    );
    assert_eq!(status["gates"], serde_json::json!(SHIPPED));
    assert_eq!(status["presets"]["full"], serde_json::json!({"ok": true, "tools": 13}));
    assert_eq!((&status["knowledge"]["ok"], &status["knowledge"]["pages"]), (&true.into(), &0.into()));
    let models = serde_json::json!({"llm": null, "web_search": null, "embedding": "local/ghse-256.2"});
    assert_eq!(status["models"], models);
    let text = run(&place, 0, &["status"]).stdout();
    assert!(text.contains("preset     full (default): 13 tools"), "{text}");
}

#[test]
fn status_shows_a_broken_preset_beside_the_working_ones() {
    let place =
        Place::with("[presets.full]\ngates.idea = {}\n[presets.bad]\ngates.weather = {}\n", &["idea"]);
    let status = run(&place, 0, &["status", "--json"]).json();
    assert_eq!(status["presets"]["full"]["ok"], true);
    assert!(
        status["presets"]["bad"]["error"].as_str().is_some_and(|reason| reason.contains("weather")),
        "{status}"
    );
    let text = run(&place, 0, &["status"]).stdout();
    assert!(text.contains("preset     bad: broken: "), "{text}");
}

#[test]
fn doctor_finds_nothing_in_a_healthy_place() {
    let place = Place::shipped();
    let report = run(&place, 0, &["doctor", "--json"]).json();
    let checks = report.as_array().expect("a list");
    assert!(checks.len() >= 12 && checks.iter().all(|check| check["ok"] == true), "{report}");
    let text = run(&place, 0, &["doctor"]).stdout();
    assert!(text.contains("ok    gate kg: sha256 ") && !text.contains("MCP_PRESET"), "{text}");
    let text = run(&place, 0, &["doctor", "-v"]).stdout();
    assert!(text.starts_with("environment\n") && text.contains("  MCP_PRESET "), "{text}");
}

#[test]
fn doctor_checks_every_database_and_shows_what_is_wrong_last() {
    let place = Place::shipped();
    let wiki = place.sample_wiki().display().to_string();
    run(&place, 0, &["kg", "index", &wiki]);
    let text = run(&place, 0, &["doctor"]).stdout();
    assert!(text.contains("ok    database knowledge.db: intact, schema "), "{text}");
    let path = place.path("state/knowledge.db");
    let mut bytes = fs::read(&path).expect("the database");
    let middle = bytes.len() / 2 / 4096 * 4096;
    bytes[middle..middle + 4096].fill(0xff);
    fs::write(&path, bytes).expect("damaged");
    for name in ["kv.db", "documents.db", "artifacts.db", "tools.db"] {
        place.write(&format!("state/{name}"), "no database, and long enough to be looked at. ".repeat(40));
    }
    // An empty file is damage, not a new database.
    place.write("state/ledger.db", "");
    let ran = run(&place, 1, &["doctor"]);
    let text = ran.stdout();
    let problems: Vec<&str> = text.lines().skip_while(|line| !line.is_empty()).skip(1).collect();
    assert!(problems.iter().all(|line| line.starts_with("warn") || line.starts_with("FAIL")), "{text}");
    for (name, reason) in [
        ("knowledge.db", ""),
        ("kv.db", "not an intact database"),
        ("documents.db", "not an intact database"),
        ("artifacts.db", "not an intact database"),
        ("tools.db", "not an intact database"),
        ("ledger.db", "the file is empty, so its database is lost"),
    ] {
        let line = problems.iter().find(|line| line.starts_with(&format!("FAIL  database {name}: ")));
        assert!(line.is_some_and(|line| line.contains(reason)), "{name}: {text}");
    }
    assert_eq!(fs::metadata(place.path("state/ledger.db")).expect("there").len(), 0, "it is unchanged");
}

#[test]
fn doctor_names_the_broken_gate_and_fails() {
    let place = Place::with("[presets.full]\ngates.bad = {}\n", &["idea"]);
    place.write("gates/bad.wasm", "garbage");
    let ran = run(&place, 1, &["doctor"]);
    let line = ran.stdout().lines().find(|line| line.starts_with("FAIL  gate bad: ")).map(str::to_owned);
    assert!(
        line.as_ref().is_some_and(|line| line.contains("bad.wasm: is not WebAssembly")),
        "{}",
        ran.stdout()
    );
    let report: Value = serde_json::from_str(&run(&place, 1, &["doctor", "--json"]).stdout()).expect("JSON");
    let failed = report.as_array().expect("a list").iter().filter(|check| check["ok"] == false);
    assert_eq!(failed.map(|check| &check["check"]).collect::<Vec<_>>(), ["gate bad", "preset full"]);
}

#[test]
fn doctor_reports_each_problem_of_presets_once() {
    let presets = "[presets.a]\ngates.bad = {}\n[presets.b]\ngates.bad = {}\n[presets.c]\ngates.nope = {}\n\
        [presets.d]\ngates.nope = {}\n";
    let place = Place::with(presets, &[]);
    place.write("gates/bad.wasm", "garbage");
    let output = run(&place, 1, &["doctor"]).stdout();
    assert_eq!(output.matches("is not WebAssembly").count(), 1, "{output}");
    assert!(output.contains("FAIL  presets a, b: cannot be served without gate bad"), "{output}");
    assert_eq!(output.matches("unknown gate 'nope'").count(), 1, "{output}");
    assert!(output.contains("FAIL  presets c, d: ") && output.contains("presets.toml:6:7: "), "{output}");
}

#[test]
fn doctor_continues_without_a_valid_configuration() {
    let place = Place::with("[presets.a]\ngates.idea = {}\n", &["idea"]);
    run(&place, 0, &["keys", "create", "ann"]);
    place.write("presets.toml", "[presets.a\n");
    let output = run(&place, 1, &["doctor"]).stdout();
    for line in
        ["FAIL  configuration: ", "ok    data directory: ", "ok    cache: ", "ok    database auth.db: intact"]
    {
        assert!(output.contains(line), "{line}: {output}");
    }
}

#[test]
fn doctor_finds_a_cache_that_cannot_be_written() {
    let place = Place::with("[presets.a]\ngates.idea = {}\n", &["idea"]).with_own_cache();
    place.write(".cache/gatehouse", "a file at the folder's path");
    assert!(run(&place, 1, &["doctor"]).stdout().contains("FAIL  cache: "));
}

/// Tests run as root on some machines. Root can give a directory away; another user can use one of root.
#[test]
fn commands_on_the_data_of_another_user_are_refused_and_write_nothing() {
    let place = Place::with("[presets.a]\ngates.idea = {}\n", &["idea"]);
    let is_root = rustix::process::geteuid().is_root();
    let data = if is_root { place.path("theirs") } else { "/usr/share".into() };
    if is_root {
        fs::create_dir(&data).expect("a folder");
        std::os::unix::fs::chown(&data, Some(65_534), None).expect("given away");
    }
    let before = fs::read_dir(&data).expect("a folder").count();
    for arguments in [&["keys", "create", "ann"][..], &["serve"], &["doctor"], &["backup", "a b.tar"]] {
        let ran = place.command(arguments).env("GATEHOUSE_STATE", &data).output().expect("run gatehouse");
        let output = String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned();
        assert!(!ran.status.success() && output.contains("the data directory belongs to user "), "{output}");
        assert!(output.contains("Run it as its owner: `sudo -u "), "{output}");
        assert!(output.contains(&format!("env GATEHOUSE_STATE={}", data.display())), "{output}");
        assert!(arguments[0] != "backup" || output.contains("gatehouse backup 'a b.tar'`"), "{output}");
    }
    assert_eq!(fs::read_dir(&data).expect("a folder").count(), before, "nothing was written");
}

#[test]
fn doctor_names_files_of_other_users() {
    if !rustix::process::geteuid().is_root() {
        eprintln!("SKIPPED: only root can give a file away");
        return;
    }
    let place = Place::with("[presets.a]\ngates.idea = {}\n", &["idea"]);
    run(&place, 0, &["keys", "create", "ann"]);
    std::os::unix::fs::chown(place.path("state/auth.db"), Some(65_534), None).expect("given away");
    let output = run(&place, 1, &["doctor"]).stdout();
    assert!(output.contains("FAIL  data directory: 1 of its files belong to "), "{output}");
    assert!(output.contains("auth.db") && output.contains("run `sudo chown -R "), "{output}");
}

#[test]
fn doctor_names_the_broken_configuration_and_fails() {
    let place = Place::with("[host]\ngatez = []\n", &[]);
    let ran = run(&place, 1, &["doctor"]);
    assert!(
        ran.stdout().contains("FAIL  configuration: ") && ran.stdout().contains(":2:1: "),
        "{}",
        ran.stdout()
    );
}

#[test]
fn doctor_names_the_folder_that_cannot_be_written() {
    let place = Place::with("[presets.full]\ngates.idea = {}\n", &["idea"]);
    let file = place.write("file", "a file at the folder's path");
    let output = place.command(&["doctor"]).env("GATEHOUSE_STATE", file).output().expect("run gatehouse");
    let (code, stdout) = (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned());
    assert_eq!(code, Some(1), "{stdout}");
    assert!(
        stdout.contains("FAIL  data directory: ") && stdout.contains("ok    preset full: 1 tools"),
        "{stdout}"
    );
}

#[test]
fn schema_lists_every_key() {
    let place = Place::with("", &[]);
    let schema = run(&place, 0, &["schema"]).json();
    assert!(schema["$schema"].as_str().is_some_and(|dialect| dialect.contains("2020-12")), "{schema}");
    assert_eq!(schema["additionalProperties"], false);
    let definitions = [
        ("Host", vec!["gates", "state", "default_preset"]),
        ("Knowledge", vec!["engine", "wiki_roots"]),
        ("Gate", vec!["component", "sha256", "grants", "limits", "http"]),
        ("HttpHost", vec!["headers", "private"]),
        ("GateLimits", vec!["memory", "time", "concurrency"]),
        ("Preset", vec!["description", "extends", "gates", "deny", "aliases"]),
    ];
    for (definition, keys) in definitions {
        let properties = &schema["$defs"][definition]["properties"];
        for key in keys {
            let described = properties[key]["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{definition}.{key} has no description: {properties}");
        }
    }
    for key in ["host", "knowledge", "gates", "presets"] {
        assert!(schema["properties"][key].is_object(), "{key}");
    }
}
