//! Backups and restores that end by SIGKILL: their temporary copies are private, and the next run removes them.

use std::{
    fs::{self, File},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use super::{Ends, empty, full, is_full, run};
use crate::support::Place;

fn temporary(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(".tmp-gatehouse-"))
        .map(|entry| entry.path())
        .collect()
}

fn started(place: &Place, arguments: &[&str], is_so_far: impl Fn() -> bool) -> Ends {
    let mut command = place.command(arguments);
    let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("start gatehouse");
    let mut child = Ends(child);
    while !is_so_far() {
        assert!(child.0.try_wait().expect("wait").is_none(), "{arguments:?} ended before it was killed");
        std::thread::yield_now();
    }
    child
}

/// Adds a file that takes long enough to copy that the test can interrupt it.
fn enlarge(place: &Place) {
    let file = File::create(place.path("state/components/large.wasm")).expect("a file");
    file.set_len(96 << 20).expect("a long file");
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).expect("there").permissions().mode() & 0o777
}

#[test]
fn a_backup_is_private_while_it_runs_and_its_remains_go_with_the_next_one() {
    let place = full();
    enlarge(&place);
    let folder = place.path("shared");
    fs::create_dir(&folder).expect("a folder");
    let file = |name: &str| folder.join(name).display().to_string();
    let has_copies = || temporary(&folder).iter().any(|work| work.join("kv.db").exists());
    let mut killed = started(&place, &["backup", &file("first.tar")], has_copies);
    let pid = killed.0.id().to_string();
    assert!(Command::new("kill").args(["-STOP", &pid]).status().expect("kill").success());
    let work = temporary(&folder).pop().expect("its folder");
    assert_eq!(mode(&work), 0o700);
    for entry in fs::read_dir(&work).expect("its content").flatten() {
        let name = entry.file_name().display().to_string();
        assert!(name == "lock" || mode(&entry.path()) == 0o600, "{name} can be read by others");
    }
    // The first backup is still running, so the second keeps its files.
    run(&place, 0, &["backup", &file("second.tar")]);
    assert_eq!(temporary(&folder), [work.as_path()]);
    killed.0.kill().expect("kill");
    killed.0.wait().expect("it ends");
    assert_eq!(temporary(&folder), [work.as_path()]);
    run(&place, 0, &["backup", &file("third.tar")]);
    assert!(temporary(&folder).is_empty());
    assert!(!folder.join("first.tar").exists());
}

#[test]
fn a_restore_that_is_killed_before_it_counts_leaves_nothing_to_the_next_command() {
    let place = full();
    enlarge(&place);
    let file = place.path("all.tar").display().to_string();
    run(&place, 0, &["backup", &file]);
    let other = empty();
    let state = other.path("state");
    let unpacks = || temporary(&state).iter().any(|work| work.join("new/components/large.wasm").exists());
    let mut killed = started(&other, &["restore", &file], unpacks);
    killed.0.kill().expect("kill");
    killed.0.wait().expect("it ends");
    assert_eq!(temporary(&state).len(), 1);
    run(&other, 0, &["status"]);
    assert!(temporary(&state).is_empty());
    run(&other, 0, &["restore", &file]);
    is_full(&other);
}

#[test]
fn what_a_killed_command_left_next_to_presets_toml_goes_with_the_next_change() {
    let place = Place::with("[presets.p]\ngates.keeper = {}\n", &["keeper"]);
    let left = place.write(".tmp-gatehouse-killed", "half of a presets.toml");
    run(&place, 0, &["servers", "add", "echo", "--", "cat"]);
    assert!(!left.exists());
    assert!(fs::read_to_string(place.path("presets.toml")).expect("the file").contains("[servers.echo]"));
}
