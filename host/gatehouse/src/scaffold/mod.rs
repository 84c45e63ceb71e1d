//! Projects of gate authors: made from templates, and built with their language's own tools. One file a
//! language; every template is the same example gate.
//!
//! What an author's project contains is the author's: it runs no more than the tools of its language, as its
//! author would, and nothing of it runs in this process.

mod c;
mod changes;
mod component;
mod files;
mod js;
mod program;
mod project;
mod python;
mod rust;
mod sdk;
mod watch;

pub(crate) use changes::changes;
pub(crate) use component::{BuiltComponent, write_if_changed};
pub(crate) use project::{GateProject, create};
pub(crate) use watch::ProjectWatcher;

/// A language that gates can be written in here.
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

/// What a language brings.
struct LanguageToolchain {
    /// The file by which a project of it is known.
    mark: &'static str,
    /// Files of a new project: path in it, and content with `{{name}}` in it.
    template: &'static [(&'static str, &'static str)],
    /// What to do in a new project before it is built, as lines for a shell.
    prepare: &'static [&'static str],
    /// How its tests are run, as a line for a shell.
    test: &'static str,
}

impl Language {
    /// All of them, in the order in which a project is looked at.
    pub(crate) const ALL: [Self; 4] = [Self::Rust, Self::Js, Self::Python, Self::C];

    fn tools(self) -> &'static LanguageToolchain {
        match self {
            Self::Rust => &rust::TOOLCHAIN,
            Self::Python => &python::TOOLCHAIN,
            Self::Js => &js::TOOLCHAIN,
            Self::C => &c::TOOLCHAIN,
        }
    }

    /// What to do in a new project before it is built, as lines for a shell.
    pub(crate) fn prepare(self) -> &'static [&'static str] {
        self.tools().prepare
    }

    /// How the tests of a project are run, as a line for a shell.
    pub(crate) fn test(self) -> &'static str {
        self.tools().test
    }
}

/// Builds a project with its language's tools; what they say goes to standard error. The error is for people.
pub(crate) async fn build(project: &GateProject) -> Result<BuiltComponent, String> {
    let scratch = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    let output = scratch.path().join("component.wasm");
    let bytes = match project.language {
        Language::Rust => rust::build(project).await?,
        Language::Python => python::build(project, &output).await?,
        Language::Js => js::build(project, &output).await?,
        Language::C => c::build(project, &output).await?,
    };
    BuiltComponent::read(bytes)
}
