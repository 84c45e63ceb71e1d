//! JavaScript and Python gates, built with tools that include an interpreter: componentize-qjs has QuickJS, componentize-py
//! has CPython.

use std::{fs, path::Path, process::Stdio};

use tokio::process::Command;

use super::{GateProject, LanguageToolchain, PlainError, program};

pub(super) const JS: LanguageToolchain = LanguageToolchain {
    mark: "package.json",
    template: super::JS,
    prepare: &["npm install"],
    test: "npm test",
};

const INSTALL_JS: &str = "Install it into the project:\n  npm install --save-dev componentize-qjs@0.4.5\n\
    (Node 18 or newer; Debian: apt install nodejs npm; macOS: brew install node)";

pub(super) async fn build_js(project: &GateProject, output: &Path) -> Result<Vec<u8>, PlainError> {
    let mut command = tool(&project.folder, "node_modules/.bin", "componentize-qjs");
    // The contract and the host use synchronous functions.
    command.args(["--wit", "wit", "--js", "gate.js", "--module-root", ".", "--sync", "--output"]).arg(output);
    // The tool prints its options to standard output, and errors to standard error.
    command.stdout(Stdio::null());
    program::run(&mut command, INSTALL_JS).await?;
    fs::read(output).map_err(|error| format!("componentize-qjs wrote no component: {error}").into())
}

/// Creates a command with the tool in a directory of the project, else the one in the search path.
fn tool(project: &Path, folder: &str, name: &str) -> Command {
    let local = project.join(folder).join(name);
    program::command(if local.exists() { local.as_path() } else { Path::new(name) }, project)
}

pub(super) const PYTHON: LanguageToolchain = LanguageToolchain {
    mark: "gate.py",
    template: super::PYTHON,
    prepare: &["python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"],
    test: "python3 -m unittest",
};

const INSTALL_PYTHON: &str = "Install it into the project:\n  \
    python3 -m venv .venv && .venv/bin/pip install componentize-py==0.25.1\n\
    (Debian has Python's venv in the package python3-venv; macOS: brew install python)";

pub(super) async fn build_python(project: &GateProject, output: &Path) -> Result<Vec<u8>, PlainError> {
    let folder = &project.folder;
    let mut command = tool(folder, ".venv/bin", "componentize-py");
    command.args(["--quiet", "--wit-path", "wit", "componentize", "gate", "--output"]).arg(output);
    // Show only Python's errors; the backtrace of the tool itself does not help.
    command.env("RUST_BACKTRACE", "0").env("PYTHONDONTWRITEBYTECODE", "1");
    if folder.join(".venv").exists() {
        command.env("VIRTUAL_ENV", folder.join(".venv"));
    }
    program::run(&mut command, INSTALL_PYTHON).await?;
    fs::read(output).map_err(|error| format!("componentize-py wrote no component: {error}").into())
}
