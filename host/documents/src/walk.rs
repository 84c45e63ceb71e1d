//! Lists the files of a directory that git would track.

use std::path::{Path, PathBuf};

use gatehouse_core::outcome::Fault;
use ignore::WalkBuilder;

use crate::index::FileNotes;

const MAX_DEPTH: usize = 64;

/// Paths and hashes of all files are held in memory.
const MAX_FILES: usize = 200_000;

#[derive(Debug, Default)]
pub(crate) struct FolderListing {
    /// Sorted, relative, separated by `/`.
    pub(crate) files: Vec<String>,
    pub(crate) skipped: FileNotes,
    /// Unreadable files and directories. Their stored documents stay.
    pub(crate) unreadable: Vec<String>,
}

/// Lists files. Skips hidden ones and links. If `in_checkout` is true, ignore rules of parent directories apply too.
///
/// # Errors
/// `exhausted` if there are too many files.
pub(crate) fn walk(
    root: &Path,
    in_checkout: bool,
    cancelled: &dyn Fn() -> bool,
) -> Result<FolderListing, Fault> {
    let walker = WalkBuilder::new(root)
        .follow_links(false)
        .git_global(false)
        .require_git(false)
        .parents(in_checkout)
        .max_depth(Some(MAX_DEPTH + 1))
        .build();
    let mut walked = FolderListing::default();
    for entry in walker {
        if cancelled() {
            break;
        }
        match entry {
            Ok(entry) => {
                let Ok(path) = entry.path().strip_prefix(root) else { continue };
                match (skipped_because(path, &entry), entry.file_type()) {
                    (Some(why), _) => walked.skipped.add(shown(path), why),
                    (None, Some(kind)) if kind.is_file() => walked.files.push(shown(path)),
                    _ => {}
                }
            }
            Err(error) => {
                let path = unreadable(&error).and_then(|path| path.strip_prefix(root).ok().map(shown));
                // If the unreadable path is unknown, no document counts as deleted.
                walked.unreadable.push(path.clone().unwrap_or_default());
                walked.skipped.add(path.unwrap_or_default(), "cannot be read");
            }
        }
        if walked.files.len() > MAX_FILES {
            let what = format!("'{}' has more than {MAX_FILES} files", root.display());
            return Err(
                Fault::exhausted(what).hint("Index its subdirectories, or exclude files in .gitignore.")
            );
        }
    }
    walked.files.sort_unstable();
    Ok(walked)
}

/// Returns the reason to skip an entry, `None` for a file to read or a directory to enter.
fn skipped_because(path: &Path, entry: &ignore::DirEntry) -> Option<&'static str> {
    let kind = entry.file_type()?;
    if kind.is_dir() {
        return (entry.depth() > MAX_DEPTH).then_some("is nested too deeply");
    }
    if kind.is_symlink() {
        return Some("is a symbolic link");
    }
    if !kind.is_file() {
        return Some("is not a regular file");
    }
    match path.to_str() {
        None => Some("has a name that is not UTF-8"),
        Some(name) => name.chars().any(char::is_control).then_some("has control characters in its name"),
    }
}

fn shown(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}

fn unreadable(error: &ignore::Error) -> Option<PathBuf> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path.clone()),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => unreadable(err),
        ignore::Error::Partial(errors) => errors.iter().find_map(unreadable),
        ignore::Error::Loop { child, .. } => Some(child.clone()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::put;

    #[test]
    fn ignored_files_are_skipped() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        put(root, ".gitignore", "target/\n*.log\n!keep.log\n");
        put(root, ".git/info/exclude", "private.md\n");
        put(root, ".git/HEAD", "ref: refs/heads/main\n");
        for path in ["b.md", "a/x.rs", "target/out.md", "x.log", "keep.log", "private.md", ".hidden/x.md"] {
            put(root, path, "text");
        }
        put(root, "a/.gitignore", "y.rs\n");
        put(root, "a/y.rs", "text");
        let walked = walk(root, false, &|| false).expect("walked");
        assert_eq!(walked.files, ["a/x.rs", "b.md", "keep.log"]);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_special_files_are_skipped() {
        let folder = tempfile::tempdir().expect("a folder");
        let outside = tempfile::tempdir().expect("a folder");
        put(outside.path(), "secret.md", "secret");
        let root = folder.path();
        put(root, "a.md", "text");
        std::os::unix::fs::symlink(outside.path(), root.join("folder")).expect("linked");
        std::os::unix::fs::symlink(outside.path().join("secret.md"), root.join("file.md")).expect("linked");
        std::os::unix::fs::symlink(root, root.join("round")).expect("linked");
        let _socket = std::os::unix::net::UnixListener::bind(root.join("socket")).expect("bound");
        put(root, "odd\nname.md", "text");
        let walked = walk(root, false, &|| false).expect("walked");
        assert_eq!(walked.files, ["a.md"]);
        assert_eq!(walked.skipped.counts["is a symbolic link"], 3);
        assert_eq!(walked.skipped.total(), 5);
    }

    #[test]
    fn too_deep_directories_are_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        put(folder.path(), &("d/".repeat(MAX_DEPTH + 3) + "x.md"), "text");
        let walked = walk(folder.path(), false, &|| false).expect("walked");
        assert_eq!((walked.files.len(), walked.skipped.total()), (0, 1));
    }
}
