//! The wheel, installed by pip and uv without a registry.

use std::{fs, process::Command};

use super::{Packages, must};
use crate::support::installed;

#[test]
fn pip_installs_the_program_and_takes_it_away() {
    let packages = Packages::of(&["wheel"]);
    let venv = packages.place.path("venv");
    must(Command::new("python3").args(["-m", "venv"]).arg(&venv));
    let pip = |arguments: &[&str]| {
        let mut command = packages.command(&venv.join("bin/pip"), &["--disable-pip-version-check"]);
        command.args(arguments);
        command
    };
    must(pip(&["install", "--no-index"]).arg(packages.file(".whl")));
    assert!(venv.join("share/doc/gatehouse-mcp/docs/presets.md").is_file());
    packages.serves(&venv.join("bin/gatehouse"));
    packages.serves(&venv.join("bin/gatehouse-mcp"));
    must(&mut pip(&["uninstall", "--yes", "gatehouse-mcp"]));
    let left =
        fs::read_dir(venv.join("bin")).expect("programs").map(|entry| entry.expect("an entry").file_name());
    let left: Vec<_> = left.filter(|name| name.to_string_lossy().starts_with("gatehouse")).collect();
    assert!(left.is_empty(), "{left:?}");
}

#[test]
fn uv_runs_it_without_an_installation() {
    let Some(tools) = installed("GATEHOUSE_TEST_PACKAGE_TOOLS") else { return };
    let packages = Packages::of(&["wheel"]);
    let mut command =
        packages.command(&tools.join("uv"), &["tool", "run", "--offline", "--no-config", "--from"]);
    command.arg(packages.file(".whl")).args(["gatehouse-mcp", "--version"]);
    assert_eq!(must(&mut command), concat!("gatehouse ", env!("CARGO_PKG_VERSION"), "\n"));
}
