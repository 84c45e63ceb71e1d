//! Two npm packages: the one that users install, with a launcher, and one with the binary. npm installs the one that
//! matches the system. No script runs at installation.

use anyhow::Result;
use serde_json::{Map, Value, json};

use super::PackageFile;
use crate::{
    entries::{ArchiveEntry, tar_gz},
    platform::{PLATFORMS, Platform},
    product::{AUTHOR, PACKAGE, Product, REGISTRY_NAME, SUMMARY},
};

const LAUNCHER: &str = include_str!("../../files/launcher.js");

const NODE: &str = ">=20";

pub(super) fn make(product: &Product) -> Result<Vec<PackageFile>> {
    Ok(vec![
        packed(product, PACKAGE, launcher(product)?)?,
        packed(product, &name(product.platform), native(product)?)?,
    ])
}

fn name(platform: &Platform) -> String {
    format!("{PACKAGE}-{}-{}", platform.node_os, platform.node_cpu)
}

fn launcher(product: &Product) -> Result<Vec<ArchiveEntry>> {
    let natives: Map<String, Value> =
        PLATFORMS.iter().map(|platform| (name(platform), product.version.into())).collect();
    let manifest = json!({
        "name": PACKAGE,
        "version": product.version,
        "description": SUMMARY,
        "license": "Apache-2.0",
        "author": AUTHOR,
        "keywords": ["mcp", "gateway", "wasm"],
        "mcpName": REGISTRY_NAME,
        "bin": { "gatehouse": "launcher.js", PACKAGE: "launcher.js" },
        "files": ["launcher.js", "docs"],
        "engines": { "node": NODE },
        "optionalDependencies": natives,
    });
    let mut entries = vec![
        manifest_entry(&manifest),
        ArchiveEntry::program("package/launcher.js", LAUNCHER),
        ArchiveEntry::file("package/README.md", product.text("README.md")?),
        ArchiveEntry::file("package/LICENSE", product.text("LICENSE")?),
    ];
    entries.extend(product.documentation_in("package/"));
    Ok(entries)
}

fn native(product: &Product) -> Result<Vec<ArchiveEntry>> {
    let platform = product.platform;
    let mut manifest = json!({
        "name": name(platform),
        "version": product.version,
        "description": format!("The {PACKAGE} binary for {} on {}", platform.node_os, platform.node_cpu),
        "license": "Apache-2.0",
        "author": AUTHOR,
        "os": [platform.node_os],
        "cpu": [platform.node_cpu],
        "files": ["bin"],
        "preferUnplugged": true,
    });
    if product.glibc.is_some() {
        manifest["libc"] = json!(["glibc"]);
    }
    let mut entries = vec![
        manifest_entry(&manifest),
        ArchiveEntry::program("package/bin/gatehouse", product.binary.clone()),
        ArchiveEntry::file("package/LICENSE", product.text("LICENSE")?),
        ArchiveEntry::file("package/THIRD-PARTY.md", product.text("THIRD-PARTY.md")?),
    ];
    entries.extend(product.machine_code_in("package/bin"));
    Ok(entries)
}

fn manifest_entry(manifest: &Value) -> ArchiveEntry {
    ArchiveEntry::file("package/package.json", format!("{manifest:#}\n"))
}

fn packed(product: &Product, name: &str, entries: Vec<ArchiveEntry>) -> Result<PackageFile> {
    Ok(PackageFile {
        name: format!("{name}-{}.tgz", product.version),
        bytes: tar_gz(entries, product.level)?,
    })
}
