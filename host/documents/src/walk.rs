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
            let what = format!("'{}' has more than {MAX_FILES} files", self.root.display());
            return Err(
                Fault::exhausted(what).hint("Index its subdirectories, or exclude files in .gitignore.")
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

/// Returns the reason to skip an entry that is no directory, `None` for a file to read.
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
        let walked = walk(root, None, &|| false).expect("walked");
        assert_eq!(walked.files, ["a/x.rs", "b.md", "keep.log"]);
    }

    #[test]
    fn rules_are_those_of_git() {
        for (rules, kept) in [
            (&b"# k\xf6nig\n\xff\nb.md\n"[..], &["a.md", "n/a.md", "x{1}.md"][..]),
            (b"*.md{}\nx{1}.md\n", &["a.md", "b.md", "n/a.md", "n/b.md"]),
            (b"\xef\xbb\xbf/a.md\r\n", &["b.md", "n/a.md", "n/b.md", "x{1}.md"]),
            (b"[\nn/*\n!n/b.md\n", &["a.md", "b.md", "n/b.md", "x{1}.md"]),
            (b"n/\n!n/b.md\n*{[1]}.md\n", &["a.md", "b.md"]),
        ] {
            let folder = tempfile::tempdir().expect("a folder");
            for path in ["a.md", "b.md", "n/a.md", "n/b.md", "x{1}.md"] {
                put(folder.path(), path, "text");
            }
            put(folder.path(), ".gitignore", rules);
            put(folder.path(), ".ignore", "*");
            let walked = walk(folder.path(), None, &|| false).expect("walked");
            assert_eq!(walked.files, kept, "{}", String::from_utf8_lossy(rules));
        }
    }

    #[test]
    fn tracked_files_count_and_outer_rules_apply() {
        let folder = tempfile::tempdir().expect("a folder");
        let root = folder.path();
        for path in ["docs/api.md", "docs/new.md", "docs/.env", "docs/own/x.md", "docs/own/.git/HEAD", "z.md"]
        {
            put(root, path, "text");
        }
        put(root, ".gitignore", "docs/*.md\nx.md\n");
        put(root, ".git/HEAD", "ref: refs/heads/main\n");
        let entry = |path: &str| {
            let mut bytes =
                [&[0; 24][..], &0o100_644_u32.to_be_bytes(), &[0; 34], path.as_bytes(), &[0]].concat();
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes
        };
        let paths = ["docs/.env", "docs/api.md", "docs/gone.md", "../out.md"];
        let entries: Vec<u8> = paths.into_iter().flat_map(entry).collect();
        put(root, ".git/index", [&b"DIRC\0\0\0\x02\0\0\0\x04"[..], &entries, &[0; 20]].concat());
        let docs = root.join("docs");
        let work_tree = WorkTree::containing(&docs).expect("a checkout");
        let walked = walk(&docs, Some(&work_tree), &|| false).expect("walked");
        assert_eq!(walked.files, ["api.md", "own/x.md"]);
        assert_eq!(walked.noted.named, [("api.md".to_owned(), TRACKED.to_owned())]);
    }

    #[test]
    fn a_folder_with_too_many_rules_is_left_out() {
        let folder = tempfile::tempdir().expect("a folder");
        put(folder.path(), "a.md", "text");
        put(folder.path(), "n/a.md", "text");
        put(folder.path(), "n/.gitignore", "a*b*c*d\n".repeat(2_001));
        let walked = walk(folder.path(), None, &|| false).expect("walked");
        assert_eq!(walked.files, ["a.md"]);
        assert_eq!(walked.skipped.named[0].0, "n");
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
        let walked = walk(root, None, &|| false).expect("walked");
        assert_eq!(walked.files, ["a.md"]);
        assert_eq!(walked.skipped.counts["is a symbolic link"], 3);
        assert_eq!(walked.skipped.total(), 5);
    }

    #[test]
    fn too_deep_directories_are_reported() {
        let folder = tempfile::tempdir().expect("a folder");
        put(folder.path(), &("d/".repeat(MAX_DEPTH + 3) + "x.md"), "text");
        let walked = walk(folder.path(), None, &|| false).expect("walked");
        assert_eq!((walked.files.len(), walked.skipped.total()), (0, 1));
    }
}
