//! Marks of workflows: files in the folder of a project.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use crate::outcome::Fault;

/// Where marks are. What lies outside of the allowed folders is `denied`; what is no folder is `invalid-arguments`.
#[async_trait]
pub trait WorkflowMarks: Send + Sync {
    /// The folder of a project as it really is: absolute, without links, in or below one of those that are allowed. `origin`
    /// says, for messages, who named it.
    async fn project(&self, origin: &str, root: &str, allowed: &[PathBuf]) -> Result<PathBuf, Fault>;

    /// Whether this file is there; what is no plain file is none.
    async fn exists(&self, project: &Path, file: &str) -> Result<bool, Fault>;

    /// Makes this file, unless it is there. It follows no link.
    async fn create(&self, project: &Path, file: &str) -> Result<(), Fault>;
}
