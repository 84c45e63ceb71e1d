//! Lists the files of a directory that git would list: tracked ones, and others that no rule ignores.

use std::{
    collections::{BTreeSet, HashMap},
    fs,
    path::{Path, PathBuf},
};

use gatehouse_core::outcome::Fault;

use crate::{git::WorkTree, git_index::tracked_files, ignore_rules::IgnoreRules, index::FileNotes};

const MAX_DEPTH: usize = 64;

/// Paths and hashes of all files are held in memory.
const MAX_FILES: usize = 200_000;

const TRACKED: &str = "is tracked by git although a rule ignores it";

#[derive(Debug, Default)]
pub(crate) struct FolderListing {
    /// Sorted, relative, separated by `/`.
    pub(crate) files: Vec<String>,
    pub(crate) skipped: FileNotes,
    /// Files that were listed for another reason than the rules.
    pub(crate) noted: FileNotes,
    /// Unreadable files and directories. Their stored documents stay.
    pub(crate) unreadable: Vec<String>,
}

/// Lists files. Skips hidden ones and links. In a checkout, ignore rules of parent directories apply too.
///
/// # Errors
/// `exhausted` if there are too many files.
pub(crate) fn walk(
    root: &Path,
    work_tree: Option<&WorkTree>,
    cancelled: &dyn Fn() -> bool,
) -> Result<FolderListing, Fault> {
    let top = work_tree.map_or(root, |of| &of.root);
    let prefix = root.strip_prefix(top).unwrap_or(Path::new("")).to_owned();
    let mut walk =
        FolderWalk { root, top, cancelled, rules: IgnoreRules::default(), listing: FolderListing::default() };
    if walk.add_outer_rules(work_tree, &prefix) {
        walk.folder(&prefix, 0)?;
        if let Some(work_tree) = work_tree {
            walk.add_tracked(work_tree)?;
        }
    }
    walk.listing.files.sort_unstable();
    Ok(walk.listing)
}

struct FolderWalk<'a> {
    root: &'a Path,
    /// Root of the checkout, which paths of rules are relative to.
    top: &'a Path,
    cancelled: &'a dyn Fn() -> bool,
    rules: IgnoreRules,
    listing: FolderListing,
}

impl FolderWalk<'_> {
    /// Adds the rules of the checkout that apply to all of the directory. Returns whether it can be read.
    fn add_outer_rules(&mut self, work_tree: Option<&WorkTree>, prefix: &Path) -> bool {
        let git = work_tree.map_or_else(|| self.root.join(".git"), |of| of.common.clone());
        let mut outcome = self.rules.add(&git.join("info/exclude"), b"");
        let mut base = PathBuf::new();
        for part in prefix.components() {
            outcome =
                outcome.and_then(|()| self.rules.add(&self.top.join(&base).join(".gitignore"), bytes(&base)));
            base.push(part);
        }
        if let Err(reason) = outcome {
            self.listing.skipped.add(String::new(), reason);
        }
        outcome.is_ok()
    }

    /// Lists a folder, given by its path in the checkout.
    fn folder(&mut self, path: &Path, depth: usize) -> Result<(), Fault> {
        let outer = self.rules.len();
        if let Err(reason) = self.rules.add(&self.top.join(path).join(".gitignore"), bytes(path)) {
            self.listing.skipped.add(self.shown(path), reason);
            return Ok(());
        }
        let Ok(entries) = fs::read_dir(self.top.join(path)) else {
            self.unreadable(path);
            return Ok(());
        };
        for entry in entries {
            if (self.cancelled)() {
                break;
            }
            let Ok(entry) = entry else {
                self.unreadable(path);
                continue;
            };
            let name = entry.file_name();
            if name.as_encoded_bytes().starts_with(b".") {
                continue;
            }
            let path = path.join(&name);
            match entry.file_type() {
                Ok(kind) if self.rules.exclude(bytes(&path), kind.is_dir()) => {}
                Ok(kind) if kind.is_dir() && depth == MAX_DEPTH => {
                    self.listing.skipped.add(self.shown(&path), "is nested too deeply");
                }
                Ok(kind) if kind.is_dir() => self.inner_folder(&path, depth + 1)?,
                Ok(kind) => match skipped_because(&path, kind) {
                    Some(reason) => self.listing.skipped.add(self.shown(&path), reason),
                    None => self.file(&path)?,
                },
                Err(_) => self.unreadable(&path),
            }
        }
        self.rules.truncate(outer);
        Ok(())
    }

    /// Lists a folder within another. A checkout within a checkout has only its own rules.
    fn inner_folder(&mut self, path: &Path, depth: usize) -> Result<(), Fault> {
        if fs::symlink_metadata(self.top.join(path).join(".git")).is_err() {
            return self.folder(path, depth);
        }
        let outer = std::mem::take(&mut self.rules);
        let outcome = match self.rules.add(&self.top.join(path).join(".git/info/exclude"), bytes(path)) {
            Ok(()) => self.folder(path, depth),
            Err(reason) => {
                self.listing.skipped.add(self.shown(path), reason);
                Ok(())
            }
        };
        self.rules = outer;
        outcome
    }

    fn file(&mut self, path: &Path) -> Result<(), Fault> {
        self.listing.files.push(self.shown(path));
        if self.listing.files.len() > MAX_FILES {
            let message = format!("'{}' has more than {MAX_FILES} files", self.root.display());
            return Err(
                Fault::exhausted(message).hint("Index its subdirectories, or exclude files in .gitignore.")
            );
        }
        Ok(())
    }

    /// Adds the files that git tracks although a rule ignores them.
    fn add_tracked(&mut self, work_tree: &WorkTree) -> Result<(), Fault> {
        let tracked = match tracked_files(&work_tree.git, work_tree.object_bytes) {
            Ok(tracked) => tracked,
            Err(reason) => {
                let note = format!("{reason}, so tracked files that a rule ignores are left out");
                self.listing.noted.add(".git/index".into(), note);
                return Ok(());
            }
        };
        let listed: BTreeSet<String> = self.listing.files.iter().cloned().collect();
        let mut folders = HashMap::new();
        for path in tracked {
            let Ok(path) = std::str::from_utf8(&path).map(Path::new) else { continue };
            let Ok(within) = self.top.join(path).strip_prefix(self.root).map(Path::to_owned) else {
                continue;
            };
            let is_plain = within.components().all(|part| {
                matches!(part, std::path::Component::Normal(name) if !name.as_encoded_bytes().starts_with(b"."))
            });
            if !is_plain || within.components().count() > MAX_DEPTH || listed.contains(&shown(&within)) {
                continue;
            }
            let kind = fs::symlink_metadata(self.root.join(&within)).map(|of| of.file_type());
            let in_folders = within.ancestors().skip(1).all(|folder| {
                *folders.entry(folder.to_owned()).or_insert_with(|| {
                    fs::symlink_metadata(self.root.join(folder)).is_ok_and(|of| of.is_dir())
                })
            });
            if in_folders && kind.is_ok_and(|kind| skipped_because(path, kind).is_none()) {
                self.file(path)?;
                self.listing.noted.add(shown(&within), TRACKED);
            }
        }
        Ok(())
    }

    fn unreadable(&mut self, path: &Path) {
        self.listing.unreadable.push(self.shown(path));
        self.listing.skipped.add(self.shown(path), "cannot be read");
    }

    /// Returns the path relative to the listed directory.
    fn shown(&self, path: &Path) -> String {
        let path = self.top.join(path);
        shown(path.strip_prefix(self.root).unwrap_or(&path))
    }
}

fn bytes(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

/// Returns the reason to skip an entry that is not a directory, `None` for a file to read.
fn skipped_because(path: &Path, kind: fs::FileType) -> Option<&'static str> {
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

#[cfg(test)]
mod tests;
