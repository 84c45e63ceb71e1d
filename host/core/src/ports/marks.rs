//! Workflow marks: files in a project directory.

use std::path::{Path, PathBuf};

use async_trait::async_trait;

use crate::outcome::Fault;

/// Access to marks. Paths outside the allowed directories are `denied`; a path that is not a directory is
/// `invalid-arguments`.
#[async_trait]
pub trait WorkflowMarks: Send + Sync {
    /// Returns the canonical project directory if it is in one of the `allowed` directories.
    ///
    /// `origin` names the source of `root` in messages.
    async fn project(&self, origin: &str, root: &str, allowed: &[PathBuf]) -> Result<PathBuf, Fault>;

    /// Returns true if the file exists and is a regular file.
    async fn exists(&self, project: &Path, file: &str) -> Result<bool, Fault>;

    /// Creates the file if it does not exist. Follows no symbolic links.
    async fn create(&self, project: &Path, file: &str) -> Result<(), Fault>;
}
