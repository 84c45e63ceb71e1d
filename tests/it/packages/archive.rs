//! The archive and its checksums; packages are reproducible.

use std::{fs, process::Command};

use sha2::{Digest, Sha256};

use super::{Packages, must};
use crate::support::{Client, place::SHIPPED};

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
        // Messages refer to this page.
        "docs/presets.md",
    ] {
        assert!(place.path(&name).join(file).is_file(), "{file}");
    }
    let licences = fs::read_to_string(place.path(&name).join("THIRD-PARTY.md")).expect("licences");
    for linked in ["| ghse-256.2 |", "| tokio |", "| wasmtime |", "Permission is hereby granted"] {
        assert!(licences.contains(linked), "{linked}");
    }
    assert!(!licences.contains("| gatehouse"), "ours is LICENSE");
    packages.serves(&place.path(&name).join("gatehouse"));
}

#[test]
fn a_first_start_maps_the_machine_code_of_the_archive() {
    let packages = Packages::of(&["registry"]);
    let place = &packages.place;
    let program = place.path("small/gatehouse");
    must(packages.command(&program, &["cache", "precompile"]).arg(place.path("code")));
    let code = place.path("code").display().to_string();
    packages.make("packages", &["archive", "--machine-code", &code]);
    must(Command::new("tar").arg("-xzf").arg(packages.file(".tar.gz")).current_dir(place.folder.path()));
    let folder = place.path(&format!("gatehouse-{}-{}", env!("CARGO_PKG_VERSION"), super::TRIPLE));
    let serve = || {
        let serve = ["serve", "--preset", "full", "--config", "built-in"];
        let mut command = packages.command(&folder.join("gatehouse"), &serve);
        // The place's own home shares compiled gates with other tests.
        command.env("HOME", place.path("home"));
        let mut client = Client::spawn(command);
        client.initialize("2025-11-25");
        assert!(client.tools().contains(&"search_knowledge".to_owned()));
        client
    };
    let client = serve();
    let compiled = place.path("home/.cache/gatehouse/machine-code");
    assert!(!compiled.exists(), "{}", client.log());
    drop(client);

    let files: Vec<_> = fs::read_dir(folder.join("machine-code")).expect("code").flatten().collect();
    assert_eq!(files.len(), SHIPPED.len());
    for file in files {
        let mut bytes = fs::read(file.path()).expect("code");
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        fs::write(file.path(), bytes).expect("damaged");
    }
    fs::remove_file(place.path("home/.cache/gatehouse/gates.json")).expect("no index");
    let client = serve();
    assert!(compiled.exists(), "{}", client.log());
    assert!(client.log().contains("packaged machine code does not match"), "{}", client.log());
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
