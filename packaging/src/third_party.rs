//! The licences of what is linked into the binary: each crate with its licence, and the texts, each once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

/// Beginnings of names of files that hold a licence or what it asks to be shown.
const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// How deep below a crate's folder licences are looked for: C libraries lie in a folder of their own.
const MAX_DEPTH: usize = 2;

/// The whole text, in Markdown.
pub(crate) fn text(root: &Path, triple: &str) -> Result<String> {
    let linked = linked(root, triple)?;
    let mut list = String::new();
    let mut texts: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut parts = data(root)?;
    parts.extend(packages(root, triple)?.into_iter().filter(|package| linked.contains(&package.title())));
    for package in parts {
        let name = package.title();
        list += &format!("| {} | {} | {} |\n", package.name, package.version, package.licence);
        let mut files = Vec::new();
        collect(&package.folder, MAX_DEPTH, &mut files)?;
        for file in files {
            let text = fs::read(&file).with_context(|| format!("cannot read {}", file.display()))?;
            // Old ones have names of authors in other encodings.
            let text = String::from_utf8_lossy(&text).trim_end().to_owned();
            texts.entry(text).or_default().insert(name.clone());
        }
    }
    let texts = texts.into_iter().map(|(text, of)| {
        let of: Vec<String> = of.into_iter().collect();
        format!("\n## {}\n\n```text\n{text}\n```\n", of.join(", "))
    });
    Ok(format!(
        "# What Gatehouse is built with\n\n\
         These data and crates are part of the binary. The texts of their licences follow, each once.\n\n\
         | name | version | licence |\n|---|---|---|\n{list}{}",
        texts.collect::<String>()
    ))
}

struct LicensedPackage {
    name: String,
    version: String,
    licence: String,
    folder: PathBuf,
}

impl LicensedPackage {
    fn title(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// What was not written here and is no crate: vocabularies and the embedding model.
fn data(root: &Path) -> Result<Vec<LicensedPackage>> {
    let assets = root.join("host/text/assets");
    let entries = fs::read_dir(&assets).with_context(|| format!("cannot look into {}", assets.display()))?;
    let mut found = Vec::new();
    for entry in entries {
        let folder = entry?.path();
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        found.push(LicensedPackage {
            name,
            version: "data".to_owned(),
            licence: "see below".to_owned(),
            folder,
        });
    }
    found.sort_by(|one, other| one.name.cmp(&other.name));
    Ok(found)
}

/// Names and versions of what the binary links, for a system; not what only builds or tests it.
fn linked(root: &Path, triple: &str) -> Result<BTreeSet<String>> {
    let arguments = ["tree", "--package", "gatehouse", "--edges", "normal,no-proc-macro", "--prefix", "none"];
    let listed = cargo(root, &[&arguments[..], &["--target", triple, "--format", "{p}"]].concat())?;
    let listed = String::from_utf8(listed).context("cargo tree writes UTF-8")?;
    // A line is `name v1.2.3`, and where it comes from for what is not from the registry: that is ours.
    let lines = listed.lines().filter(|line| !line.contains(" (/"));
    Ok(lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect())
}

/// Everything that cargo knows of for a system, sorted. What is for others need not be here.
fn packages(root: &Path, triple: &str) -> Result<Vec<LicensedPackage>> {
    let metadata = cargo(root, &["metadata", "--format-version", "1", "--filter-platform", triple])?;
    let metadata: Value = serde_json::from_slice(&metadata).context("cargo metadata is not JSON")?;
    let read = |package: &Value| {
        let field = |name: &str| package[name].as_str().unwrap_or_default().to_owned();
        let manifest = PathBuf::from(field("manifest_path"));
        let licence = if package["license"].is_string() { field("license") } else { "see below".to_owned() };
        Some(LicensedPackage {
            name: field("name"),
            version: field("version"),
            licence,
            folder: manifest.parent()?.to_owned(),
        })
    };
    let mut found: Vec<LicensedPackage> =
        metadata["packages"].as_array().into_iter().flatten().filter_map(read).collect();
    found.sort_by(|one, other| (&one.name, &one.version).cmp(&(&other.name, &other.version)));
    Ok(found)
}

/// Cargo, without the network: what is linked has been fetched to build it.
fn cargo(root: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(cargo).args(arguments).args(["--offline", "--locked"]).current_dir(root).output();
    let ran = ran.context("cannot start cargo")?;
    let said = String::from_utf8_lossy(&ran.stderr);
    ensure!(
        ran.status.success(),
        "cargo {} failed; `cargo fetch --locked` may help: {}",
        arguments.join(" "),
        said.trim()
    );
    Ok(ran.stdout)
}

fn collect(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot look into {}", folder.display()))?;
    let mut paths =
        entries.map(|entry| entry.map(|entry| entry.path())).collect::<std::io::Result<Vec<_>>>()?;
    paths.sort();
    for path in paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        if path.is_dir() && !path.is_symlink() && depth > 0 {
            collect(&path, depth - 1, into)?;
        } else if path.is_file() && NAMES.iter().any(|start| name.starts_with(start)) {
            into.push(path);
        }
    }
    Ok(())
}
