//! Broken and hostile archives, odd files in gate folders, full disks, and interrupted restores.

use std::{fs, os::unix::fs::symlink, process::Command};

use super::{empty, full, is_full, run};
use crate::support::place::Ran;

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
        ("flipped.tar", &flipped, "'components/ab.wasm' is missing or does not match the manifest"),
        ("text.tar", b"not a tar at all", "is not a backup that can be restored"),
        ("empty.tar", b"", "it has no manifest, so it is incomplete"),
    ];
    for (name, content, expected) in cases {
        let file = place.write(name, content).display().to_string();
        let stderr = run(&place, 1, &["restore", &file, "--force"]).stderr();
        assert!(stderr.contains(expected), "{name}: {stderr}");
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
    tar(&["-c", "-C", &folder("made"), "gates"]);
    tar(&["-r", "-C", &folder("through"), "gates/a/x"]);
    run(&place, 1, &["restore", &archive.display().to_string()]);
    assert!(!outside.join("x").exists());
    tar(&["-c", "-P", "-C", &folder("through"), "--transform", "s,^gates/a/x,../escaped,", "gates/a/x"]);
    let stderr = run(&place, 1, &["restore", &archive.display().to_string()]).stderr();
    assert!(stderr.contains("unexpected path '../escaped'"), "{stderr}");
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
    let report = run(&place, 0, &["backup", &file, "--json"]).json();
    let left: Vec<&str> =
        report["left_out"].as_array().expect("a list").iter().filter_map(|l| l.as_str()).collect();
    assert_eq!(left.len(), 2, "{report}");
    assert!(left[0].contains("nested directories") && left[1].contains("own/pipe: it is not a regular file"));
    assert!(!String::from_utf8_lossy(&fs::read(&file).expect("the backup")).contains("of the operator"));
    let other = empty();
    run(&other, 0, &["restore", &file]);
    is_full(&other);
    let link = fs::read_link(other.path("state/gates/keeper/own/link")).expect("a link");
    assert_eq!(link, secret);
}

#[test]
fn a_full_disk_is_reported_and_leaves_no_file() {
    let place = full();
    let file = place.path("all.tar");
    run(&place, 0, &["backup", &file.display().to_string()]);
    // A file size limit fails writes as a full disk does.
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
    // State of a restore that was killed after it moved the databases and before it moved the folders.
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
