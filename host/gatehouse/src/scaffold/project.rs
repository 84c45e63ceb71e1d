//! A gate project: directory, language and name. A new Rust project has a copy of the SDK, which is not on crates.io.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use toml::{Table, Value};
use wit_bindgen_core::wit_parser::{Resolve, UnresolvedPackageGroup};

use super::{
    COMMON, CONTRACT, CONTRACT_FOLDER, CONVERTER_COMMON, Language, LanguageToolchain, PlainError,
    ProjectTemplate, SDK,
};
use crate::built_in;

#[derive(Debug)]
pub(crate) struct GateProject {
    /// Absolute path.
    pub(crate) folder: PathBuf,
    pub(crate) language: Language,
    /// Name of the component, without `.wasm`.
    pub(crate) name: String,
}

impl GateProject {
    /// Detects the project in a directory. The error names the missing file.
    pub(crate) fn find(folder: &Path) -> Result<Self, PlainError> {
        let folder = folder.canonicalize().map_err(|error| format!("{}: {error}", folder.display()))?;
        let language = Language::ALL.into_iter().find(|language| folder.join(language.tools().mark).exists());
        let Some(language) = language else {
            let marks = Language::ALL.map(|language| language.tools().mark).join(", ");
            bail!(
                "{}: is not a gate project: none of {marks} exists. Run `gatehouse gates new` to create one.",
                folder.display()
            );
        };
        let name = match language {
            Language::Rust => super::languages::crate_name(&folder)?,
            _ => package_name(&folder)?,
        };
        Ok(Self { folder, language, name })
    }

    /// Returns whether the project's own `presets.toml` has the gate in a preset or as a converter.
    pub(crate) fn is_configured(&self) -> bool {
        let text = fs::read_to_string(self.folder.join("presets.toml")).ok();
        let file = text.and_then(|text| text.parse::<toml::Table>().ok());
        let presets = file.as_ref().and_then(|file| file.get("presets")?.as_table());
        let has =
            |preset: &toml::Value| preset.get("gates").is_some_and(|gates| gates.get(&self.name).is_some());
        let converters = file.as_ref().and_then(|file| file.get("documents")?.get("converters")?.as_array());
        presets.is_some_and(|presets| presets.values().any(has))
            || converters.is_some_and(|names| names.iter().any(|name| name.as_str() == Some(&self.name)))
    }
}

/// Returns the name of a project's WIT package, which is the name of the gate.
fn package_name(folder: &Path) -> Result<String, PlainError> {
    let mut resolve = Resolve::default();
    let wit = folder.join("wit");
    let parsed = resolve.push_dir(&wit).map_err(|error| format!("{}: {error:#}", wit.display()));
    Ok(parsed.map(|(package, _)| resolve.packages[package].name.name.clone())?)
}

/// Files of the example with tools that a converter does not have.
const TOOL_EXAMPLE: [&str; 11] = [
    "json.c",
    "json.h",
    "src/convert.rs",
    "src/forecast.rs",
    "test_weather.c",
    "test_weather.py",
    "weather.c",
    "weather.h",
    "weather.js",
    "weather.py",
    "weather.test.js",
];

/// Returns the files of a template by path. Of files with the same path, the first counts.
fn template_files(
    language: Language,
    template: ProjectTemplate,
) -> impl Iterator<Item = (&'static str, &'static str)> {
    let tools = language.tools();
    let lists = match template {
        ProjectTemplate::Tools => [&[], &[], tools.template, COMMON],
        ProjectTemplate::Converter => [tools.converter, CONVERTER_COMMON, tools.template, COMMON],
    };
    let is_of_tools =
        move |path: &str| template == ProjectTemplate::Converter && TOOL_EXAMPLE.contains(&path);
    let mut seen = HashSet::new();
    let files = lists.into_iter().flatten().copied();
    // The SDK has the world of Rust gates.
    let is_used =
        move |path: &str| !(path == "wit/world.wit" && language == Language::Rust || is_of_tools(path));
    files.filter(move |(path, _)| is_used(path) && seen.insert(*path))
}

/// Creates a project in `folder`, which must be empty or missing. Returns the paths of its files.
pub(crate) fn create(
    name: &str,
    language: Language,
    template: ProjectTemplate,
    folder: &Path,
) -> Result<Vec<String>, PlainError> {
    check_name(name)?;
    if fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_some()) {
        bail!("{}: is not empty; name another directory with --dir, or empty this one", folder.display());
    }
    let mut written: Vec<(String, String)> = Vec::new();
    let LanguageToolchain { conversion, test, .. } = language.tools();
    let placeholders = [("{{name}}", name), ("{{conversion}}", *conversion), ("{{test}}", *test)];
    let filled = |text: &str| {
        placeholders.iter().fold(text.to_owned(), |text, (mark, value)| text.replace(mark, value))
    };
    written.extend(template_files(language, template).map(|(path, text)| (path.to_owned(), filled(text))));
    for (file, text) in CONTRACT {
        written.push((format!("{CONTRACT_FOLDER}/{file}"), filled(text)));
    }
    if language == Language::Rust {
        written.extend(sdk_files()?);
    }
    for (path, text) in &written {
        let path = folder.join(path);
        let result = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| fs::write(&path, text));
        result.map_err(|error| format!("{}: {error}", path.display()))?;
    }
    Ok(written.into_iter().map(|(path, _)| path).collect())
}

/// Checks a gate name, which is also the name of a file, a WIT package and a package in its language.
fn check_name(name: &str) -> Result<(), PlainError> {
    let refused = |reason: &str| {
        let display_name = gatehouse_core::names::quoted(name, 64);
        Err(format!("'{display_name}' cannot be the name of a gate: {reason}; write for example my-gate")
            .into())
    };
    let word = |word: &str| {
        word.starts_with(|c: char| c.is_ascii_lowercase())
            && word.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit())
    };
    if name.len() > 64 || !name.split('-').all(word) {
        return refused("use words of a-z and 0-9 that start with a letter, with - between them");
    }
    if built_in::is_shipped(name) {
        return refused("a shipped gate has this name");
    }
    // Refuse keywords of WIT, such as `interface`.
    match UnresolvedPackageGroup::parse("world.wit", &format!("package author:{name};\n")) {
        Ok(_) => Ok(()),
        Err(_) => refused("it is a keyword in WIT"),
    }
}

/// Manifest of the SDK, and the workspace manifest that it inherits versions from.
const MANIFEST: &str = include_str!("../../../../gates/sdk/Cargo.toml");
const WORKSPACE: &str = include_str!("../../../../Cargo.toml");

const CONTRACT_OF_SOURCES: &str = "path: \"../../wit/0.1.0\"";

/// Returns the files of the directory `sdk/`, by path in the project.
fn sdk_files() -> Result<Vec<(String, String)>, PlainError> {
    let moved = format!("path: \"../{CONTRACT_FOLDER}\"");
    let source =
        |(name, text): &(&str, &str)| (format!("sdk/src/{name}"), text.replace(CONTRACT_OF_SOURCES, &moved));
    let mut files: Vec<(String, String)> = SDK.iter().map(source).collect();
    files.push(("sdk/Cargo.toml".into(), sdk_manifest()?));
    Ok(files)
}

/// Returns the manifest without workspace inheritance, development dependencies and lints.
fn sdk_manifest() -> Result<String, PlainError> {
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
fn merged(inherited: Value, own_value: &Value) -> Value {
    let mut own_keys = own_value.as_table().cloned().unwrap_or_default();
    own_keys.remove("workspace");
    if own_keys.is_empty() {
        return inherited;
    }
    let mut table = match inherited {
        Value::Table(table) => table,
        version => Table::from_iter([("version".to_owned(), version)]),
    };
    table.extend(own_keys);
    Value::Table(table)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_some_tool_would_refuse_are_refused_at_once() {
        for good in ["weather", "my-gate2", "x"] {
            assert_eq!(check_name(good), Ok(()), "{good}");
        }
        for bad in ["", "Weather", "my_gate", "2nd", "a--b", "-a", "a-", "../x", "interface", &"x".repeat(65)]
        {
            assert!(check_name(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn new_projects_have_the_mark_of_their_language() {
        for language in Language::ALL {
            let folder = tempfile::tempdir().expect("a folder");
            let made = create("weather", language, ProjectTemplate::Tools, folder.path()).expect("made");
            for file in ["README.md", ".gitignore", "presets.toml", "wit/deps/gatehouse-gate/types.wit"] {
                assert!(made.iter().any(|path| path == file), "{language:?}: {file}");
            }
            let left = made.iter().filter(|path| {
                fs::read_to_string(folder.path().join(path)).is_ok_and(|text| text.contains("{{name}}"))
            });
            assert_eq!(left.count(), 0, "{language:?}");
            let project = GateProject::find(folder.path()).expect("a project");
            assert_eq!((project.language, project.name.as_str()), (language, "weather"));
            assert!(
                create("weather", language, ProjectTemplate::Tools, folder.path()).is_err(),
                "nothing is overwritten"
            );
        }
    }

    #[test]
    fn the_sdk_of_a_project_needs_no_workspace() {
        let files = sdk_files().expect("files");
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
