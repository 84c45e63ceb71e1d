//! `server.json` for the MCP registry (schema of 2025-12-11): the packages and how to start them.

use anyhow::Result;
use serde_json::{Value, json};

use super::{PackageFile, one};
use crate::product::{PACKAGE, Product, REGISTRY_NAME, SUMMARY};

const SCHEMA: &str = "https://static.modelcontextprotocol.io/schemas/2025-12-11/server.schema.json";

pub(super) fn make(product: &Product) -> Result<Vec<PackageFile>> {
    let about = json!({
        "$schema": SCHEMA,
        "name": REGISTRY_NAME,
        "title": "Gatehouse",
        "description": SUMMARY,
        "version": product.version,
        "packages": [package(product, "npm", "npx"), package(product, "pypi", "uvx")],
    });
    Ok(one("server.json".to_owned(), format!("{about:#}\n").into_bytes()))
}

fn package(product: &Product, registry: &str, runtime: &str) -> Value {
    json!({
        "registryType": registry,
        "identifier": PACKAGE,
        "version": product.version,
        "runtimeHint": runtime,
        "transport": { "type": "stdio" },
        "packageArguments": [
            { "type": "positional", "value": "serve" },
            {
                "type": "named",
                "name": "--preset",
                "description": "Preset that defines the tools the agent sees",
                "default": "full",
            },
        ],
        "environmentVariables": [
            {
                "name": "GATEHOUSE_CONFIG",
                "description": "Path of a presets.toml, or built-in for the bundled one",
                "format": "filepath",
            },
            {
                "name": "GATEHOUSE_STATE",
                "description": "Directory for indexes and stored data",
                "format": "filepath",
            },
        ],
    })
}
