//! Data folder backups: a clean stop leaves each database in one file, `backup` copies while hosts run, and `restore`
//! replaces everything or nothing.

mod adversary;
#[cfg(unix)]
mod killed;

use std::{
    ffi::OsStr,
    fs,
    io::{BufRead as _, BufReader},
    os::unix::ffi::OsStrExt as _,
    process::{Child, Command, Stdio},
};

use serde_json::json;

use crate::support::{Client, Place, place::Ran};

const PRESETS: &str = "[gates.keeper]\ngrants = [\"kv\"]\n[gates.keeper.folders]\n\"/own\" = { private = true }\n\
                       [presets.p]\ngates.keeper = {}\n";

fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), code, "{arguments:?}: {}{}", ran.stdout(), ran.stderr());
    ran
}

/// Returns the size of a database's write-ahead log, which is 0 if all data is in the main file.
fn beside(place: &Place, database: &str) -> u64 {
    fs::metadata(place.path(&format!("state/{database}-wal"))).map_or(0, |about| about.len())
}

fn full() -> Place {
    let place = Place::with(PRESETS, &["keeper"]);
    let wiki = place.sample_wiki().display().to_string();
    run(&place, 0, &["kg", "index", &wiki]);
    let mut client = Client::start(&place, "p");
    client.text("keep", json!({"key": "k", "value": "kept"}));
    client.text("write_file", json!({"path": "/own/note", "text": "written"}));
    client.close();
    place.write("state/components/ab.wasm", "one installed part");
    place
}

#[test]
fn a_backup_may_have_a_name_that_is_not_utf_8() {
    let place = full();
    let name = OsStr::from_bytes(b"b\xe9.tar");
    for json in [&[][..], &["--json"]] {
        let made =
            place.command(&["backup", "--force"]).args(json).arg(name).output().expect("run gatehouse");
        let stdout = String::from_utf8_lossy(&made.stdout);
        assert!(
            made.status.success() && stdout.contains(".tar"),
            "{stdout}{}",
            String::from_utf8_lossy(&made.stderr)
        );
    }
}

fn is_full(place: &Place) {
    assert_eq!(run(place, 0, &["status", "--json"]).json()["knowledge"]["pages"], 28);
    let found = run(place, 0, &["kg", "search", "when should a call be retried"]).stdout();
    assert!(found.contains("Repeat_Only_What_May_Be_Repeated"), "{found}");
    let mut client = Client::start(place, "p");
    assert_eq!(client.text("recall", json!({"name": "k"})), "kept");
    assert_eq!(client.text("read_file", json!({"path": "/own/note"})), "written");
    assert_eq!(
        fs::read_to_string(place.path("state/components/ab.wasm")).expect("a file"),
        "one installed part"
    );
}

fn empty() -> Place {
    Place::with(PRESETS, &["keeper"])
}

#[test]
fn a_clean_stop_leaves_each_database_whole_in_its_one_file() {
    let place = full();
    for database in ["knowledge.db", "kv.db"] {
        assert_eq!(beside(&place, database), 0, "{database}");
    }
    let other = empty();
    for name in ["knowledge.db", "kv.db", "gates/keeper/own/note", "components/ab.wasm"] {
        other
            .write(&format!("state/{name}"), fs::read(place.path(&format!("state/{name}"))).expect("a file"));
    }
    is_full(&other);
}

#[test]
fn the_last_of_several_hosts_leaves_one_whole_file() {
    let place = empty();
    let (mut one, mut two) = (Client::start(&place, "p"), Client::start(&place, "p"));
    one.text("keep", json!({"key": "a", "value": "1"}));
    two.text("keep", json!({"key": "b", "value": "2"}));
    assert_eq!(one.close(), Some(0));
    two.text("keep", json!({"key": "c", "value": "3"}));
    assert_eq!(two.close(), Some(0));
    assert_eq!(beside(&place, "kv.db"), 0);
    let other = empty();
    other.write("state/kv.db", fs::read(place.path("state/kv.db")).expect("a file"));
    assert_eq!(Client::start(&other, "p").text("kept", json!({"name": ""})), "a b c");
}

/// Process that is killed when its test ends.
struct Ends(Child);

impl Drop for Ends {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_terminated_host_over_http_leaves_one_whole_file() {
    let place = empty();
    let mut command = place.command(&["serve", "--preset", "p", "--http", "127.0.0.1:0"]);
    let mut host = Ends(command.stderr(Stdio::piped()).spawn().expect("start gatehouse"));
    let mut lines = BufReader::new(host.0.stderr.take().expect("stderr")).lines().map_while(Result::ok);
    let line = lines.find(|line| line.contains("http://")).expect("an address");
    let url = line[line.find("http://").expect("an address")..].trim().to_owned();
    std::thread::spawn(move || lines.for_each(drop));
    let about = "io.modelcontextprotocol";
    let message = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {
        "name": "keep", "arguments": {"key": "k", "value": "over http"},
        "_meta": {format!("{about}/protocolVersion"): "2026-07-28",
                  format!("{about}/clientInfo"): {"name": "test", "version": "1"},
                  format!("{about}/clientCapabilities"): {}}}});
    let mut answer = ureq::post(&url)
        .header("content-type", "application/json")
        .header("accept", "application/json, text/event-stream")
        .header("mcp-protocol-version", "2026-07-28")
        .header("mcp-method", "tools/call")
        .header("mcp-name", "keep")
        .send(message.to_string())
        .expect("an answer");
    let answer = answer.body_mut().read_to_string().expect("a body");
    assert!(answer.contains("kept"), "{answer}");
    let pid = host.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
    assert!(host.0.wait().expect("the host ends").success());
    assert_eq!(beside(&place, "kv.db"), 0);
    let other = empty();
    other.write("state/kv.db", fs::read(place.path("state/kv.db")).expect("a file"));
    assert_eq!(Client::start(&other, "p").text("recall", json!({"name": "k"})), "over http");
}

#[test]
fn a_backup_of_a_running_host_is_restored_whole_elsewhere() {
    let place = full();
    let mut host = Client::start(&place, "p");
    host.text("keep", json!({"key": "late", "value": "also"}));
    let file = place.path("all.tar").display().to_string();
    let report = run(&place, 0, &["backup", &file, "--json"]).json();
    assert_eq!(report["left_out"], json!([]));
    assert!(
        report["databases"]["knowledge.db"].is_u64() && report["databases"]["kv.db"].is_u64(),
        "{report}"
    );
    host.text("keep", json!({"key": "later", "value": "not in it"}));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&file).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it contains the data of gates");
    }

    let other = empty();
    run(&other, 0, &["restore", &file]);
    is_full(&other);
    assert_eq!(Client::start(&other, "p").text("kept", json!({"name": ""})), "k late");
    assert!(!other.path("state/restore").exists());
    assert_eq!(host.text("recall", json!({"name": "later"})), "not in it");
}

#[test]
fn nothing_is_overwritten_unless_that_is_asked_for() {
    let place = full();
    let file = place.write("precious", "mine").display().to_string();
    let stderr = run(&place, 1, &["backup", &file]).stderr();
    assert!(stderr.contains("already exists; name another file, or add --force"), "{stderr}");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "mine");
    run(&place, 0, &["backup", &file, "--force"]);
    let stderr = run(&place, 1, &["restore", &file]).stderr();
    assert!(
        stderr.contains("already contains knowledge.db, kv.db, ledger.db, components, gates"),
        "{stderr}"
    );
    let mut client = Client::start(&place, "p");
    client.text("keep", json!({"key": "k", "value": "newer"}));
    client.text("write_file", json!({"path": "/own/newer", "text": "x"}));
    client.close();
    run(&place, 0, &["restore", &file, "--force"]);
    is_full(&place);
    let names = Client::start(&place, "p").text("list_folder", json!({"name": "/own"}));
    assert_eq!(names, "note", "files created after the backup are gone");
    let nothing = run(&empty(), 1, &["backup", "x.tar"]).stderr();
    assert!(nothing.contains("there is nothing to back up in "), "{nothing}");
}

#[test]
fn a_restore_waits_for_nobody_and_is_refused_while_a_host_runs() {
    let place = full();
    let file = place.path("all.tar").display().to_string();
    run(&place, 0, &["backup", &file]);
    let mut host = Client::start(&place, "p");
    host.text("recall", json!({"name": "k"}));
    let stderr = run(&place, 1, &["restore", &file, "--force"]).stderr();
    let pid = host.pid().to_string();
    assert!(
        stderr.contains("Stop them first") && stderr.contains(&pid) || stderr.contains("the file is in use"),
        "{stderr}"
    );
    assert_eq!(host.text("recall", json!({"name": "k"})), "kept");
    host.close();
    run(&place, 0, &["restore", &file, "--force"]);
    is_full(&place);
}

#[test]
fn a_restore_warns_that_revoked_keys_work_again() {
    let place = Place::with("[presets.p]\ngates.echo = {}\n[auth]\n", &["echo"]);
    let file = place.path("all.tar").display().to_string();
    run(&place, 0, &["keys", "create", "ann"]);
    run(&place, 0, &["backup", &file]);
    run(&place, 0, &["keys", "revoke", "ann"]);
    let warning = run(&place, 0, &["restore", &file, "--force"]).stderr();
    assert!(warning.contains("keys that were revoked since then work again"), "{warning}");
    assert!(run(&place, 0, &["keys", "list"]).stdout().contains("ann"));
    let without = place.path("without.tar").display().to_string();
    let other = Place::with("[presets.p]\ngates.echo = {}\n", &["echo"]);
    run(&other, 0, &["call", "--preset", "p", "echo", "{\"text\": \"x\"}"]);
    run(&other, 0, &["backup", &without]);
    let warning = run(&place, 0, &["restore", &without, "--force"]).stderr();
    assert!(warning.contains("the backup has no API keys, so all present keys stop working"), "{warning}");
}
