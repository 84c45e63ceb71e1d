//! `cargo xtask gates`: builds the gates for WebAssembly and puts the components where the host looks.
//!
//! A gate is a workspace member with a `cdylib` target: below `gates/` one that ships, below
//! `tests/fixtures/gates/` one that only tests and benchmarks use. It is called as its folder is: nothing
//! here names a gate.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::UsageError;
use crate::process;
use crate::snapshot::{self, ToolBuild};
use crate::tools;
use crate::workspace::{Workspace, WorkspaceMember};

const TARGET: &str = "wasm32-wasip2";

/// What is read before the sources in C of a gate that has it.
const C_HEADER: &str = "wasi.h";

/// Which gates to build.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum GateSelection {
    Shipped,
    All,
}

/// Where gates of one kind live, and where their components go; relative to the root.
struct GateLayout {
    sources: &'static str,
    components: &'static str,
    shipped: bool,
}

const GATE_FOLDERS: &[GateLayout] = &[
    GateLayout { sources: "gates", components: "gates", shipped: true },
    GateLayout { sources: "tests/fixtures/gates", components: FIXTURES, shipped: false },
];

/// Where the components of fixture gates are, relative to the root, wherever cargo itself builds.
pub(crate) const FIXTURES: &str = "target/fixture-gates";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let which = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => GateSelection::Shipped,
        ["--fixtures"] => GateSelection::All,
        _ => return Err(UsageError(format!("unexpected: {}", arguments.join(" "))).into()),
    };
    build(&Workspace::load()?, which, &snapshot::WORKSPACE)
}

/// Builds in one cargo call, and places what changed.
pub(crate) fn build(workspace: &Workspace, which: GateSelection, along: &ToolBuild) -> Result<()> {
    let folders: Vec<&GateLayout> =
        GATE_FOLDERS.iter().filter(|kind| kind.shipped || which == GateSelection::All).collect();
    let mut gates: BTreeMap<PathBuf, (&WorkspaceMember, &GateLayout)> = BTreeMap::new();
    for package in workspace.packages.iter().filter(|package| package.cdylib) {
        if let Some(kind) =
            folders.iter().find(|kind| package.folder.parent() == Some(Path::new(kind.sources)))
        {
            gates.insert(workspace.root.join(&package.folder), (package, kind));
        }
    }
    if gates.is_empty() {
        bail!("no gate found: a gate is a workspace member below gates/ with crate-type = [\"cdylib\"]");
    }
    ensure_target()?;
    let header = c_header(&mut gates);
    let names = gates.values().map(|(package, _)| package.name.as_str());
    let built = compile(workspace, names, header.as_deref())?;
    for (folder, (package, kind)) in &gates {
        let component =
            built.get(folder).with_context(|| format!("cargo built no component of {}", package.name))?;
        let name = folder.file_name().context("a gate needs a folder of its own")?.to_string_lossy();
        let destination = Path::new(kind.components).join(format!("{name}.wasm"));
        let bytes = if package.snapshot {
            snapshot::build(workspace, component, along)?
        } else {
            fs::read(component).with_context(|| format!("cannot read {}", component.display()))?
        };
        let news = if place(&workspace.root.join(&destination), &bytes)? { "written" } else { "unchanged" };
        // Not to standard output: what runs next may speak a protocol there.
        eprintln!("{:36} {:>6} KB  {news}", destination.display(), bytes.len().div_ceil(1024));
    }
    Ok(())
}

/// The header of the gate with C in it. Takes that gate out where there is nothing to build it with: the others are of use
/// without it.
fn c_header(gates: &mut BTreeMap<PathBuf, (&WorkspaceMember, &GateLayout)>) -> Option<PathBuf> {
    let folder = gates.keys().find(|folder| folder.join(C_HEADER).is_file())?.clone();
    match tools::clang() {
        Ok(_) => Some(folder.join(C_HEADER)),
        Err(error) => {
            eprintln!("warning: the gate in {} is left out, for it has C in it: {error:#}", folder.display());
            gates.remove(&folder);
            None
        }
    }
}

/// Builds the packages and returns the component of each, by the package's folder.
fn compile<'a>(
    workspace: &Workspace,
    packages: impl Iterator<Item = &'a str>,
    header: Option<&Path>,
) -> Result<BTreeMap<PathBuf, PathBuf>> {
    let mut command = process::cargo();
    command.current_dir(&workspace.root).args(["build", "--profile", "gate", "--target", TARGET]);
    for package in packages {
        command.args(["-p", package]);
    }
    if let Some(header) = header {
        let flags = "--target=wasm32-wasi --sysroot=/usr -isystem /usr/include/wasm32-wasi -include";
        command
            .env("RQUICKJS_SYS_NO_WASI_SDK", "1")
            .env("CC_wasm32_wasip2", "clang")
            .env("AR_wasm32_wasip2", "llvm-ar")
            .env("CFLAGS_wasm32_wasip2", format!("{flags} {}", header.display()));
    }
    eprintln!("$ {}", process::render(&command));
    command.arg("--message-format=json-render-diagnostics");
    let messages = process::output(&mut command)?;
    let mut built = BTreeMap::new();
    for message in messages.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok()) {
        let files = message["filenames"].as_array().into_iter().flatten().filter_map(Value::as_str);
        let Some(component) = files.into_iter().find(|file| file.ends_with(".wasm")) else { continue };
        if let Some(folder) =
            message["manifest_path"].as_str().and_then(|manifest| Path::new(manifest).parent())
        {
            built.insert(folder.to_owned(), PathBuf::from(component));
        }
    }
    Ok(built)
}

/// Installs the wasm target into the toolchain in use, if it is not there.
fn ensure_target() -> Result<()> {
    let print = ["--print", "target-libdir", "--target", TARGET];
    let libraries = process::output(process::command("rustc").args(print))?;
    if Path::new(libraries.trim()).exists() {
        return Ok(());
    }
    process::run(process::command("rustup").args(["target", "add", TARGET])).with_context(|| {
        format!(
            "the Rust target {TARGET} is missing and could not be installed; with network, run \
             `rustup target add {TARGET}`; without rustup, install your system's Rust standard library for it"
        )
    })
}

/// Puts the bytes there in one step, so that a watching host never sees half a file. False: they were there.
pub(crate) fn place(destination: &Path, bytes: &[u8]) -> Result<bool> {
    match fs::read(destination) {
        Ok(old) if old == bytes => return Ok(false),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot read {}", destination.display()));
        }
        _ => {}
    }
    let folder = destination.parent().context("a component needs a folder")?;
    let temporary = destination.with_extension(format!("tmp{}", std::process::id()));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&temporary, bytes))
        .and_then(|()| fs::rename(&temporary, destination))
        .with_context(|| format!("cannot write {}", destination.display()))?;
    Ok(true)
}
