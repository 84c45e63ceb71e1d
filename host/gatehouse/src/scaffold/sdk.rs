//! The SDK for new Rust projects, copied into the project because it is not on crates.io.

use toml::{Table, Value};

use super::{CONTRACT_FOLDER, PlainError, SDK};

/// Manifest of the SDK, and the workspace manifest that it inherits versions from.
const MANIFEST: &str = include_str!("../../../../gates/sdk/Cargo.toml");
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");

const CONTRACT_OF_SOURCES: &str = "path: \"../../wit/0.1.0\"";

/// Returns the files of the directory `sdk/`, by path in the project.
pub(super) fn files() -> Result<Vec<(String, String)>, PlainError> {
    let moved = format!("path: \"../{CONTRACT_FOLDER}\"");
    let source =
        |(name, text): &(&str, &str)| (format!("sdk/src/{name}"), text.replace(CONTRACT_OF_SOURCES, &moved));
    let mut files: Vec<(String, String)> = SDK.iter().map(source).collect();
    files.push(("sdk/Cargo.toml".into(), manifest()?));
    Ok(files)
}

/// Returns the manifest without workspace inheritance, development dependencies and lints.
fn manifest() -> Result<String, PlainError> {
    let broken = |error: toml::de::Error| format!("the SDK in this binary is invalid: {error}");
    let mut manifest: Table = MANIFEST.parse().map_err(broken)?;
    let workspace: Table = WORKSPACE.parse().map_err(broken)?;
    manifest.remove("lints");
    manifest.remove("dev-dependencies");
    for part in ["package", "dependencies"] {
        let Some(table) = manifest.get_mut(part).and_then(Value::as_table_mut) else { continue };
        for (key, value) in table.iter_mut() {
            let shared = || workspace.get("workspace")?.get(part)?.get(key).cloned();
            if value.get("workspace").and_then(Value::as_bool) == Some(true)
                && let Some(inherited) = shared()
            {
                *value = merged(inherited, value);
            }
        }
    }
    toml::to_string(&manifest).map_err(|error| format!("the SDK in this binary is invalid: {error}").into())
}

/// Merges an inherited entry with the member's own keys.
fn merged(inherited: Value, own: &Value) -> Value {
    let mut own = own.as_table().cloned().unwrap_or_default();
    own.remove("workspace");
    if own.is_empty() {
        return inherited;
    }
    let mut table = match inherited {
        Value::Table(table) => table,
        version => Table::from_iter([("version".to_owned(), version)]),
    };
    table.extend(own);
    Value::Table(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sdk_of_a_project_needs_no_workspace() {
        let files = files().expect("files");
        let text = |name: &str| &files.iter().find(|(path, _)| path == name).expect("a file").1;
        assert!(text("sdk/src/bindings.rs").contains("path: \"../wit/deps/gatehouse-gate\""));
        let manifest: Table = text("sdk/Cargo.toml").parse().expect("TOML");
        assert!(!text("sdk/Cargo.toml").contains("workspace"), "{manifest}");
        let dependencies = manifest["dependencies"].as_table().expect("dependencies");
        assert_eq!(dependencies["jsonschema"]["optional"], Value::Boolean(true));
        assert!(dependencies["jsonschema"]["version"].is_str() && dependencies["schemars"].is_str());
        assert_eq!(manifest["package"]["edition"].as_str(), Some("2024"));
    }
}
