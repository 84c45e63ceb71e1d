//! Gates that begin their calls with memory that was made when they were built: `snapshot = true` below
//! `[package.metadata.gate]` in their Cargo.toml. The tool for it is a package of its own, for it has wasmtime in it, and this
//! program stays quick to compile.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::process;
use crate::workspace::Workspace;

const TOOL: &str = "gate-snapshot";

/// The build that the tool is a part of. It is that of the gateway which is built next, so that wasmtime is compiled once.
pub(crate) struct Along {
    /// What cargo is told of profile and packages.
    pub(crate) selection: &'static [&'static str],
    /// Where cargo puts it, in the target folder.
    pub(crate) folder: &'static str,
}

/// That of the tests.
pub(crate) const WORKSPACE: Along = Along { selection: &["--workspace"], folder: "debug" };

/// That of `cargo xtask run`.
pub(crate) const QUICK: Along =
    Along { selection: &["--profile", "quick", "-p", "gatehouse", "-p", TOOL], folder: "quick" };

/// The component with the memory that describing it leaves.
pub(crate) fn of(workspace: &Workspace, component: &Path, along: &Along) -> Result<Vec<u8>> {
    let mut build = process::cargo();
    build.current_dir(&workspace.root).arg("build").args(along.selection).args(["--bin", TOOL]);
    process::run(&mut build)?;
    let made = component.with_extension(format!("snapshot{}", std::process::id()));
    let mut tool = process::command(workspace.binary(along.folder, TOOL));
    process::run(tool.arg(component).arg(&made))?;
    let bytes = fs::read(&made).with_context(|| format!("cannot read {}", made.display()))?;
    fs::remove_file(&made).with_context(|| format!("cannot remove {}", made.display()))?;
    Ok(bytes)
}
