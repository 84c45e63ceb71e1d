//! The packaged product: the binary, its documents and the output of its commands.

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

/// Name on PyPI and npm, where `gatehouse` is taken by another program.
pub(crate) const PACKAGE: &str = "gatehouse-mcp";

/// Name in the MCP registry. Its first part is an account or domain that the publisher proves to own.
pub(crate) const REGISTRY_NAME: &str = "io.github.gatehouse-mcp/gatehouse";

/// One-line description; the MCP registry allows 100 characters.
pub(crate) const SUMMARY: &str =
    "MCP gateway: presets of sandboxed WebAssembly tools and other MCP servers behind one endpoint";

pub(crate) const AUTHOR: &str = "The Gatehouse authors";

pub(crate) struct Product {
    pub(crate) version: &'static str,
    pub(crate) platform: &'static Platform,
    pub(crate) binary: Vec<u8>,
    /// Required glibc. `None` if the binary is not for Linux.
    pub(crate) glibc: Option<GlibcVersion>,
    pub(crate) level: Compression,
    pub(crate) manual: String,
    /// Documents of the repository, pages of `docs/`, and THIRD-PARTY.md, by path.
    texts: Vec<ArchiveEntry>,
    machine_code: Vec<ArchiveEntry>,
    completions: Vec<(&'static str, Vec<u8>)>,
}

const TEXTS: [&str; 4] = ["CHANGELOG.md", "LICENSE", "README.md", "presets.toml"];

const SHELLS: [&str; 3] = ["bash", "zsh", "fish"];

impl Product {
    /// Reads the binary and the repository. Fails if their versions differ.
    pub(crate) fn load(options: &Options) -> Result<Self> {
        let version = env!("CARGO_PKG_VERSION");
        let platform = Platform::from_triple(&options.target)?;
        let stdout = output(options, &["--version"])?;
        let reported_version = String::from_utf8_lossy(&stdout).trim().to_owned();
        ensure!(
            reported_version == format!("gatehouse {version}"),
            "{} is '{reported_version}', but the repository is at {version}; rebuild it",
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

    pub(crate) fn text(&self, name: &str) -> Result<&[u8]> {
        let document = self.texts.iter().find(|entry| entry.path == name);
        Ok(&document.with_context(|| format!("no document named '{name}'"))?.bytes)
    }

    pub(crate) fn text_str(&self, name: &str) -> Result<&str> {
        std::str::from_utf8(self.text(name)?).with_context(|| format!("{name} is not UTF-8"))
    }

    /// Returns all documents, with paths below a directory of an archive.
    pub(crate) fn texts_in(&self, folder: &str) -> impl Iterator<Item = ArchiveEntry> {
        self.texts
            .iter()
            .map(move |entry| ArchiveEntry { path: format!("{folder}/{}", entry.path), ..entry.clone() })
    }

    /// Returns the documentation, with paths below a directory of an archive. `folder` is empty or ends in `/`.
    pub(crate) fn documentation_in(&self, folder: &str) -> impl Iterator<Item = ArchiveEntry> {
        let pages = self.texts.iter().filter(|entry| entry.path.starts_with("docs/"));
        pages.map(move |entry| ArchiveEntry { path: format!("{folder}{}", entry.path), ..entry.clone() })
    }

    /// Returns the machine code of the shipped gates, in `machine-code` below `folder`. The program looks next to
    /// itself and in `../lib/gatehouse`.
    pub(crate) fn machine_code_in(&self, folder: &str) -> impl Iterator<Item = ArchiveEntry> {
        self.machine_code.iter().map(move |entry| ArchiveEntry {
            path: format!("{folder}/machine-code/{}", entry.path),
            ..entry.clone()
        })
    }

    pub(crate) fn completion(&self, shell: &str) -> Result<&[u8]> {
        let completion = self.completions.iter().find(|(name, _)| *name == shell);
        Ok(&completion.with_context(|| format!("no completions for {shell}"))?.1)
    }

    pub(crate) fn needed_glibc(&self) -> Result<GlibcVersion> {
        self.glibc.context("this package format is only for Linux")
    }
}

/// Reads the pages of `docs/` under the paths that the program's messages use, for example `docs/presets.md`.
fn documentation() -> Result<Vec<ArchiveEntry>> {
    let folder = root().join("docs");
    let entries = fs::read_dir(&folder).with_context(|| format!("cannot read {}", folder.display()))?;
    let mut pages = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        // The figures belong to performance.md.
        if name.ends_with(".md") || name.ends_with(".svg") {
            let page = fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            pages.push(ArchiveEntry::file(format!("docs/{name}"), page));
        }
    }
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pages)
}

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
    entries.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(entries)
}

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
