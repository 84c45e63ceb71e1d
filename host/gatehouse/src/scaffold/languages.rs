//! Builds projects with the tools of their language: Rust for wasm32-wasip2, which needs no other tools; C with clang and
//! wasi-libc, whose bindings and component are generated in this process; JavaScript and Python with tools that include
//! an interpreter: componentize-qjs has QuickJS, componentize-py has CPython.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Stdio,
};

use serde_json::Value;
use tokio::process::Command;
use wasi_preview1_component_adapter_provider as adapter;
use wit_bindgen_core::{Files, wit_parser::Resolve};
use wit_component::ComponentEncoder;

use super::{
    GateProject, LanguageToolchain, PlainError,
    program::{self, ProgramError},
};
use crate::out;

pub(super) const RUST: LanguageToolchain = LanguageToolchain {
    mark: "Cargo.toml",
    template: super::RUST,
    converter: super::CONVERTER_RUST,
    conversion: "src/lib.rs",
    prepare: &[],
    test: "cargo test",
};

const RUST_TARGET: &str = "wasm32-wasip2";

const INSTALL_RUST: &str =
    "Install Rust with rustup: https://rustup.rs (Debian: apt install rustup; macOS: brew install rustup)";

pub(super) fn crate_name(folder: &Path) -> Result<String, PlainError> {
    let file = folder.join("Cargo.toml");
    let bad = |reason: &dyn std::fmt::Display| PlainError::from(format!("{}: {reason}", file.display()));
    let manifest: toml::Table =
        fs::read_to_string(&file).map_err(|error| bad(&error))?.parse().map_err(|error| bad(&error))?;
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(|name| name.as_str());
    name.map(str::to_owned).ok_or_else(|| bad(&"has no package.name"))
}

/// Runs `cargo build --release` and reads the component that cargo reports.
pub(super) async fn build_rust(project: &GateProject) -> Result<Vec<u8>, PlainError> {
    ensure_target(&project.folder).await?;
    let mut command = program::command("cargo", &project.folder);
    command.args(["build", "--release", "--target", RUST_TARGET, "--message-format=json-render-diagnostics"]);
    let messages = program::run(command.stdout(Stdio::piped()), INSTALL_RUST).await?;
    let manifest = project.folder.join("Cargo.toml");
    let component = String::from_utf8_lossy(&messages).lines().find_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_ours = message["manifest_path"].as_str().is_some_and(|path| Path::new(path) == manifest);
        let mut files = message["filenames"].as_array()?.iter().filter_map(Value::as_str);
        files.find(|file| is_ours && file.ends_with(".wasm")).map(str::to_owned)
    });
    let Some(component) = component else {
        bail!(
            "{}: built no component; write crate-type = [\"cdylib\", \"rlib\"] under [lib]",
            manifest.display()
        );
    };
    fs::read(&component).map_err(|error| format!("{component}: {error}").into())
}

/// Installs the target into the project's toolchain if it is missing.
async fn ensure_target(folder: &Path) -> Result<(), ProgramError> {
    let mut command = program::command("rustc", folder);
    command.args(["--print", "target-libdir", "--target", RUST_TARGET]);
    // Without rustc, the cargo command fails with the instructions.
    let Some(libraries) = program::query(&mut command).await else { return Ok(()) };
    if Path::new(&libraries).exists() {
        return Ok(());
    }
    out::note(format!("the Rust target {RUST_TARGET} is not installed; installing it"));
    let mut command = program::command("rustup", folder);
    let hint = format!(
        "The Rust target {RUST_TARGET} is missing. {INSTALL_RUST}, then run `rustup target add {RUST_TARGET}`."
    );
    program::run(command.args(["target", "add", RUST_TARGET]), &hint).await.map(drop)
}

pub(super) const C: LanguageToolchain = LanguageToolchain {
    mark: "gate.c",
    template: super::C,
    converter: super::CONVERTER_C,
    conversion: "cards.c",
    prepare: &[],
    test: "make test",
};

const INSTALL_C: &str = "Requires clang, its WebAssembly linker and a C library:\n  Debian: apt install clang lld wasi-libc libclang-rt-dev-wasm32\n  macOS and others: the WASI SDK (github.com/WebAssembly/wasi-sdk), unpacked to /opt/wasi-sdk";

const WASI_SDK: &str = "/opt/wasi-sdk/bin/clang";

/// Directory for bindings, not under version control.
const GENERATED: &str = "build/generated";

/// Compiles all `.c` files in the project's top directory except `test_*.c`.
pub(super) async fn build_c(project: &GateProject, output: &Path) -> Result<Vec<u8>, PlainError> {
    let bindings = bindings(&project.folder)?;
    let clang = if Path::new(WASI_SDK).exists() { WASI_SDK } else { "clang" };
    let mut command = program::command(clang, &project.folder);
    // A reactor is a module with exported functions and no entry point.
    command.args(["--target=wasm32-wasi", "-mexec-model=reactor", "-std=c11", "-Wall", "-Oz"]);
    // Strip debug information but not function names, which traps report.
    command.args(["-Wl,--strip-debug", "-I.", "-I", GENERATED, "-o"]).arg(output);
    command.args(sources(&project.folder, "c")?).args(bindings);
    match program::run(&mut command, INSTALL_C).await {
        Err(ProgramError::Failed(reason))
            if !has_complete_toolchain(clang, &project.folder, output).await =>
        {
            bail!("{reason}\nThe C library or linker is missing. {INSTALL_C}");
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

/// Returns the source files in the project's top directory with an extension, without the tests of C and Python.
fn sources(folder: &Path, extension: &str) -> Result<Vec<PathBuf>, PlainError> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let names = entries.flatten().map(|entry| PathBuf::from(entry.file_name()));
    let mut sources: Vec<PathBuf> = names
        .filter(|name| name.extension().is_some_and(|of_name| of_name == extension))
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
    let mut files = Files::default();
    let generated = wit_bindgen_c::Opts::default().build().generate(&mut resolve, world, &mut files);
    generated.map_err(|error| bad(&error))?;
    let mut linked = Vec::new();
    for (name, content) in files.iter() {
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

pub(super) const JS: LanguageToolchain = LanguageToolchain {
    mark: "package.json",
    template: super::JS,
    converter: super::CONVERTER_JS,
    conversion: "cards.js",
    prepare: &["npm install"],
    test: "npm test",
};

const INSTALL_JS: &str = "Install it into the project:\n  npm install --save-dev componentize-qjs@0.4.5\n\
    (Node 18 or newer; Debian: apt install nodejs npm; macOS: brew install node)";

pub(super) async fn build_js(project: &GateProject, output: &Path) -> Result<Vec<u8>, PlainError> {
    for file in sources(&project.folder, "js")? {
        // Names the line of a mistake, which the build does not.
        let mut check = program::command("node", &project.folder);
        check.arg("--check").arg(file);
        checked(program::run(&mut check, INSTALL_JS).await)?;
    }
    let mut command = tool(&project.folder, "node_modules/.bin", "componentize-qjs");
    // The contract and the host use synchronous functions.
    command.args(["--wit", "wit", "--js", "gate.js", "--module-root", ".", "--sync", "--output"]).arg(output);
    // The tool prints its options to standard output, and errors to standard error.
    command.stdout(Stdio::null());
    program::run(&mut command, INSTALL_JS).await?;
    fs::read(output).map_err(|error| format!("componentize-qjs wrote no component: {error}").into())
}

/// Returns the failure of a check of the syntax. Without the interpreter, the build finds the mistake.
fn checked(outcome: Result<Vec<u8>, program::ProgramError>) -> Result<(), PlainError> {
    match outcome {
        Ok(_) | Err(program::ProgramError::NotInstalled(_)) => Ok(()),
        Err(failed) => Err(failed.into()),
    }
}

/// Creates a command with the tool in a directory of the project, else the one in the search path.
fn tool(project: &Path, folder: &str, name: &str) -> Command {
    let local = project.join(folder).join(name);
    program::command(if local.exists() { local.as_path() } else { Path::new(name) }, project)
}

pub(super) const PYTHON: LanguageToolchain = LanguageToolchain {
    mark: "gate.py",
    template: super::PYTHON,
    converter: super::CONVERTER_PYTHON,
    conversion: "cards.py",
    prepare: &["python3 -m venv .venv && .venv/bin/pip install -r requirements.txt"],
    test: "python3 -m unittest",
};

const INSTALL_PYTHON: &str = "Install it into the project:\n  \
    python3 -m venv .venv && .venv/bin/pip install componentize-py==0.25.1\n\
    (Debian has Python's venv in the package python3-venv; macOS: brew install python)";

pub(super) async fn build_python(project: &GateProject, output: &Path) -> Result<Vec<u8>, PlainError> {
    let folder = &project.folder;
    // The build takes far longer before it finds a mistake.
    let mut check = tool(folder, ".venv/bin", "python3");
    check
        .args(["-c", "import sys\nfor name in sys.argv[1:]: compile(open(name, 'rb').read(), name, 'exec')"]);
    checked(program::run(check.args(sources(folder, "py")?), INSTALL_PYTHON).await)?;
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
