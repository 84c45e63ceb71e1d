//! Rust gates, built with cargo for wasm32-wasip2, which needs no other tools.

use std::{fs, path::Path, process::Stdio};

use serde_json::Value;

use super::{
    GateProject, LanguageToolchain, PlainError,
    program::{self, ProgramError},
};
use crate::out;

pub(super) const TOOLCHAIN: LanguageToolchain =
    LanguageToolchain { mark: "Cargo.toml", template: super::RUST, prepare: &[], test: "cargo test" };

const TARGET: &str = "wasm32-wasip2";

const INSTALL: &str =
    "Install Rust with rustup: https://rustup.rs (Debian: apt install rustup; macOS: brew install rustup)";

pub(super) fn name(folder: &Path) -> Result<String, PlainError> {
    let file = folder.join("Cargo.toml");
    let bad = |why: &dyn std::fmt::Display| PlainError::from(format!("{}: {why}", file.display()));
    let manifest: toml::Table =
        fs::read_to_string(&file).map_err(|error| bad(&error))?.parse().map_err(|error| bad(&error))?;
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(|name| name.as_str());
    name.map(str::to_owned).ok_or_else(|| bad(&"has no package.name"))
}

/// Runs `cargo build --release` and reads the component that cargo reports.
pub(super) async fn build(project: &GateProject) -> Result<Vec<u8>, PlainError> {
    ensure_target(&project.folder).await?;
    let mut command = program::command("cargo", &project.folder);
    command.args(["build", "--release", "--target", TARGET, "--message-format=json-render-diagnostics"]);
    let messages = program::run(command.stdout(Stdio::piped()), INSTALL).await?;
    let manifest = project.folder.join("Cargo.toml");
    let component = String::from_utf8_lossy(&messages).lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_ours = message["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest);
        let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
        files.find(|file| is_ours && file.ends_with(".wasm")).map(str::to_owned)
    });
    let Some(component) = component else {
        bail!(
            "{}: built no component; write crate-type = [\"cdylib\", \"rlib\"] under [lib]",
            manifest.display()
        );
    };
    fs::read(&component).map_err(|error| format!("{component}: {error}").into())
}

/// Installs the target into the project's toolchain if it is missing.
async fn ensure_target(folder: &Path) -> Result<(), ProgramError> {
    let mut command = program::command("rustc", folder);
    command.args(["--print", "target-libdir", "--target", TARGET]);
    // Without rustc, the cargo command fails with the instructions.
    let Some(libraries) = program::query(&mut command).await else { return Ok(()) };
    if Path::new(&libraries).exists() {
        return Ok(());
    }
    out::note(format!("the Rust target {TARGET} is not installed; installing it"));
    let mut command = program::command("rustup", folder);
    let hint =
        format!("The Rust target {TARGET} is missing. {INSTALL}, then run `rustup target add {TARGET}`.");
    program::run(command.args(["target", "add", TARGET]), &hint).await.map(drop)
}
