//! The archive, the checksums, and that packages do not depend on when they were made.

use std::{fs, process::Command};

use sha2::{Digest, Sha256};

use super::{Packages, must};

#[test]
fn the_archive_runs_where_it_was_unpacked() {
    let packages = Packages::of(&["archive"]);
    let place = &packages.place;
    must(Command::new("tar").arg("-xzf").arg(packages.file(".tar.gz")).current_dir(place.folder.path()));
    let name = format!("gatehouse-{}-{}", env!("CARGO_PKG_VERSION"), super::TRIPLE);
    for file in [
        "LICENSE",
        "README.md",
        "CHANGELOG.md",
        "presets.toml",
        "completions/_gatehouse",
        "man/gatehouse.1",
        // Messages of the program name this page.
        "docs/presets.md",
    ] {
        assert!(place.path(&name).join(file).is_file(), "{file}");
    }
    let licences = fs::read_to_string(place.path(&name).join("THIRD-PARTY.md")).expect("licences");
    for linked in ["| ghse-256 |", "| tokio |", "| wasmtime |", "Permission is hereby granted"] {
        assert!(licences.contains(linked), "{linked}");
    }
    assert!(!licences.contains("| gatehouse"), "ours is LICENSE");
    packages.serves(&place.path(&name).join("gatehouse"));
}

#[test]
fn the_same_binary_makes_the_same_bytes() {
    let packages = Packages::of(&["wheel", "registry"]);
    packages.make("again", &["wheel", "registry"]);
    for file in packages.all() {
        let again = packages.place.path("again").join(file.file_name().expect("a name"));
        let differ = fs::read(&file).expect("a package") != fs::read(again).expect("the same");
        assert!(!differ, "{}", file.display());
    }
    let sums = fs::read_to_string(packages.place.path("packages/SHA256SUMS")).expect("checksums");
    assert_eq!(sums.lines().count(), 2, "{sums}");
    for line in sums.lines() {
        let (sum, name) = line.split_once("  ").expect("as sha256sum writes it");
        let package = fs::read(packages.place.path("packages").join(name)).expect("a package");
        let digest: String = Sha256::digest(package).iter().map(|byte| format!("{byte:02x}")).collect();
        assert_eq!(sum, digest, "{name}");
    }
}
