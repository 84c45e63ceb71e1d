//! Steps of work that come one after the other: a request is let through when the marks of the steps before are there, and
//! leaves its own. Marks are files in the project's folder, so other tools may read and write them, too.

use std::path::PathBuf;

use crate::tool::{SourceId, ToolId};

/// A step of a workflow, as a preset declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The workflow; marks begin with its name.
    pub workflow: String,
    /// Requests with these intents are this step.
    pub intents: Vec<String>,
    /// Marks that have to be there.
    pub requires: Vec<String>,
    /// The mark that is left where the request did what it was asked.
    pub produces: Option<String>,
    /// Folders in which, or below which, projects may lie; absolute.
    pub roots: Vec<PathBuf>,
}

impl Step {
    /// The name of the file that a mark is.
    pub fn file(&self, mark: &str) -> String {
        format!(".{}-{mark}", self.workflow)
    }
}

/// Whether a workflow or a mark may be called so: it is part of the name of a file.
pub fn is_name(name: &str) -> bool {
    let letters = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_');
    (1..=64).contains(&name.len()) && name.bytes().all(letters)
}

/// Whether calls of this tool are requests, which say their intent and their project.
pub fn takes_requests(tool: &ToolId) -> bool {
    matches!(&tool.source, SourceId::Gate(gate) if &**gate == "proxy") && &*tool.name == "request"
}
