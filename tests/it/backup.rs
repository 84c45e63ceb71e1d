//! The data folder as one file: a clean stop leaves whole databases, `backup` copies while hosts run, `restore`
//! puts everything back or nothing.

use std::{fs, os::unix::fs::symlink, process::Command};

use serde_json::json;

use crate::support::{Client, Place, place::Ran};

const PRESETS: &str = "[gates.keeper]\ngrants = [\"kv\"]\n[gates.keeper.folders]\n\"/own\" = { private = true }\n\
                       [presets.p]\ngates.keeper = {}\n";

fn run(place: &Place, code: i32, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), code, "{arguments:?}: {}{}", ran.stdout(), ran.stderr());
    ran
}

/// How many bytes of a database are not in its file.
fn beside(place: &Place, database: &str) -> u64 {
    fs::metadata(place.path(&format!("state/{database}-wal"))).map_or(0, |about| about.len())
}

/// A place where a gate has kept something in each way, and a wiki was indexed.
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

/// What `full` made is there.
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
    // Who copies the files, and no other, has all of it.
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

#[test]
fn a_backup_of_a_running_host_is_restored_whole_elsewhere() {
    let place = full();
    let mut host = Client::start(&place, "p");
    host.text("keep", json!({"key": "late", "value": "also"}));
    let file = place.path("all.tar").display().to_string();
    let told = run(&place, 0, &["backup", &file, "--json"]).json();
    assert_eq!(told["left_out"], json!([]));
    assert!(told["databases"]["knowledge.db"].is_u64() && told["databases"]["kv.db"].is_u64(), "{told}");
    host.text("keep", json!({"key": "later", "value": "not in it"}));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(&file).expect("the file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "it holds what gates keep");
    }

    let other = empty();
    run(&other, 0, &["restore", &file]);
    is_full(&other);
    assert_eq!(Client::start(&other, "p").text("kept", json!({"name": ""})), "k late");
    assert!(!other.path("state/restore").exists());
    // The host went on meanwhile.
    assert_eq!(host.text("recall", json!({"name": "later"})), "not in it");
}

#[test]
fn nothing_is_overwritten_unless_that_is_asked_for() {
    let place = full();
    let file = place.write("precious", "mine").display().to_string();
    let said = run(&place, 1, &["backup", &file]).stderr();
    assert!(said.contains("is there already; name another file, or add --force"), "{said}");
    assert_eq!(fs::read_to_string(&file).expect("the file"), "mine");
    run(&place, 0, &["backup", &file, "--force"]);
    let said = run(&place, 1, &["restore", &file]).stderr();
    assert!(said.contains("holds knowledge.db, kv.db, components, gates already"), "{said}");
    let mut client = Client::start(&place, "p");
    client.text("keep", json!({"key": "k", "value": "newer"}));
    client.text("write_file", json!({"path": "/own/newer", "text": "x"}));
    client.close();
    run(&place, 0, &["restore", &file, "--force"]);
    is_full(&place);
    let names = Client::start(&place, "p").text("list_folder", json!({"name": "/own"}));
    assert_eq!(names, "note", "what came after the backup is gone");
    let nothing = run(&empty(), 1, &["backup", "x.tar"]).stderr();
    assert!(nothing.contains("there is nothing to keep in "), "{nothing}");
}

#[test]
fn a_restore_waits_for_nobody_and_is_refused_while_a_host_runs() {
    let place = full();
    let file = place.path("all.tar").display().to_string();
    run(&place, 0, &["backup", &file]);
    let mut host = Client::start(&place, "p");
    host.text("recall", json!({"name": "k"}));
    let said = run(&place, 1, &["restore", &file, "--force"]).stderr();
    let pid = host.pid().to_string();
    assert!(
        said.contains("End them first") && said.contains(&pid) || said.contains("it is in use"),
        "{said}"
    );
    assert_eq!(host.text("recall", json!({"name": "k"})), "kept");
    host.close();
    run(&place, 0, &["restore", &file, "--force"]);
    is_full(&place);
}

#[test]
fn what_is_no_whole_backup_changes_nothing() {
    let place = full();
    let good = place.path("all.tar");
    run(&place, 0, &["backup", &good.display().to_string()]);
    let bytes = fs::read(&good).expect("the backup");
    let mut flipped = bytes.clone();
    let at = flipped.windows(18).position(|window| window == b"one installed part").expect("a file in it");
    flipped[at] ^= 1;
    let cases: [(&str, &[u8], &str); 4] = [
        ("half.tar", &bytes[..bytes.len() / 2], "is not a backup that can be restored"),
        ("flipped.tar", &flipped, "'components/ab.wasm' is missing in it, or is not what the manifest says"),
        ("text.tar", b"not a tar at all", "is not a backup that can be restored"),
        ("empty.tar", b"", "it has no manifest, so its end is missing"),
    ];
    for (name, content, expected) in cases {
        let file = place.write(name, content).display().to_string();
        let said = run(&place, 1, &["restore", &file, "--force"]).stderr();
        assert!(said.contains(expected), "{name}: {said}");
        assert!(!place.path("state/restore").exists(), "{name}");
    }
    is_full(&place);
}

#[test]
fn a_hostile_archive_writes_nowhere_else() {
    let place = empty();
    let (inside, outside) = (place.path("made/gates"), place.path("outside"));
    fs::create_dir_all(&inside).expect("a folder");
    fs::create_dir_all(&outside).expect("a folder");
    symlink(&outside, inside.join("a")).expect("a link");
    place.write("through/gates/a/x", "escaped");
    let archive = place.path("evil.tar");
    let tar = |arguments: &[&str]| {
        let mut command = Command::new("tar");
        assert!(command.arg("-f").arg(&archive).args(arguments).status().expect("tar").success());
    };
    let folder = |name: &str| place.path(name).display().to_string();
    // A link, and then a file through it.
    tar(&["-c", "-C", &folder("made"), "gates"]);
    tar(&["-r", "-C", &folder("through"), "gates/a/x"]);
    run(&place, 1, &["restore", &archive.display().to_string()]);
    assert!(!outside.join("x").exists());
    // A path that leads out.
    tar(&["-c", "-P", "-C", &folder("through"), "--transform", "s,^gates/a/x,../escaped,", "gates/a/x"]);
    let said = run(&place, 1, &["restore", &archive.display().to_string()]).stderr();
    assert!(said.contains("'../escaped' does not belong there"), "{said}");
    assert!(!place.path("escaped").exists() && !place.path("state/escaped").exists());
}

#[test]
fn what_gates_put_into_their_folders_keeps_nobody_from_a_backup() {
    let place = full();
    let own = place.path("state/gates/keeper/own");
    let secret = place.write("secret", "of the operator");
    symlink(&secret, own.join("link")).expect("a link");
    assert!(Command::new("mkfifo").arg(own.join("pipe")).status().expect("mkfifo").success());
    let deep = own.join("d/".repeat(200));
    fs::create_dir_all(&deep).expect("folders");
    let file = place.path("all.tar").display().to_string();
    let told = run(&place, 0, &["backup", &file, "--json"]).json();
    let left: Vec<&str> =
        told["left_out"].as_array().expect("a list").iter().filter_map(|l| l.as_str()).collect();
    assert_eq!(left.len(), 2, "{told}");
    assert!(
        left[0].contains("folders lie in each other") && left[1].contains("own/pipe: it is no regular file")
    );
    assert!(!String::from_utf8_lossy(&fs::read(&file).expect("the backup")).contains("of the operator"));
    let other = empty();
    run(&other, 0, &["restore", &file]);
    is_full(&other);
    let link = fs::read_link(other.path("state/gates/keeper/own/link")).expect("a link");
    assert_eq!(link, secret);
}

#[test]
fn a_disk_that_is_full_is_said_and_leaves_nothing() {
    let place = full();
    let file = place.path("all.tar");
    run(&place, 0, &["backup", &file.display().to_string()]);
    // A process that may not write longer files is what a full disk looks like to it.
    let limited = |arguments: &str| {
        let mut shell = Command::new("sh");
        let command = place.command(&[]);
        let program = command.get_program().to_string_lossy().into_owned();
        shell.args(["-c", &format!("trap '' XFSZ; ulimit -f 64; exec '{program}' {arguments}")]);
        shell.current_dir(place.folder.path()).env("GATEHOUSE_STATE", place.path("state"));
        shell.env("HOME", place.folder.path()).env("GATEHOUSE_CONFIG", place.path("presets.toml"));
        Ran(shell.output().expect("run gatehouse"))
    };
    let names = || {
        let entries = fs::read_dir(place.folder.path()).expect("the folder");
        let mut names: Vec<_> = entries.map(|entry| entry.expect("an entry").file_name()).collect();
        names.sort();
        names
    };
    let before = names();
    let ran = limited("backup second.tar");
    assert_eq!(ran.code(), 1, "{}", ran.stderr());
    assert!(ran.stderr().contains("second.tar: the databases cannot be copied: "), "{}", ran.stderr());
    assert_eq!(names(), before, "nothing is left");
    let ran = limited("restore all.tar --force");
    assert_eq!(ran.code(), 1, "{}", ran.stderr());
    assert!(ran.stderr().contains("cannot be written"), "{}", ran.stderr());
    assert!(!place.path("state/restore").exists());
    is_full(&place);
}

#[test]
fn a_restore_that_was_killed_goes_on_with_the_next_command() {
    let place = full();
    let file = place.path("all.tar").display().to_string();
    run(&place, 0, &["backup", &file]);
    let state = |name: &str| place.path(&format!("state/{name}"));
    // As it is after the databases came to their places, and before the folders did.
    let unpacked = state("restore/new");
    fs::create_dir_all(&unpacked).expect("a folder");
    assert!(Command::new("tar").args(["-xf", &file, "-C"]).arg(&unpacked).status().expect("tar").success());
    fs::create_dir_all(state("restore/old")).expect("a folder");
    for name in ["knowledge.db", "kv.db"] {
        fs::rename(state(name), state(&format!("restore/old/{name}"))).expect("moved away");
        fs::rename(unpacked.join(name), state(name)).expect("moved in");
    }
    fs::rename(state("gates"), state("restore/old/gates")).expect("moved away");
    place.write("state/restore/ready", "[\"knowledge.db\", \"kv.db\", \"components\", \"gates\"]");
    is_full(&place);
    assert!(!state("restore").exists());
}
