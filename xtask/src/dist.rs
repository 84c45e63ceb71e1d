//! `cargo xtask dist`: packages a release build, or a given binary, into `target/dist`. The `packaging` crate decides
//! the contents.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::UsageError;
use crate::gates::{self, GateSelection};
use crate::process;
use crate::snapshot;
use crate::workspace::Workspace;

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let (binary, rest) = binary(arguments)?;
    let workspace = Workspace::load()?;
    let binary = match binary {
        Some(binary) => binary,
        None => release(&workspace)?,
    };
    let target = host()?;
    // Packaging reads crate licenses from their sources, which may be missing if the binary was built elsewhere.
    process::run(
        process::cargo().current_dir(&workspace.root).args(["fetch", "--locked", "--target", &target]),
    )?;
    let machine_code = machine_code(&workspace, &binary)?;
    let out = workspace.root.join("target/dist");
    let mut packaging = process::cargo();
    packaging.args(["run", "--quiet", "--package", "gatehouse-packaging", "--manifest-path"]);
    packaging.arg(workspace.root.join("Cargo.toml")).args(["--", "--target", &target]);
    packaging.arg("--binary").arg(binary).arg("--out").arg(out);
    packaging.arg("--machine-code").arg(machine_code).args(rest);
    process::run(&mut packaging)
}

/// Precompiles the shipped gates for every processor of this machine's architecture.
///
/// The binary does this itself because only it knows its compiler settings.
fn machine_code(workspace: &Workspace, binary: &Path) -> Result<PathBuf> {
    let folder = workspace.root.join("target/machine-code");
    if folder.exists() {
        fs::remove_dir_all(&folder).with_context(|| format!("cannot remove {}", folder.display()))?;
    }
    process::run(process::command(binary).args(["cache", "precompile"]).arg(&folder))?;
    Ok(folder)
}

fn binary(arguments: &[String]) -> Result<(Option<PathBuf>, Vec<&String>)> {
    let mut rest = Vec::new();
    let mut binary = None;
    let mut arguments = arguments.iter();
    while let Some(argument) = arguments.next() {
        if argument == "--binary" {
            let file = arguments.next().ok_or_else(|| UsageError("--binary needs a file".to_owned()))?;
            binary = Some(PathBuf::from(file));
        } else {
            rest.push(argument);
        }
    }
    Ok((binary, rest))
}

fn release(workspace: &Workspace) -> Result<PathBuf> {
    gates::build(workspace, GateSelection::Shipped, &snapshot::HOST)?;
    let build = ["build", "--release", "-p", "gatehouse"];
    process::run(process::cargo().current_dir(&workspace.root).args(build))?;
    Ok(workspace.binary("release", "gatehouse"))
}

fn host() -> Result<String> {
    let version = process::output(process::command("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV prints no host")?.to_owned())
}
