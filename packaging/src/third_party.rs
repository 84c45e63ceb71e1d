//! Licenses of the linked crates and data: a list, followed by each distinct text once.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

const NAMES: [&str; 5] = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"];

/// Maximum directory depth for license files below a crate; bundled C libraries have their own directories.
const MAX_DEPTH: usize = 2;

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
            // Some old texts have author names in other encodings.
            let text = String::from_utf8_lossy(&text).trim_end().to_owned();
            texts.entry(text).or_default().insert(name.clone());
        }
    }
    let texts = texts.into_iter().map(|(text, of)| {
        let of: Vec<String> = of.into_iter().collect();
        format!("\n## {}\n\n```text\n{text}\n```\n", of.join(", "))
    });
    Ok(format!(
        "# Third-party components of Gatehouse\n\n\
         The binary contains these data and crates. Each license text follows once.\n\n\
         | name | version | license |\n|---|---|---|\n{list}{}",
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

/// Returns the third-party data that is not a crate: vocabularies and the embedding model.
fn data(root: &Path) -> Result<Vec<LicensedPackage>> {
    let assets = root.join("host/text/assets");
    let entries = fs::read_dir(&assets).with_context(|| format!("cannot read {}", assets.display()))?;
    let mut packages = Vec::new();
    for entry in entries {
        let folder = entry?.path();
        if !folder.is_dir() {
            continue;
        }
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        packages.push(LicensedPackage {
            name,
            version: "data".to_owned(),
            licence: "see below".to_owned(),
            folder,
        });
    }
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(packages)
}

/// Returns the title of each crate that the binary links on a target, without build and test dependencies.
fn linked(root: &Path, triple: &str) -> Result<BTreeSet<String>> {
    let arguments = ["tree", "--package", "gatehouse", "--edges", "normal,no-proc-macro", "--prefix", "none"];
    let listed = cargo(root, &[&arguments[..], &["--target", triple, "--format", "{p}"]].concat())?;
    let listed = String::from_utf8(listed).context("cargo tree output is not UTF-8")?;
    // A line is `name v1.2.3`. A path follows for workspace members, which need no entry.
    let lines = listed.lines().filter(|line| !line.contains(" (/"));
    Ok(lines
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            Some(format!("{} {}", words.next()?, words.next()?.strip_prefix('v')?))
        })
        .collect())
}

/// Returns all packages that cargo resolves for a target, sorted. Packages of other targets may not be downloaded.
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
    let mut packages: Vec<LicensedPackage> =
        metadata["packages"].as_array().into_iter().flatten().filter_map(read).collect();
    packages.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    Ok(packages)
}

/// Runs cargo without network access; the build has fetched every linked crate.
fn cargo(root: &Path, arguments: &[&str]) -> Result<Vec<u8>> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let ran = Command::new(cargo).args(arguments).args(["--offline", "--locked"]).current_dir(root).output();
    let ran = ran.context("cannot start cargo")?;
    let stderr = String::from_utf8_lossy(&ran.stderr);
    ensure!(
        ran.status.success(),
        "cargo {} failed; `cargo fetch --locked` may help: {}",
        arguments.join(" "),
        stderr.trim()
    );
    Ok(ran.stdout)
}

fn collect(folder: &Path, depth: usize, into: &mut Vec<PathBuf>) -> Result<()> {
    let entries = fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
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
