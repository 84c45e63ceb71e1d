//! The `.mcpb` bundle that desktop clients install with a click: a zip of the binary and a manifest (MCPB manifest
//! specification 0.3).

use anyhow::Result;
use serde_json::json;

use super::{PackageFile, one};
use crate::{
    entries::{ArchiveEntry, zip},
    product::{AUTHOR, Product, SUMMARY},
};

pub(super) fn make(product: &Product) -> Result<Vec<PackageFile>> {
    let platform = product.platform;
    let manifest = json!({
        "manifest_version": "0.3",
        "name": "gatehouse",
        "display_name": "Gatehouse",
        "version": product.version,
        "description": SUMMARY,
        "author": { "name": AUTHOR },
        "license": "Apache-2.0",
        "keywords": ["mcp", "gateway"],
        "server": {
            "type": "binary",
            "entry_point": "server/gatehouse",
            "mcp_config": {
                "command": "${__dirname}/server/gatehouse",
                "args": ["serve", "--preset", "${user_config.preset}", "--config", "${user_config.config}"],
            },
        },
        // The preset decides which tools exist.
        "tools_generated": true,
        "compatibility": { "platforms": [platform.node_os] },
        "user_config": {
            "preset": {
                "type": "string",
                "title": "Preset",
                "description": "Preset that defines the tools the agent sees.",
                "default": "full",
                "required": true,
            },
            "config": {
                "type": "string",
                "title": "Configuration",
                "description": "Path of a presets.toml, or `built-in` for the bundled one.",
                "default": "built-in",
                "required": true,
            },
        },
    });
    let mut entries = vec![
        ArchiveEntry::file("manifest.json", format!("{manifest:#}\n")),
        ArchiveEntry::program("server/gatehouse", product.binary.clone()),
        ArchiveEntry::file("LICENSE", product.text("LICENSE")?),
        ArchiveEntry::file("THIRD-PARTY.md", product.text("THIRD-PARTY.md")?),
    ];
    entries.extend(product.documentation_in(""));
    entries.extend(product.machine_code_in("server"));
    let name = format!("gatehouse-{}-{}-{}.mcpb", product.version, platform.node_os, platform.node_cpu);
    Ok(one(name, zip(&entries, product.level)?))
}
