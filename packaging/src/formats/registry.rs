//! `server.json`, which the MCP registry is told: where the packages are, and how they are started. By its schema of
//! 2025-12-11.

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
                "description": "Which tools the agent sees",
                "default": "full",
            },
        ],
        "environmentVariables": [
            {
                "name": "GATEHOUSE_CONFIG",
                "description": "The path of a presets.toml, or built-in for the one in the program",
                "format": "filepath",
            },
            {
                "name": "GATEHOUSE_STATE",
                "description": "The folder that keeps what was indexed and stored",
                "format": "filepath",
            },
        ],
    })
}
