//! `cargo xtask dist`: one archive with everything that a machine needs to serve, and its checksum. The gates are in
//! the binary.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use crate::Usage;
use crate::gates::{self, Which};
use crate::process;
use crate::workspace::Workspace;

/// Files of the repository that travel along.
const TEXTS: [&str; 3] = ["presets.toml", "README.md", "LICENSE"];

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if !arguments.is_empty() {
        return Err(Usage(format!("unexpected: {}", arguments.join(" "))).into());
    }
    let workspace = Workspace::load()?;
    gates::build(&workspace, Which::Shipped)?;
    let build = ["build", "--release", "-p", "gatehouse"];
    process::run(process::cargo().current_dir(&workspace.root).args(build))?;

    let name = format!("gatehouse-{}-{}", workspace.version(), host()?);
    let folder = workspace.root.join("target/dist");
    let stage = folder.join(&name);
    if stage.exists() {
        fs::remove_dir_all(&stage).with_context(|| format!("cannot clear {}", stage.display()))?;
    }
    let binary = workspace.binary("release", "gatehouse");
    copy(&binary, &stage.join(binary.file_name().context("the binary has no name")?))?;
    for text in TEXTS {
        copy(&workspace.root.join(text), &stage.join(text))?;
    }

    let archive = format!("{name}.tar.gz");
    process::run(process::command("tar").current_dir(&folder).args(["-czf", &archive, &name]))?;
    let sums = checksum(&folder, &archive)?;
    fs::write(folder.join("SHA256SUMS"), &sums)?;
    print!("{}\n{sums}", folder.join(archive).display());
    Ok(())
}

/// The triple that the release build is for.
fn host() -> Result<String> {
    let version = process::output(process::command("rustc").arg("-vV"))?;
    let host = version.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("rustc -vV names no host")?.to_owned())
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let folder = to.parent().context("a file needs a folder")?;
    fs::create_dir_all(folder)
        .and_then(|()| fs::copy(from, to))
        .with_context(|| format!("cannot copy {} to {}", from.display(), to.display()))?;
    Ok(())
}

/// One line as `sha256sum -c` reads it.
fn checksum(folder: &Path, file: &str) -> Result<String> {
    if process::succeeds(process::command("sha256sum").arg("--version")) {
        return process::output(process::command("sha256sum").current_dir(folder).arg(file));
    }
    process::output(process::command("shasum").current_dir(folder).args(["-a", "256", file]))
}
