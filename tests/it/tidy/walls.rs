//! Dependencies between crates, read from `cargo metadata`.

use std::process::Command;

use serde_json::Value;

use super::none;
use crate::support::repository;

/// Our crates that the crates of a folder may use; the first matching line applies.
const MAY_KNOW: [(&str, &[&str]); 20] = [
    ("host/auth", &["gatehouse-core", "gatehouse-net", "gatehouse-telemetry"]),
    ("host/core", &["gatehouse-telemetry"]),
    ("host/files", &[]),
    ("host/telemetry", &[]),
    ("host/net", &["gatehouse-core"]),
    ("host/sandbox", &["gatehouse-core", "gatehouse-files", "gatehouse-telemetry"]),
    ("host/wire", &["gatehouse-core", "gatehouse-files", "gatehouse-net", "gatehouse-telemetry"]),
    (
        "host/stores",
        &[
            "gatehouse-core",
            "gatehouse-decode",
            "gatehouse-files",
            "gatehouse-net",
            "gatehouse-stores",
            "gatehouse-telemetry",
        ],
    ),
    ("host/text", &["gatehouse-core"]),
    // Text is pure: counting tokens needs neither network nor model.
    ("host/documents", &["gatehouse-core", "gatehouse-decode", "gatehouse-text"]),
    ("host/models", &["gatehouse-core", "gatehouse-net"]),
    (
        "host/gatehouse",
        &[
            "gatehouse-auth",
            "gatehouse-core",
            "gatehouse-documents",
            "gatehouse-files",
            "gatehouse-net",
            "gatehouse-sandbox",
            "gatehouse-wire",
            "gatehouse-stores",
            "gatehouse-telemetry",
            "gatehouse-text",
            "gatehouse-models",
        ],
    ),
    ("gates/sdk", &[]),
    ("gates/lib/decode", &[]),
    ("gates", &["gatehouse-decode", "gatehouse-sdk", "gatehouse-jq", "gatehouse-wiki"]),
    ("tests/fixtures/gates", &["gatehouse-sdk"]),
    (
        "tests/quality",
        &["gate-converter", "gatehouse-core", "gatehouse-decode", "gatehouse-text", "gatehouse-stores"],
    ),
    ("tests", &[]),
    ("packaging", &[]),
    ("xtask", &[]),
];

/// Crates that alone may use a dependency, or one whose name starts with it and `-` or `_`.
const ONLY: [(&str, &[&str]); 17] = [
    ("opentelemetry", &["host/telemetry"]),
    ("prometheus", &["host/telemetry"]),
    ("jsonwebtoken", &["host/auth"]),
    ("wasmtime", &["host/sandbox", "xtask/snapshot"]),
    ("rmcp", &["host/wire", "tests/floor"]),
    ("hyper", &["host/wire", "tests/floor"]),
    ("rusqlite", &["host/stores", "tests/quality"]),
    ("icu", &["host/core", "host/text"]),
    ("clap", &["host/gatehouse"]),
    ("toml", &["host/gatehouse", "tests"]),
    ("neo4rs", &["host/stores"]),
    ("reqwest", &["host/net"]),
    ("rustls", &["host/net"]),
    ("tokio-postgres", &["host/stores"]),
    ("deadpool", &["host/stores"]),
    ("wasmparser", &["host/sandbox"]),
    (
        "wit-bindgen",
        &[
            "gates/sdk",
            "tests/fixtures/gates/echo",
            "tests/fixtures/gates/liar",
            "tests/fixtures/gates/shelf",
            "tests/fixtures/gates/shortener",
            "host/gatehouse",
        ],
    ),
];

struct Crate {
    name: String,
    /// Path from the root of the repository.
    folder: String,
    dependencies: Vec<String>,
}

fn crates() -> Vec<Crate> {
    let arguments = ["metadata", "--format-version", "1", "--no-deps", "--offline"];
    let output = Command::new(env!("CARGO")).args(arguments).current_dir(repository()).output();
    let output = output.expect("cargo metadata");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let text = |value: &Value| value.as_str().expect("text").to_owned();
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let root = text(&metadata["workspace_root"]);
    let of = |package: &Value| Crate {
        name: text(&package["name"]),
        folder: text(&package["manifest_path"])
            .trim_start_matches(&root)
            .trim_start_matches('/')
            .trim_end_matches("/Cargo.toml")
            .to_owned(),
        dependencies: list(&package["dependencies"])
            .iter()
            .map(|dependency| text(&dependency["name"]))
            .collect(),
    };
    list(&metadata["packages"]).iter().map(of).collect()
}

fn is_in(folder: &str, parent: &str) -> bool {
    folder.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[test]
fn crates_know_only_whom_they_may() {
    let crates = crates();
    let ours: Vec<&str> = crates.iter().map(|one| one.name.as_str()).collect();
    let broken = crates.iter().flat_map(|one| {
        let line = MAY_KNOW.iter().find(|(folder, _)| is_in(&one.folder, folder));
        let (_, allowed) = line.unwrap_or_else(|| panic!("{}: MAY_KNOW has no line for it", one.folder));
        // `gatehouse-mutate` is for tests only, and depends on no other crate.
        let known = one
            .dependencies
            .iter()
            .filter(|name| ours.contains(&name.as_str()) && *name != "gatehouse-mutate");
        let wrong = known.filter(|name| !allowed.contains(&name.as_str()));
        wrong
            .map(|name| format!("{}/Cargo.toml: must not depend on '{name}'", one.folder))
            .collect::<Vec<_>>()
    });
    none(
        "core ← net, core ← {sandbox, wire, stores, text, models, auth} ← gatehouse, and gates know only the SDK",
        broken,
    );
}

#[test]
fn every_field_has_one_crate_that_knows_it() {
    let crates = crates();
    let broken = crates.iter().flat_map(|one| {
        let wrong = ONLY.iter().flat_map(|(dependency, folders)| {
            let uses = one.dependencies.iter().filter(move |name| {
                let rest = name.strip_prefix(dependency);
                rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '_']))
            });
            uses.filter(|_| !folders.contains(&one.folder.as_str()))
                .map(move |name| format!("{}/Cargo.toml: '{name}' belongs to {folders:?}", one.folder))
        });
        wrong.collect::<Vec<_>>()
    });
    none("each external library has one owner", broken);
}

#[test]
fn every_crate_takes_the_lints_of_the_workspace() {
    let manifests = super::files("", "Cargo.toml");
    // `fuzz` is a separate workspace and cannot inherit lints.
    let members =
        manifests.iter().filter(|(path, _)| !["Cargo.toml", "fuzz/Cargo.toml"].contains(&path.as_str()));
    let without = members.filter(|(_, text)| {
        let manifest: toml::Table = text.parse().expect("TOML");
        manifest.get("lints").and_then(|lints| lints.get("workspace")) != Some(&toml::Value::Boolean(true))
    });
    none("`[lints] workspace = true`", without.map(|(path, _)| path.clone()));
}
