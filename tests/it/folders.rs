//! Folders of a gate from `presets.toml`: read-only and private ones, and no path out of them.

use std::fs;

use serde_json::json;

use crate::support::{Client, Place};

fn place(folders: &str) -> Place {
    let presets = format!("[gates.keeper.folders]\n{folders}\n[presets.p]\ngates.keeper = {{}}\n");
    Place::with(&presets, &["keeper"])
}

#[test]
fn a_folder_is_read_and_never_written() {
    let place = place("\"/data\" = { path = \"data\" }");
    place.write("data/a.txt", "its content");
    place.write("data/below/b.txt", "deeper");
    place.write("outside.txt", "secret");
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("read_file", json!({"path": "/data/a.txt"})), "its content");
    assert_eq!(client.text("read_file", json!({"path": "/data/below/b.txt"})), "deeper");
    assert_eq!(client.text("list_folder", json!({"name": "/data"})), "a.txt below");
    for path in ["/data/new.txt", "/data/a.txt"] {
        client.fails("write_file", json!({"path": path, "text": "mine"}));
    }
    client.fails("link_file", json!({"original": "/data/a.txt", "link": "/data/c.txt"}));
    for path in [
        "/data/../outside.txt",
        "/outside.txt",
        "/etc/passwd",
        "outside.txt",
        "/data/below/../../outside.txt",
    ] {
        let text = client.fails("read_file", json!({"path": path}));
        assert!(!text.contains("secret"), "{path}: {text}");
    }
    assert_eq!(fs::read_to_string(place.path("data/a.txt")).expect("still there"), "its content");
    assert_eq!(fs::read_dir(place.path("data")).expect("a folder").count(), 2);
}

#[cfg(unix)]
#[test]
fn links_do_not_lead_out() {
    use std::os::unix::fs::symlink;
    let place = place("\"/data\" = { path = \"data\" }\n\"/own\" = { private = true }");
    place.write("data/a.txt", "inside");
    place.write("outside.txt", "secret");
    symlink(place.path("outside.txt"), place.path("data/absolute")).expect("linked");
    symlink("../outside.txt", place.path("data/relative")).expect("linked");
    symlink("..", place.path("data/up")).expect("linked");
    symlink("a.txt", place.path("data/within")).expect("linked");
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("read_file", json!({"path": "/data/within"})), "inside");
    for path in ["/data/absolute", "/data/relative", "/data/up/outside.txt"] {
        let text = client.fails("read_file", json!({"path": path}));
        assert!(!text.contains("secret"), "{path}: {text}");
    }
    // A second name in a writable folder must not make a read-only file writable.
    client.text("write_file", json!({"path": "/own/mine", "text": "x"}));
    client.fails("link_file", json!({"original": "/data/a.txt", "link": "/own/a.txt"}));
}

#[test]
fn a_private_folder_is_the_gates_alone_and_stays() {
    let presets = "[gates.mine]\ncomponent = \"gates/keeper.wasm\"\nfolders.\"/notes\" = { private = true }\n\
                   [gates.yours]\ncomponent = \"gates/keeper.wasm\"\nfolders.\"/notes\" = { private = true }\n\
                   [presets.mine]\ngates.mine = {}\n[presets.yours]\ngates.yours = {}\n";
    let place = Place::with(presets, &["keeper"]);
    let (mut mine, mut yours) = (Client::start(&place, "mine"), Client::start(&place, "yours"));
    assert!(!place.path("state/gates").exists(), "nothing is created before a call needs it");
    mine.text("write_file", json!({"path": "/notes/a", "text": "mine"}));
    assert_eq!(mine.text("read_file", json!({"path": "/notes/a"})), "mine");
    assert_eq!(yours.text("list_folder", json!({"name": "/notes"})), "");
    yours.fails("read_file", json!({"path": "/notes/../../mine/notes/a"}));
    drop(mine);
    let mut mine = Client::start(&place, "mine");
    assert_eq!(mine.text("list_folder", json!({"name": "/notes"})), "a");
    assert_eq!(fs::read_to_string(place.path("state/gates/mine/notes/a")).expect("a file"), "mine");
}

#[test]
fn a_private_folder_has_a_quota() {
    let presets = "[gates.keeper]\nlimits = { folder = \"4 KiB\" }\nfolders.\"/notes\" = { private = true }\n\
                   [presets.p]\ngates.keeper = {}\n";
    let place = Place::with(presets, &["keeper"]);
    let mut client = Client::start(&place, "p");
    client.text("write_file", json!({"path": "/notes/a", "text": "x".repeat(6 << 10)}));
    let text = client.fails("count", json!({}));
    assert!(text.contains("gate 'keeper' stores 6 KiB in its private folders; its quota is 4 KiB"), "{text}");
    assert!(text.contains("raise limits.folder under [gates.keeper] in presets.toml"), "{text}");
    fs::remove_file(place.path("state/gates/keeper/notes/a")).expect("tidied up");
    assert_eq!(client.text("count", json!({})), "1");
}

#[test]
fn a_missing_folder_fails_calls_and_warns_before() {
    let place = place("\"/data\" = { path = \"data\" }");
    let mut client = Client::start(&place, "p");
    let text = client.fails("count", json!({}));
    assert!(
        text.contains("gate 'keeper' cannot open its folder '/data': ") && text.contains("/data"),
        "{text}"
    );
    assert!(text.contains("change [gates.keeper.folders] in presets.toml"), "{text}");
    let doctor = place.run(&["doctor"]);
    assert_eq!(doctor.code(), 0, "{}", doctor.stderr());
    assert!(doctor.stdout().contains("warn  gate keeper, folder /data: "), "{}", doctor.stdout());
    fs::create_dir(place.path("data")).expect("made");
    assert_eq!(client.text("count", json!({})), "1");
    assert!(!place.run(&["doctor"]).stdout().contains("warn  gate"));
}

#[test]
fn folders_are_shown_before_the_gate_is_used() {
    let place = place("\"/data\" = { path = \"data\" }\n\"/own\" = { private = true }");
    let gate = place.run(&["gates", "inspect", "keeper", "--json"]).json();
    let shown = json!([
        {"guest": "/data", "host": place.path("data"), "private": false},
        {"guest": "/own", "host": place.path("state/gates/keeper/own"), "private": true},
    ]);
    assert_eq!(gate["folders"], shown);
    let text = place.run(&["gates", "inspect", "keeper"]).stdout();
    assert!(text.contains("folder       /data is ") && text.contains("(private, read and write)"), "{text}");
}

#[test]
fn a_folder_that_makes_no_sense_is_refused_with_its_place() {
    let cases = [
        ("\"data\" = { path = \"data\" }", ":2:1: invalid folder name 'data'"),
        ("\"/a/../b\" = { path = \"data\" }", ":2:1: invalid folder name '/a/../b'"),
        ("\"/a\" = {}", ":2:1: '/a' needs either path = \"…\" or private = true"),
        ("\"/a\" = { path = \"x\", private = true }", ":2:1: '/a' needs either"),
        ("\"/a\" = { private = true }\n\"/a/b\" = { private = true }", ":3:1: '/a/b' and '/a' overlap"),
        ("\"/a\" = { path = \"x\", mode = \"rw\" }", "unknown key 'mode'"),
    ];
    for (folders, expected) in cases {
        let ran = place(folders).run(&["presets", "list"]);
        assert_eq!(ran.code(), 2, "{}", ran.stdout());
        assert!(ran.stderr().contains(expected), "{folders}: {}", ran.stderr());
    }
}

#[cfg(unix)]
#[test]
fn what_is_neither_file_nor_folder_is_not_opened() {
    let presets = "[gates.keeper]\ngrants = [\"kv\"]\nlimits = { time = \"5 s\" }\n\
                   [gates.keeper.folders]\n\"/data\" = { path = \"data\" }\n[presets.p]\ngates.keeper = {}\n";
    let place = Place::with(presets, &["keeper"]);
    place.write("data/a.txt", "a file");
    let made = std::process::Command::new("mkfifo").arg(place.path("data/pipe")).status();
    assert!(made.expect("mkfifo").success());
    let _socket = std::os::unix::net::UnixListener::bind(place.path("data/socket")).expect("a socket");
    std::os::unix::fs::symlink("pipe", place.path("data/link")).expect("linked");
    let mut client = Client::start(&place, "p");
    assert_eq!(client.text("read_file", json!({"path": "/data/a.txt"})), "a file");
    for path in ["/data/pipe", "/data/link", "/data/socket"] {
        // No call runs into its deadline, so none blocks a thread.
        for _ in 0..20 {
            let text = client.fails("read_file", json!({"path": path}));
            assert!(text.contains("PermissionDenied"), "{path}: {text}");
        }
    }
    assert_eq!(client.text("list_folder", json!({"name": "/data"})), "a.txt link pipe socket");
    assert_eq!(client.text("keep", json!({"key": "a", "value": "1"})), "kept");
    client.log_with("not a file or folder");
}

#[test]
fn paths_too_long_for_the_system_do_not_brick_their_gate() {
    let place = place("\"/own\" = { private = true }");
    let mut client = Client::start(&place, "p");
    // The longest path a gate can use; the host's path to it is longer.
    let mut path = "/own".to_owned();
    for length in [250; 16].into_iter().chain([60]) {
        path = format!("{path}/{}", "d".repeat(length));
        assert_eq!(client.text("make_folder", json!({"name": path})), "made");
    }
    let file = format!("{path}/f");
    client.text("write_file", json!({"path": file, "text": "deep"}));
    assert_eq!(client.text("read_file", json!({"path": file})), "deep");
    assert_eq!(client.text("list_folder", json!({"name": "/own"})), "d".repeat(250));
}

#[test]
fn folders_lie_in_each_other_only_so_deep() {
    let place = place("\"/own\" = { private = true }");
    let mut client = Client::start(&place, "p");
    let nest = |client: &mut Client, root: &str, levels: usize| {
        let mut path = format!("/own/{root}");
        assert_eq!(client.text("make_folder", json!({"name": path})), "made");
        for _ in 1..levels {
            path.push_str("/d");
            assert_eq!(client.text("make_folder", json!({"name": path})), "made");
        }
        path
    };
    let deepest = nest(&mut client, "a", 64);
    let refused = client.fails("make_folder", json!({"name": format!("{deepest}/d")}));
    assert!(refused.contains("NAMETOOLONG") || refused.contains("InvalidFilename"), "{refused}");
    client.log_with("folders can be nested at most 64 deep");
    // Moving one folder into another must not exceed the depth either.
    let other = nest(&mut client, "b", 40);
    client.fails("move_file", json!({"original": "/own/a", "link": format!("{other}/a")}));
    assert_eq!(client.text("move_file", json!({"original": "/own/b", "link": "/own/c"})), "moved");
    client.text("write_file", json!({"path": format!("{deepest}/f"), "text": "works on"}));
    assert_eq!(client.text("list_folder", json!({"name": "/own"})), "a c");
}
