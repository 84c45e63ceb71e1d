//! `cargo xtask gates`: builds the gates for WebAssembly and writes the components where the host looks for them.
//!
//! A gate is a workspace member with a `cdylib` target, named after its directory. Gates below `gates/` ship; those
//! below `tests/fixtures/gates/` are only for tests and benchmarks.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::UsageError;
use crate::build;
use crate::process;
use crate::snapshot::{self, ToolBuild};
use crate::tools;
use crate::workspace::{Workspace, WorkspaceMember};

const TARGET: &str = "wasm32-wasip2";

/// Header that clang includes first in the C sources of a gate. Its presence marks a gate with C code.
const C_HEADER: &str = "wasi.h";

#[derive(Clone, Copy, PartialEq)]
pub(crate) enum GateSelection {
    Shipped,
    All,
}

/// Source and component directories of one kind of gate, relative to the root.
struct GateLayout {
    sources: &'static str,
    components: &'static str,
    shipped: bool,
}

const GATE_LAYOUTS: &[GateLayout] = &[
    GateLayout { sources: "gates", components: "gates", shipped: true },
    GateLayout { sources: "tests/fixtures/gates", components: FIXTURES, shipped: false },
];

/// Directory of the fixture components, relative to the root even if `CARGO_TARGET_DIR` is set.
pub(crate) const FIXTURES: &str = "target/fixture-gates";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let selection = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => GateSelection::Shipped,
        ["--fixtures"] => GateSelection::All,
        ["--fixtures", unexpected, ..] | [unexpected, ..] => {
            return Err(UsageError(format!("unexpected argument: {unexpected}")).into());
        }
    };
    build(&Workspace::load()?, selection, &snapshot::HOST)
}

pub(crate) fn build(workspace: &Workspace, selection: GateSelection, tool_build: &ToolBuild) -> Result<()> {
    let folders: Vec<&GateLayout> =
        GATE_LAYOUTS.iter().filter(|kind| kind.shipped || selection == GateSelection::All).collect();
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
            built.get(folder).with_context(|| format!("cargo built no component for {}", package.name))?;
        let name = folder.file_name().context("a gate needs its own directory")?.to_string_lossy();
        let destination = Path::new(kind.components).join(format!("{name}.wasm"));
        let bytes = if package.snapshot {
            snapshot::build(workspace, component, tool_build)?
        } else {
            fs::read(component).with_context(|| format!("cannot read {}", component.display()))?
        };
        if place(&workspace.root.join(&destination), &bytes)? {
            // Use stderr: the next program may speak a protocol on stdout.
            eprintln!("wrote {} ({} KB)", destination.display(), bytes.len().div_ceil(1024));
        }
    }
    Ok(())
}

/// Returns the header of the gate with C code.
///
/// Without clang, removes that gate from the build with a warning, because the other gates are useful without it.
fn c_header(gates: &mut BTreeMap<PathBuf, (&WorkspaceMember, &GateLayout)>) -> Option<PathBuf> {
    let folder = gates.keys().find(|folder| folder.join(C_HEADER).is_file())?.clone();
    match tools::clang() {
        Ok(_) => Some(folder.join(C_HEADER)),
        Err(error) => {
            eprintln!("warning: skipping the gate in {}, which has C code: {error:#}", folder.display());
            gates.remove(&folder);
            None
        }
    }
}

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
    let mut built = BTreeMap::new();
    for message in build::build("the gates", &mut command)? {
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

fn ensure_target() -> Result<()> {
    let print = ["--print", "target-libdir", "--target", TARGET];
    let libraries = process::output(process::command("rustc").args(print))?;
    if Path::new(libraries.trim()).exists() {
        return Ok(());
    }
    process::run(process::command("rustup").args(["target", "add", TARGET])).with_context(|| {
        format!(
            "the Rust target {TARGET} is missing and could not be installed. Run `rustup target add {TARGET}` with \
            network access. Without rustup, install your system's Rust standard library for it"
        )
    })
}

/// Replaces the file atomically, so that a watching host never reads half a file. Returns `false` if it is unchanged.
pub(crate) fn place(destination: &Path, bytes: &[u8]) -> Result<bool> {
    match fs::read(destination) {
        Ok(old) if old == bytes => return Ok(false),
        Err(error) if error.kind() != ErrorKind::NotFound => {
            return Err(error).with_context(|| format!("cannot read {}", destination.display()));
        }
        _ => {}
    }
    let folder = destination.parent().context("component path has no parent directory")?;
    let temporary = destination.with_extension(format!("tmp{}", std::process::id()));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(&temporary, bytes))
        .and_then(|()| fs::rename(&temporary, destination))
        .with_context(|| format!("cannot write {}", destination.display()))?;
    Ok(true)
}
