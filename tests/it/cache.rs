//! The cache of compiled gates: in the cache home, shared by all hosts of a user, limited in size.

use std::{fs, path::PathBuf};

use serde_json::{Value, json};

use crate::support::{Client, Place, variant};

const PRESETS: &str = "[presets.one]\ngates.echo = {}\n";

fn size(place: &Place) -> Value {
    place.run(&["cache", "size", "--json"]).json()
}

fn compiled(place: &Place) -> Vec<PathBuf> {
    let entries = fs::read_dir(place.path(".cache/gatehouse/machine-code")).into_iter().flatten().flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[test]
fn compiled_gates_lie_in_the_cache_home_and_can_be_removed() {
    let place = Place::with(PRESETS, &["echo"]).with_own_cache();
    assert_eq!((&size(&place)["components"], &size(&place)["bytes"]), (&json!(0), &json!(0)));
    Client::start(&place, "one").tools();
    let usage = size(&place);
    assert_eq!((&usage["components"], &usage["limit"]), (&json!(1), &json!(1 << 30)), "{usage}");
    assert_eq!(usage["folder"], json!(place.path(".cache/gatehouse")), "{usage}");
    let bytes: u64 = compiled(&place).iter().map(|file| fs::metadata(file).expect("a file").len()).sum();
    assert_eq!(usage["bytes"], json!(bytes));
    assert!(!place.path("state/cache").exists() && !place.path("state/gates.json").exists());
    let shown = format!("{:.1} MiB of 1 compiled gate, at most 1 GiB", bytes as f64 / f64::from(1 << 20));
    for command in [&["cache", "size"][..], &["status"]] {
        assert!(place.run(command).stdout().contains(&shown), "{command:?}: {}", place.run(command).stdout());
    }
    assert_eq!(place.run(&["status", "--json"]).json()["cache"], usage);

    let mut client = Client::start(&place, "one");
    assert_eq!(client.text("echo", json!({"text": "mapped"})), "mapped");
    assert!(place.run(&["cache", "clean"]).stdout().contains("of 1 compiled gate"));
    assert_eq!(size(&place)["components"], 0);
    assert!(!place.path(".cache/gatehouse/gates.json").exists());
    assert_eq!(client.text("echo", json!({"text": "still"})), "still");
    assert_eq!(Client::start(&place, "one").text("echo", json!({"text": "anew"})), "anew");
    assert_eq!(size(&place)["components"], 1);
}

#[test]
fn what_was_used_longest_ago_makes_room_while_hosts_run() {
    let place =
        Place::with(&format!("[host]\ncache_size = \"1 MiB\"\n{PRESETS}"), &["echo"]).with_own_cache();
    let echo = place.gate_bytes("echo");
    let (mut first, mut second) = (Client::start(&place, "one"), Client::start(&place, "one"));
    assert_eq!(first.text("echo", json!({"text": "1"})), "1");
    for version in 1..=6 {
        place.replace_gate("echo", &variant(&echo, version));
        for client in [&mut first, &mut second] {
            while client.log().matches("was reloaded").count() < usize::from(version) {
                std::thread::yield_now();
            }
            assert_eq!(client.text("echo", json!({"text": "served"})), "served");
        }
        let usage = size(&place);
        let within =
            usage["bytes"].as_u64().is_some_and(|bytes| bytes <= 1 << 20) || usage["components"] == 1;
        assert!(within, "after {version}: {usage}");
    }
    assert_eq!(size(&place)["limit"], json!(1 << 20));
}

#[test]
fn a_cap_that_is_lowered_holds_at_once() {
    let place = Place::with(PRESETS, &["echo"]).with_own_cache();
    let echo = place.gate_bytes("echo");
    let mut client = Client::start(&place, "one");
    client.tools();
    for version in 1..=6 {
        place.replace_gate("echo", &variant(&echo, version));
        while client.log().matches("was reloaded").count() < usize::from(version) {
            std::thread::yield_now();
        }
    }
    assert_eq!(size(&place)["components"], 7, "all fit into one gibibyte");
    place.write("presets.toml", format!("[host]\ncache_size = \"1 MiB\"\n{PRESETS}"));
    client.log_with("is in use");
    let within = |usage: &Value| usage["bytes"].as_u64().is_some_and(|bytes| bytes <= 1 << 20);
    while !within(&size(&place)) {}
}

#[test]
fn hosts_with_other_data_folders_share_it() {
    let place = Place::with(PRESETS, &["echo"]).with_own_cache();
    let other = Place::with(PRESETS, &["echo"]).with_own_cache();
    let cache = place.path("cache").display().to_string();
    for place in [&place, &other] {
        let mut client = Client::raw(place, &["serve", "--preset", "one"], &[("XDG_CACHE_HOME", &cache)]);
        client.initialize("2025-11-25");
        assert_eq!(client.text("echo", json!({"text": "a"})), "a");
    }
    let files = fs::read_dir(place.path("cache/gatehouse/machine-code")).expect("the folder").count();
    assert_eq!(files, 1, "the same component is compiled once");
    let index: Value =
        serde_json::from_slice(&fs::read(place.path("cache/gatehouse/gates.json")).expect("the index"))
            .expect("JSON");
    assert_eq!(index["files"].as_object().map(serde_json::Map::len), Some(2), "{index}");
    assert!(compiled(&place).is_empty() && compiled(&other).is_empty());
}

#[cfg(unix)]
#[test]
fn a_cache_that_others_can_enter_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;
    let place = Place::with(PRESETS, &["echo"]).with_own_cache();
    Client::start(&place, "one").tools();
    let planted = compiled(&place).pop().expect("machine code");
    fs::write(&planted, b"not what was compiled").expect("planted");
    let folder = place.path(".cache/gatehouse/machine-code");
    fs::set_permissions(&folder, fs::Permissions::from_mode(0o777)).expect("opened");
    fs::remove_file(place.path(".cache/gatehouse/gates.json")).expect("no index");
    assert_eq!(Client::start(&place, "one").text("echo", json!({"text": "compiled"})), "compiled");
    assert_eq!(fs::metadata(&folder).expect("there").permissions().mode() & 0o777, 0o700);
    assert_ne!(fs::read(&planted).expect("compiled anew"), b"not what was compiled");
}

#[test]
fn damaged_machine_code_is_compiled_again_and_never_run() {
    let place = Place::with(PRESETS, &["echo"]).with_own_cache();
    Client::start(&place, "one").tools();
    let file = compiled(&place).pop().expect("machine code");
    let whole = fs::read(&file).expect("machine code");
    // Single bit flips in the header, the code and the checksum (the last byte), then a truncated and an empty file.
    let bits = (1..8).map(|eighth| whole.len() * eighth).chain([0, whole.len() * 8 - 1]);
    let flipped = bits.map(|bit| {
        let mut bytes = whole.clone();
        bytes[bit / 8] ^= 1 << (bit % 8);
        bytes
    });
    for damaged in flipped.chain([whole[..whole.len() / 2].to_vec(), Vec::new()]) {
        fs::write(&file, damaged).expect("damaged");
        let mut client = Client::start(&place, "one");
        for text in ["first", "second"] {
            assert_eq!(client.text("echo", json!({ "text": text })), text);
        }
        assert_eq!(client.log().matches("compiled gate is damaged").count(), 1, "{}", client.log());
        let mut after = Client::start(&place, "one");
        assert_eq!(after.text("echo", json!({"text": "mapped"})), "mapped");
        assert!(!after.log().contains("damaged"), "{}", after.log());
    }
}

#[test]
fn a_size_that_is_none_is_refused_with_its_place() {
    for (size, reason) in
        [("much", "invalid size 'much'"), ("1 KiB", "cache_size must be from 1 MiB to 1024 GiB")]
    {
        let ran = Place::with(&format!("[host]\ncache_size = \"{size}\"\n"), &[]).run(&["status"]);
        assert_eq!(ran.code(), 2);
        assert!(
            ran.stderr().contains("presets.toml:2:14: ") && ran.stderr().contains(reason),
            "{}",
            ran.stderr()
        );
    }
}
