//! Python gates, built with componentize-py, which includes CPython.

use std::{fs, path::Path};

use super::{GateProject, LanguageToolchain, PlainError, program};

pub(super) const TOOLCHAIN: LanguageToolchain = LanguageToolchain {
    mark: "gate.py",
    template: super::PYTHON,
    prepare: &["python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"],
    test: "python3 -m unittest",
};

const INSTALL: &str = "Install it into the project:\n  \
    python3 -m venv .venv && .venv/bin/pip install componentize-py==0.25.1\n\
    (Debian has Python's venv in the package python3-venv; macOS: brew install python)";

/// Runs `.venv/bin/componentize-py`, else the one in the search path.
pub(super) async fn build(project: &GateProject, output: &Path) -> Result<Vec<u8>, PlainError> {
    let folder = &project.folder;
    let tool = program::find(folder, ".venv/bin/componentize-py", "componentize-py");
    let mut command = program::command(tool, folder);
    command.args(["--quiet", "--wit-path", "wit", "componentize", "gate", "--output"]).arg(output);
    // Show only Python's errors; the backtrace of the tool itself does not help.
    command.env("RUST_BACKTRACE", "0").env("PYTHONDONTWRITEBYTECODE", "1");
    if folder.join(".venv").exists() {
        command.env("VIRTUAL_ENV", folder.join(".venv"));
    }
    program::run(&mut command, INSTALL).await?;
    fs::read(output).map_err(|error| format!("componentize-py wrote no component: {error}").into())
}
