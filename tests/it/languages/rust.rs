//! Rust, with cargo. The project uses this repository's lock file, so that the dependencies are available offline.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use super::Author;
use crate::support::repository;

pub(super) fn cargo_environment() -> Vec<(&'static str, PathBuf)> {
    let home = PathBuf::from(env::var_os("HOME").unwrap_or_default());
    let or_home = |name: &str, folder: &str| env::var_os(name).map_or(home.join(folder), PathBuf::from);
    let mut environment = vec![
        ("CARGO_HOME", or_home("CARGO_HOME", ".cargo")),
        ("RUSTUP_HOME", or_home("RUSTUP_HOME", ".rustup")),
        ("CARGO_TARGET_DIR", Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-gate")),
    ];
    environment.extend(env::var_os("RUSTUP_TOOLCHAIN").map(|name| ("RUSTUP_TOOLCHAIN", name.into())));
    environment
}

#[test]
fn a_gate_in_rust_keeps_its_promises() {
    let author = Author::new("rust");
    fs::copy(repository().join("Cargo.lock"), author.path("Cargo.lock")).expect("the lock file");
    author.runs(Command::new(env!("CARGO")).args(["test", "--quiet"]).envs(cargo_environment()));
    let mut build = author.build();
    build.envs(cargo_environment());
    let report = author.built(build);
    assert_eq!(report["asks"], serde_json::json!(["http"]), "unused capabilities are not requested");
    author.passes_every_check();
    author.keeps_its_promises();
}
