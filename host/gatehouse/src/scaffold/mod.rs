//! Gate projects: created from templates, which are all the same example gate, and built with the tools of their
//! language.
//!
//! No code of the project runs in this process.

mod c;
mod changes;
mod component;
mod interpreted;
mod program;
mod project;
mod rust;
mod sdk;
mod watch;

pub(crate) use changes::changes;
pub(crate) use component::{BuiltComponent, write_if_changed};
pub(crate) use project::{GateProject, create};
pub(crate) use watch::ProjectWatcher;

use crate::plain_error::PlainError;

// Lists of files with their text, from build.rs: CONTRACT, SDK, COMMON, and one for each language.
include!(concat!(env!("OUT_DIR"), "/projects.rs"));

/// Directory of the contract in a project, which component tools search.
const CONTRACT_FOLDER: &str = "wit/deps/gatehouse-gate";

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
            Self::Rust => &rust::TOOLCHAIN,
            Self::Python => &interpreted::PYTHON,
            Self::Js => &interpreted::JS,
            Self::C => &c::TOOLCHAIN,
        }
    }
}

/// Builds a project with its language's tools, whose output goes to standard error.
pub(crate) async fn build(project: &GateProject) -> Result<BuiltComponent, PlainError> {
    let scratch =
        tempfile::tempdir().map_err(|error| format!("cannot create a temporary directory: {error}"))?;
    let output = scratch.path().join("component.wasm");
    let bytes = match project.language {
        Language::Rust => rust::build(project).await?,
        Language::Python => interpreted::build_python(project, &output).await?,
        Language::Js => interpreted::build_js(project, &output).await?,
        Language::C => c::build(project, &output).await?,
    };
    BuiltComponent::read(bytes)
}
