//! C gates, built with clang and wasi-libc. Bindings and component are generated in this process.

use std::{
    fs,
    path::{Path, PathBuf},
};

use wasi_preview1_component_adapter_provider as adapter;
use wit_bindgen_core::{Files, wit_parser::Resolve};
use wit_component::ComponentEncoder;

use super::{
    GateProject, LanguageToolchain, PlainError,
    program::{self, ProgramError},
};

pub(super) const TOOLCHAIN: LanguageToolchain =
    LanguageToolchain { mark: "gate.c", template: super::C, prepare: &[], test: "make test" };

const INSTALL: &str = "Requires clang, its WebAssembly linker and a C library:\n  Debian: apt install clang lld wasi-libc libclang-rt-dev-wasm32\n  macOS and others: the WASI SDK (github.com/WebAssembly/wasi-sdk), unpacked to /opt/wasi-sdk";

const WASI_SDK: &str = "/opt/wasi-sdk/bin/clang";

/// Directory for bindings, not under version control.
const GENERATED: &str = "build/generated";

/// Compiles all `.c` files in the project's top directory except `test_*.c`.
pub(super) async fn build(project: &GateProject, output: &Path) -> Result<Vec<u8>, PlainError> {
    let bindings = bindings(&project.folder)?;
    let clang = if Path::new(WASI_SDK).exists() { WASI_SDK } else { "clang" };
    let mut command = program::command(clang, &project.folder);
    // A reactor is a module with exported functions and no entry point.
    command.args(["--target=wasm32-wasi", "-mexec-model=reactor", "-std=c11", "-Wall", "-Oz"]);
    // Strip debug information but not function names, which traps report.
    command.args(["-Wl,--strip-debug", "-I.", "-I", GENERATED, "-o"]).arg(output);
    command.args(sources(&project.folder)?).args(bindings);
    match program::run(&mut command, INSTALL).await {
        Err(ProgramError::Failed(why)) if !has_complete_toolchain(clang, &project.folder, output).await => {
            bail!("{why}\nThe C library or linker is missing. {INSTALL}");
        }
        ran => drop(ran?),
    }
    let module = fs::read(output).map_err(|error| format!("clang wrote no module: {error}"))?;
    let component = componentize(&module);
    component.map_err(|error| format!("cannot convert the module to a component: {error:#}").into())
}

/// Returns whether clang has a linker and library, by compiling an empty program.
async fn has_complete_toolchain(clang: &str, folder: &Path, output: &Path) -> bool {
    let mut command = program::command(clang, folder);
    command.args(["--target=wasm32-wasi", "-mexec-model=reactor", "-include", "stdlib.h", "-x", "c"]);
    command.args(["/dev/null", "-o"]).arg(output);
    program::query(&mut command).await.is_some()
}

fn sources(folder: &Path) -> Result<Vec<PathBuf>, PlainError> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.flatten().map(|entry| PathBuf::from(entry.file_name()));
    let mut sources: Vec<PathBuf> = names
        .filter(|name| name.extension().is_some_and(|extension| extension == "c"))
        .filter(|name| !name.to_string_lossy().starts_with("test_"))
        .collect();
    sources.sort();
    Ok(sources)
}

/// Generates the bindings of the project's world. Returns the files to compile and link.
fn bindings(folder: &Path) -> Result<Vec<PathBuf>, PlainError> {
    let wit = folder.join("wit");
    let bad = |error: &dyn std::fmt::Display| format!("{}: {error:#}", wit.display());
    let mut resolve = Resolve::default();
    let (package, _) = resolve.push_dir(&wit).map_err(|error| bad(&error))?;
    let world = resolve.select_world(&[package], None).map_err(|error| bad(&error))?;
    let mut made = Files::default();
    let generated = wit_bindgen_c::Opts::default().build().generate(&mut resolve, world, &mut made);
    generated.map_err(|error| bad(&error))?;
    let mut linked = Vec::new();
    for (name, content) in made.iter() {
        let path = Path::new(GENERATED).join(name);
        let file = folder.join(&path);
        let written = fs::create_dir_all(folder.join(GENERATED)).and_then(|()| fs::write(&file, content));
        written.map_err(|error| format!("{}: {error}", file.display()))?;
        if !name.ends_with(".h") {
            linked.push(path);
        }
    }
    Ok(linked)
}

/// Converts the linked module to a component. The adapter translates WASI preview 1, which the C library uses.
fn componentize(module: &[u8]) -> Result<Vec<u8>, impl std::fmt::Display + use<>> {
    let adapter = adapter::WASI_SNAPSHOT_PREVIEW1_REACTOR_ADAPTER;
    ComponentEncoder::default()
        .validate(true)
        .module(module)
        .and_then(|encoder| encoder.adapter(adapter::WASI_SNAPSHOT_PREVIEW1_ADAPTER_NAME, adapter))
        .and_then(|mut encoder| encoder.encode())
}
