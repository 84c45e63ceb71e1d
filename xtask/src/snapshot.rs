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
pub(crate) struct ToolBuild {
    /// What cargo is told of profile and packages.
    pub(crate) selection: &'static [&'static str],
    /// Where cargo puts it, in the target folder.
    pub(crate) folder: &'static str,
}

/// That of the tests.
pub(crate) const WORKSPACE: ToolBuild = ToolBuild { selection: &["--workspace"], folder: "debug" };

/// That of `cargo xtask run`.
pub(crate) const QUICK: ToolBuild =
    ToolBuild { selection: &["--profile", "quick", "-p", "gatehouse", "-p", TOOL], folder: "quick" };

/// The component with the memory that describing it leaves.
pub(crate) fn build(workspace: &Workspace, component: &Path, along: &ToolBuild) -> Result<Vec<u8>> {
    let mut build = process::cargo();
    build.current_dir(&workspace.root).arg("build").args(along.selection).args(["--bin", TOOL]);
    process::run(&mut build)?;
    let tool = workspace.binary(along.folder, TOOL);
    let made = component.with_extension("snapshot.wasm");
    if !(is_newer(&made, component) && is_newer(&made, &tool)) {
        // In one step: a build that is ended leaves the one before, or none.
        let new = component.with_extension(format!("snapshot{}", std::process::id()));
        process::run(process::command(tool).arg(component).arg(&new))?;
        fs::rename(&new, &made).with_context(|| format!("cannot write {}", made.display()))?;
    }
    fs::read(&made).with_context(|| format!("cannot read {}", made.display()))
}

/// Whether a file is there, and was written after another one.
fn is_newer(made: &Path, of: &Path) -> bool {
    let at = |file: &Path| fs::metadata(file).and_then(|about| about.modified());
    matches!((at(made), at(of)), (Ok(made), Ok(of)) if made > of)
}
