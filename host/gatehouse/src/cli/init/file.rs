//! Files of a project: their real paths, contents and planned changes. Links cannot lead outside the project.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use gatehouse_files::{write_atomic, write_new};
use similar::TextDiff;

use super::PlainError;
use crate::config::locate;

pub(super) struct ProjectFile {
    path: PathBuf,
    pub(super) name: &'static str,
    pub(super) text: Option<String>,
    /// Number of its parent directories that do not exist.
    pub(super) missing_folders: usize,
}

pub(super) struct FileChange {
    pub(super) file: ProjectFile,
    pub(super) after: PlannedContent,
}

pub(super) enum PlannedContent {
    Text(String),
    /// Delete the file, and this many parent directories if they are empty.
    Removed {
        folders: usize,
    },
}

impl ProjectFile {
    /// Reads the file `name`, a relative path without dots, in the canonical directory `root`.
    pub(super) fn read(root: &Path, name: &'static str) -> Result<Self, PlainError> {
        let failed = |why: String| PlainError::from(format!("{name}: {why}; nothing was written"));
        let mut path = root.to_path_buf();
        let mut parts = Path::new(name).iter().peekable();
        while let Some(part) = parts.next() {
            path.push(part);
            match path.symlink_metadata() {
                Err(error) if error.kind() == ErrorKind::NotFound => {
                    let missing: Vec<_> = parts.collect();
                    path.extend(&missing);
                    return Ok(Self { path, name, text: None, missing_folders: missing.len() });
                }
                Err(error) => return Err(failed(format!("cannot be inspected: {error}"))),
                Ok(_) => {}
            }
            path = path.canonicalize().map_err(|_| failed("is a broken link".into()))?;
            if !path.starts_with(root) {
                return Err(failed(format!("leads outside the project, to {}", path.display())));
            }
            if parts.peek().is_some() && !path.is_dir() {
                return Err(failed(format!("{} is not a directory", path.display())));
            }
        }
        let bytes =
            locate::read_bounded(&path).map_err(|error| failed(format!("cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| failed("is not UTF-8 text".into()))?;
        Ok(Self { path, name, text: Some(text), missing_folders: 0 })
    }

    fn is_unchanged(&self) -> bool {
        match &self.text {
            Some(text) => locate::read_bounded(&self.path).is_ok_and(|bytes| bytes == text.as_bytes()),
            None => self.path.symlink_metadata().is_err_and(|error| error.kind() == ErrorKind::NotFound),
        }
    }
}

impl FileChange {
    pub(super) fn has_effect(&self) -> bool {
        match &self.after {
            PlannedContent::Text(text) => self.file.text.as_ref() != Some(text),
            PlannedContent::Removed { .. } => self.file.text.is_some(),
        }
    }

    /// Returns a unified diff for users, without differences in line ends.
    pub(super) fn diff(&self) -> String {
        let plain = |text: &str| text.replace("\r\n", "\n");
        let before = self.file.text.as_deref().map(plain);
        let after = match &self.after {
            PlannedContent::Text(text) => Some(plain(text)),
            PlannedContent::Removed { .. } => None,
        };
        let name = self.file.name;
        let header = |side: &str, text: &Option<String>| {
            text.as_ref().map_or("/dev/null".into(), |_| format!("{side}/{name}"))
        };
        let (before_name, after_name) = (header("a", &before), header("b", &after));
        let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
        TextDiff::from_lines(&before, &after).unified_diff().header(&before_name, &after_name).to_string()
    }

    /// Fails if the file is read-only: replacing it would ignore that.
    pub(super) fn check(&self) -> Result<(), PlainError> {
        let about = self.file.path.metadata();
        if about.is_ok_and(|about| about.permissions().readonly()) {
            bail!("{}: is read-only; nothing was written", self.file.name);
        }
        Ok(())
    }

    pub(super) fn apply(&self) -> Result<(), PlainError> {
        let ProjectFile { path, name, text, .. } = &self.file;
        if !self.file.is_unchanged() {
            return Err(
                format!("{name}: changed during the command and was not written; run it again").into()
            );
        }
        let failed = |error: std::io::Error| PlainError::from(format!("{name}: cannot be written: {error}"));
        match &self.after {
            PlannedContent::Text(after) if text.is_some() => {
                write_atomic(path, after.as_bytes()).map_err(failed)
            }
            PlannedContent::Text(after) => {
                path.parent().map_or(Ok(()), fs::create_dir_all).map_err(failed)?;
                write_new(path, after.as_bytes()).map_err(failed)
            }
            PlannedContent::Removed { folders } => {
                fs::remove_file(path).map_err(failed)?;
                let ours = path.ancestors().skip(1).take(*folders);
                let _ = ours.map(fs::remove_dir).take_while(Result::is_ok).count();
                Ok(())
            }
        }
    }
}
