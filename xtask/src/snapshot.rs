//! Snapshots of gates with `snapshot = true` in `[package.metadata.gate]`: their calls start from memory captured at
//! build time. The tool is a separate package because it links wasmtime, which compiles slowly.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::build;
use crate::process;
use crate::workspace::Workspace;

const TOOL: &str = "gate-snapshot";

/// The cargo build that includes the tool. It selects the packages of the host's build:
/// with others, crates below wasmtime have other features, and it is compiled twice.
pub(crate) struct ToolBuild {
    pub(crate) selection: &'static [&'static str],
    pub(crate) folder: &'static str,
}

/// Before the tests.
pub(crate) const WORKSPACE: ToolBuild = ToolBuild { selection: &["--workspace"], folder: "debug" };

/// Before `cargo build -p gatehouse`.
pub(crate) const HOST: ToolBuild = ToolBuild { selection: &["-p", "gatehouse", "-p", TOOL], folder: "debug" };

/// Before `cargo xtask run`.
pub(crate) const QUICK: ToolBuild =
    ToolBuild { selection: &["--profile", "quick", "-p", "gatehouse", "-p", TOOL], folder: "quick" };

/// Returns the component with the memory that a `describe` call leaves.
pub(crate) fn build(workspace: &Workspace, component: &Path, along: &ToolBuild) -> Result<Vec<u8>> {
    let mut build = process::cargo();
    build.current_dir(&workspace.root).arg("build").args(along.selection).args(["--bin", TOOL]);
    build::build("the snapshot tool", &mut build)?;
    let tool = workspace.binary(along.folder, TOOL);
    let snapshot = component.with_extension("snapshot.wasm");
    if !(is_newer(&snapshot, component) && is_newer(&snapshot, &tool)) {
        // Rename, so that an interrupted build leaves the old file or none.
        let new = component.with_extension(format!("snapshot{}", std::process::id()));
        process::output(process::command(tool).arg(component).arg(&new))?;
        fs::rename(&new, &snapshot).with_context(|| format!("cannot write {}", snapshot.display()))?;
    }
    fs::read(&snapshot).with_context(|| format!("cannot read {}", snapshot.display()))
}

fn is_newer(made: &Path, of: &Path) -> bool {
    let at = |file: &Path| fs::metadata(file).and_then(|about| about.modified());
    matches!((at(made), at(of)), (Ok(made), Ok(of)) if made > of)
}
