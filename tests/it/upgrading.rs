//! Data of builds from before 0.1.0: refused with a way out, and not touched.

use std::{fs, path::PathBuf};

use serde_json::json;

use crate::support::{Client, Place, place::Ran};

const PRESETS: &str = "[gates.keeper]\ngrants = [\"kv\"]\n[presets.p]\ngates.keeper = {}\n";

fn run(place: &Place, arguments: &[&str]) -> Ran {
    let ran = place.run(arguments);
    assert_eq!(ran.code(), 0, "{arguments:?}: {}{}", ran.stdout(), ran.stderr());
    ran
}

/// Returns a place with pages, documents and values, whose databases have the schema version of an older build.
fn older() -> (Place, Vec<(PathBuf, Vec<u8>)>) {
    let place = Place::with(PRESETS, &["keeper"]);
    let wiki = place.sample_wiki().display().to_string();
    run(&place, &["kg", "index", &wiki]);
    run(&place, &["docs", "add", &wiki]);
    let mut client = Client::start(&place, "p");
    client.text("keep", json!({"key": "k", "value": "kept"}));
    assert_eq!(client.close(), Some(0));
    let files = ["knowledge.db", "documents.db", "kv.db"].map(|name| {
        let path = place.path("state").join(name);
        let mut bytes = fs::read(&path).expect("a database");
        // `user_version` in the header: four bytes at offset 60, big-endian.
        bytes[60..64].copy_from_slice(&2_u32.to_be_bytes());
        fs::write(&path, &bytes).expect("written");
        (path, bytes)
    });
    (place, files.into())
}

#[test]
fn data_of_an_older_build_is_refused_untouched_and_named_with_a_way_out() {
    let (place, files) = older();
    for (arguments, file) in [
        (&["kg", "get", "Principle/x"][..], "knowledge.db"),
        (&["kg", "search", "retry"], "knowledge.db"),
        (&["docs", "list"], "documents.db"),
        (&["backup", &place.path("backup.tar").display().to_string()], "knowledge.db"),
    ] {
        let ran = place.run(arguments);
        let said = ran.stderr();
        assert_ne!(ran.code(), 0, "{arguments:?}");
        assert!(said.contains(file) && said.contains("version 2 is from before gatehouse 0.1.0"), "{said}");
        assert!(said.contains("Keep this directory") && said.contains("GATEHOUSE_STATE"), "{said}");
    }
    let doctor = place.run(&["doctor"]);
    assert_ne!(doctor.code(), 0);
    for (path, _) in &files {
        let name = path.file_name().expect("a name").to_string_lossy();
        assert!(doctor.stdout().contains(&*name), "{name}: {}", doctor.stdout());
    }
    let mut client = Client::start(&place, "p");
    let reply = client.call("recall", json!({"name": "k"}));
    assert_eq!(reply["isError"], true, "{reply}");
    assert!(reply.to_string().contains("from before gatehouse 0.1.0"), "{reply}");
    assert_eq!(client.close(), Some(0));
    for (path, bytes) in &files {
        assert!(fs::read(path).is_ok_and(|now| now == *bytes), "{} changed", path.display());
    }
    assert!(!place.path("backup.tar").exists());
}
