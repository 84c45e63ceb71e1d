//! JavaScript gates, built with componentize-qjs, which includes QuickJS.

use std::{fs, path::Path, process::Stdio};

use super::{GateProject, LanguageToolchain, PlainError, program};

pub(super) const TOOLCHAIN: LanguageToolchain = LanguageToolchain {
    mark: "package.json",
    template: super::JS,
    prepare: &["npm install"],
    test: "npm test",
};

const INSTALL: &str = "Install it into the project:\n  npm install --save-dev componentize-qjs@0.4.5\n\
    (Node 18 or newer; Debian: apt install nodejs npm; macOS: brew install node)";

/// Runs `node_modules/.bin/componentize-qjs`, else the one in the search path.
pub(super) async fn build(project: &GateProject, output: &Path) -> Result<Vec<u8>, PlainError> {
    let tool = program::find(&project.folder, "node_modules/.bin/componentize-qjs", "componentize-qjs");
    let mut command = program::command(tool, &project.folder);
    // The contract and the host use synchronous functions.
    command.args(["--wit", "wit", "--js", "gate.js", "--module-root", ".", "--sync", "--output"]).arg(output);
    // The tool prints its options to standard output, and errors to standard error.
    command.stdout(Stdio::null());
    program::run(&mut command, INSTALL).await?;
    fs::read(output).map_err(|error| format!("componentize-qjs wrote no component: {error}").into())
}
