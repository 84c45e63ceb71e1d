//! What is packaged: the binary with its version, its texts and what it prints about itself.

use std::{fs, path::PathBuf, process::Command};

use anyhow::{Context, Result, bail, ensure};
use flate2::Compression;

use crate::{
    binary::{self, GlibcVersion},
    entries::ArchiveEntry,
    manual,
    options::Options,
    platform::Platform,
    third_party,
};

/// The name on PyPI and npm: there, `gatehouse` is another program.
pub(crate) const PACKAGE: &str = "gatehouse-mcp";

/// The name in the MCP registry. Its first part is an account or a domain that the publisher proves to own.
pub(crate) const REGISTRY_NAME: &str = "io.github.gatehouse-mcp/gatehouse";

/// One line about it, of at most the 100 characters that the MCP registry takes.
pub(crate) const SUMMARY: &str =
    "One MCP server for an agent; behind it, presets of sandboxed tools and other servers";

/// Who is named where a field asks for somebody.
pub(crate) const AUTHOR: &str = "The Gatehouse authors";

/// Everything that packages are made of.
pub(crate) struct Product {
    /// As Cargo.toml of the workspace has it.
    pub(crate) version: &'static str,
    pub(crate) platform: &'static Platform,
    pub(crate) binary: Vec<u8>,
    /// What a Linux binary needs.
    pub(crate) glibc: Option<GlibcVersion>,
    /// How hard archives are packed.
    pub(crate) level: Compression,
    /// The manual page.
    pub(crate) manual: String,
    /// LICENSE, README and the like, and pages of `docs/`, under their names.
    texts: Vec<ArchiveEntry>,
    /// Machine code of the shipped gates, under its names.
    machine_code: Vec<ArchiveEntry>,
    /// Completion scripts by shell: bash, zsh, fish.
    completions: Vec<(&'static str, Vec<u8>)>,
}

/// Files of the repository that travel along.
const TEXTS: [&str; 4] = ["CHANGELOG.md", "LICENSE", "README.md", "presets.toml"];

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

impl Product {
    /// Reads the binary and the repository; fails where they are not of one version.
    pub(crate) fn load(options: &Options) -> Result<Self> {
        let version = env!("CARGO_PKG_VERSION");
        let platform = Platform::from_triple(&options.target)?;
        let said = output(options, &["--version"])?;
        let said = String::from_utf8_lossy(&said).trim().to_owned();
        ensure!(
            said == format!("gatehouse {version}"),
            "{} says '{said}', and the repository is at {version}: build it anew",
            options.binary.display()
        );
        let read = fs::read(&options.binary);
        let binary = read.with_context(|| format!("cannot read {}", options.binary.display()))?;
        let glibc = if platform.node_os == "linux" { Some(binary::glibc(&binary)?) } else { None };
        let mut texts =
            vec![ArchiveEntry::file("THIRD-PARTY.md", third_party::text(&root(), platform.triple)?)];
        for name in TEXTS {
            let text = fs::read(root().join(name)).with_context(|| format!("cannot read {name}"))?;
            texts.push(ArchiveEntry::file(name, text));
        }
        texts.extend(documentation()?);
        let completions = SHELLS
            .into_iter()
            .map(|shell| output(options, &["completions", shell]).map(|script| (shell, script)));
        Ok(Self {
            version,
            platform,
            binary,
            glibc,
            manual: manual::page(version, |arguments| {
                String::from_utf8(output(options, arguments)?).context("the help is not UTF-8")
            })?,
            level: if options.store { Compression::none() } else { Compression::best() },
            texts,
            machine_code: machine_code(options)?,
            completions: completions.collect::<Result<_>>()?,
        })
    }

    /// A text of the repository, or that of third parties.
    pub(crate) fn text(&self, name: &str) -> Result<&[u8]> {
        let found = self.texts.iter().find(|entry| entry.path == name);
        Ok(&found.with_context(|| format!("no text is called {name}"))?.bytes)
    }

    /// A text as UTF-8.
    pub(crate) fn text_str(&self, name: &str) -> Result<&str> {
        std::str::from_utf8(self.text(name)?).with_context(|| format!("{name} is not UTF-8"))
    }

    /// All texts below a folder of an archive.
    pub(crate) fn texts_in(&self, folder: &str) -> impl Iterator<Item = ArchiveEntry> {
        self.texts
            .iter()
            .map(move |entry| ArchiveEntry { path: format!("{folder}/{}", entry.path), ..entry.clone() })
    }

    /// The documentation, below a folder of an archive that ends in `/`.
    pub(crate) fn documentation_in(&self, folder: &str) -> impl Iterator<Item = ArchiveEntry> {
        let pages = self.texts.iter().filter(|entry| entry.path.starts_with("docs/"));
        pages.map(move |entry| ArchiveEntry { path: format!("{folder}{}", entry.path), ..entry.clone() })
    }

    /// The machine code of the shipped gates, in a folder of that name below this one. The program looks for it beside itself
    /// and in `../lib/gatehouse`.
    pub(crate) fn machine_code_in(&self, folder: &str) -> impl Iterator<Item = ArchiveEntry> {
        self.machine_code.iter().map(move |entry| ArchiveEntry {
            path: format!("{folder}/machine-code/{}", entry.path),
            ..entry.clone()
        })
    }

    /// The completion script for a shell.
    pub(crate) fn completion(&self, shell: &str) -> Result<&[u8]> {
        let found = self.completions.iter().find(|(name, _)| *name == shell);
        Ok(&found.with_context(|| format!("no completions for {shell}"))?.1)
    }

    /// What a Linux package says that it needs; an error elsewhere.
    pub(crate) fn needed_glibc(&self) -> Result<GlibcVersion> {
        self.glibc.context("this package is for Linux")
    }
}

/// The pages that messages of the program name, `docs/presets.md` for one, under the names that messages use.
fn documentation() -> Result<Vec<ArchiveEntry>> {
    let folder = root().join("docs");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot look into {}", folder.display()))?;
    let mut pages = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // Benchmarks of performance.md.
        if name.ends_with(".md") || name.ends_with(".svg") {
            let page = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            pages.push(ArchiveEntry::file(format!("docs/{name}"), page));
        }
    }
    pages.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(pages)
}

/// The files of machine code, sorted.
fn machine_code(options: &Options) -> Result<Vec<ArchiveEntry>> {
    let Some(folder) = &options.machine_code else { return Ok(Vec::new()) };
    let read = |path: PathBuf| -> Result<ArchiveEntry> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let bytes = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
        Ok(ArchiveEntry::file(name, bytes))
    };
    let files = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let paths: Vec<PathBuf> = files.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
    let code = paths.into_iter().filter(|path| path.extension().is_some_and(|ending| ending == "cwasm"));
    let mut entries: Vec<ArchiveEntry> = code.map(read).collect::<Result<_>>()?;
    ensure!(!entries.is_empty(), "{} has no machine code", folder.display());
    entries.sort_by(|one, other| one.path.cmp(&other.path));
    Ok(entries)
}

/// The root of the repository.
fn root() -> PathBuf {
    PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn output(options: &Options, arguments: &[&str]) -> Result<Vec<u8>> {
    let run = Command::new(&options.binary).args(arguments).output();
    let run = run.with_context(|| format!("cannot run {}", options.binary.display()))?;
    if !run.status.success() {
        bail!("{} {}: {}", options.binary.display(), arguments.join(" "), run.status);
    }
    Ok(run.stdout)
}
