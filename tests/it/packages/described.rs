//! Descriptions of packages: the image's Containerfile and the entry for the MCP registry.

use std::{fs, process::Command};

use serde_json::Value;

use super::{Packages, must, output_text};
use crate::support::installed;

/// An image build needs the network, so a linter checks the Containerfile instead.
#[test]
fn the_recipe_of_the_image_is_sound_and_complete() {
    let Some(tools) = installed("GATEHOUSE_TEST_PACKAGE_TOOLS") else { return };
    let packages = Packages::of(&["image"]);
    let folder = packages.place.path("packages/image");
    let recipe = folder.join("Containerfile");
    must(Command::new(tools.join("hadolint")).arg(&recipe));
    let text = fs::read_to_string(recipe).expect("a recipe");
    assert!(!text.contains('@'), "a placeholder is left: {text}");
    let copied = text.lines().filter_map(|line| line.strip_prefix("COPY "));
    let words = copied.flat_map(|line| line.rsplit_once(' ').expect("from and to").0.split(' '));
    let files: Vec<&str> = words.filter(|word| !word.starts_with("--")).collect();
    assert_eq!(files, ["gatehouse", "LICENSE", "THIRD-PARTY.md"]);
    assert!(files.iter().all(|file| folder.join(file).is_file()));
    let user = text.lines().find(|line| line.starts_with("USER")).expect("a user");
    assert!(!user.contains("root") && !user.contains(" 0"), "{user}");
}

/// skillsaw contains all schemas of the MCP registry.
#[test]
fn the_registry_entry_fits_the_schema_of_the_registry() {
    let Some(tools) = installed("GATEHOUSE_TEST_PACKAGE_TOOLS") else { return };
    let packages = Packages::of(&["registry", "npm"]);
    let entry = fs::read_to_string(packages.file("server.json")).expect("an entry");
    let lint = |text: &str| {
        packages.place.write("entry/server.json", text);
        let folder = packages.place.path("entry");
        let run = Command::new(tools.join("skillsaw")).args(["lint", "--strict"]).arg(folder).output();
        run.expect("skillsaw runs")
    };
    let fine = lint(&entry);
    assert!(fine.status.success(), "{}", output_text(&fine));
    let broken = lint(&entry.replace("positional", "postitional"));
    assert!(!broken.status.success(), "it looks at the entry at all: {}", output_text(&broken));

    // The registry checks that the npm package names the entry.
    let entry: Value = serde_json::from_str(&entry).expect("JSON");
    let launcher = packages.file(concat!("gatehouse-mcp-", env!("CARGO_PKG_VERSION"), ".tgz"));
    let manifest = must(Command::new("tar").arg("-xzOf").arg(launcher).arg("package/package.json"));
    let manifest: Value = serde_json::from_str(&manifest).expect("JSON");
    assert_eq!(manifest["mcpName"], entry["name"]);
    assert_eq!(manifest["name"], entry["packages"][0]["identifier"]);
    assert_eq!(manifest["version"], entry["packages"][0]["version"]);
}
