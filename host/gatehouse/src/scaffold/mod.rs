//! Gate projects: created from templates, whose example is the same in all languages, and built with the tools of their
//! language.
//!
//! No code of the project runs in this process.

mod changes;
mod languages;
mod program;
mod project;
mod watch;

use std::{fs, path::Path};

use gatehouse_core::capability::Capability;
use gatehouse_files::write_atomic;
use gatehouse_sandbox::ComponentInfo;

pub(crate) use changes::changes;
pub(crate) use project::{GateProject, create};
pub(crate) use watch::ProjectWatcher;

use crate::{config::keys, plain_error::PlainError};

// Lists of files with their text, from build.rs: CONTRACT, SDK, COMMON, and one for each language.
include!(concat!(env!("OUT_DIR"), "/projects.rs"));

/// Directory of the contract in a project, which component tools search.
const CONTRACT_FOLDER: &str = "wit/deps/gatehouse-gate";

/// Example that a new project contains.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ProjectTemplate {
    Tools,
    Converter,
}

/// Programming language of a gate project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Language {
    /// With the SDK: schemas come from types.
    Rust,
    /// Python, with componentize-py.
    Python,
    /// JavaScript, on QuickJS.
    Js,
    /// C, with clang and wasi-libc.
    C,
}

pub(crate) struct LanguageToolchain {
    /// File that identifies a project in this language.
    mark: &'static str,
    /// Files of a new project: path, and content with `{{name}}` placeholders.
    template: &'static [(&'static str, &'static str)],
    /// Files of a new converter, in place of those with the same path and of the example.
    converter: &'static [(&'static str, &'static str)],
    /// File with the conversion of a new converter.
    conversion: &'static str,
    /// Shell commands to run in a new project before the first build.
    pub(crate) prepare: &'static [&'static str],
    /// Shell command that runs the tests.
    pub(crate) test: &'static str,
}

impl Language {
    /// All languages, in detection order.
    pub(crate) const ALL: [Self; 4] = [Self::Rust, Self::Js, Self::Python, Self::C];

    pub(crate) fn tools(self) -> &'static LanguageToolchain {
        match self {
            Self::Rust => &languages::RUST,
            Self::Python => &languages::PYTHON,
            Self::Js => &languages::JS,
            Self::C => &languages::C,
        }
    }
}

/// Builds a project with its language's tools, whose output goes to standard error.
pub(crate) async fn build(project: &GateProject) -> Result<BuiltComponent, PlainError> {
    let scratch =
        tempfile::tempdir().map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let output = scratch.path().join("component.wasm");
    let bytes = match project.language {
        Language::Rust => languages::build_rust(project).await?,
        Language::Python => languages::build_python(project, &output).await?,
        Language::Js => languages::build_js(project, &output).await?,
        Language::C => languages::build_c(project, &output).await?,
    };
    BuiltComponent::read(bytes)
}

pub(crate) struct BuiltComponent {
    pub(crate) bytes: Vec<u8>,
    pub(crate) info: ComponentInfo,
}

impl BuiltComponent {
    /// Reads the output of a toolchain. The error is the reason that it is not a gate.
    pub(crate) fn read(bytes: Vec<u8>) -> Result<Self, PlainError> {
        let info = ComponentInfo::read(&bytes).map_err(|reason| format!("the build output {reason}"))?;
        Ok(Self { bytes, info })
    }

    /// Formats the lines for `presets.toml` that serve this gate.
    pub(crate) fn presets(&self, name: &str, file: &Path) -> String {
        let quoted = |text: &str| toml::Value::from(text).to_string();
        let name = keys::toml_key(name);
        let mut block = format!("[gates.{name}]\ncomponent = {}\n", quoted(&file.display().to_string()));
        let capabilities = self.info.ask.capabilities.iter().copied();
        let (blocks, entries): (Vec<Capability>, Vec<Capability>) = capabilities
            .filter(|capability| !capability.always_granted())
            .partition(|c| c.granted_by_block());
        if !entries.is_empty() {
            let grants: Vec<String> = entries.iter().map(|entry| quoted(entry.as_str())).collect();
            block += &format!("grants = [{}]\n", grants.join(", "));
        }
        for capability in blocks {
            block += &format!(
                "\n[gates.{name}.{capability}]       # hosts it may access\n\"api.example.com\" = {{}}\n"
            );
        }
        if self.info.is_converter() {
            let plain = name.trim_matches('"');
            return block + &format!("\n[documents]\nconverters = [\"{plain}\", \"converter\"]\n");
        }
        block + &format!("\n[presets.{name}]\ngates.{name} = {{}}\n")
    }
}

/// Writes a file atomically, so that a host never reads half of it. Returns `false` if it already has this content.
pub(crate) fn write_if_changed(bytes: &[u8], file: &Path) -> Result<bool, PlainError> {
    if fs::read(file).is_ok_and(|content| content == bytes) {
        return Ok(false);
    }
    let folder = file.parent().unwrap_or(Path::new("."));
    let written = fs::create_dir_all(folder).and_then(|()| write_atomic(file, bytes));
    written.map(|()| true).map_err(|error| format!("{}: {error}", file.display()).into())
}

#[cfg(test)]
mod tests {
    use gatehouse_core::capability::RequestedCapabilities;

    use super::*;

    #[test]
    fn the_block_grants_only_requested_capabilities() {
        let capabilities = vec![Capability::Context, Capability::Knowledge, Capability::Http];
        let ask = RequestedCapabilities { capabilities, others: vec![] };
        let info = ComponentInfo { digest: String::new(), ask, imports: vec![], exports: vec![] };
        let component = BuiltComponent { bytes: vec![], info };
        let block = component.presets("weather", Path::new("/a \"b\"/weather.wasm"));
        let table: toml::Table = block.parse().expect("TOML");
        assert_eq!(table["gates"]["weather"]["grants"].as_array().map(Vec::len), Some(1), "{block}");
        assert_eq!(table["gates"]["weather"]["component"].as_str(), Some("/a \"b\"/weather.wasm"));
        assert!(table["gates"]["weather"]["http"].is_table() && table["presets"]["weather"].is_table());
    }

    #[test]
    fn a_name_beyond_plain_letters_is_quoted_wherever_it_is_a_key() {
        let ask = RequestedCapabilities { capabilities: vec![Capability::Http], others: vec![] };
        let info = ComponentInfo { digest: String::new(), ask, imports: vec![], exports: vec![] };
        let block = BuiltComponent { bytes: vec![], info }.presets("wetterü", Path::new("/w.wasm"));
        let table: toml::Table = block.parse().expect("TOML");
        assert!(table["gates"]["wetterü"]["http"].is_table(), "{block}");
        assert!(table["presets"]["wetterü"]["gates"]["wetterü"].is_table(), "{block}");
    }

    #[test]
    fn files_that_are_not_components_are_refused() {
        assert!(BuiltComponent::read(b"garbage".to_vec()).is_err());
    }
}
