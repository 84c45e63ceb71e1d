//! Reads the pages of a wiki directory.
//!
//! Skips files that are too large, are not text, or are outside the directory behind a symbolic link. A reason is
//! recorded for each.

use std::{collections::HashMap, fs, path::Path};

use gatehouse_core::{outcome::Fault, ports::knowledge::PageType};

use super::{
    edges::UnknownEdges,
    file::{FileFingerprint, ReadError, read_text},
    notes,
    record::PageRecord,
};

/// A file that should contain a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct PageFile {
    /// Page type, from the directory or the prefix of the file name.
    pub(crate) page_type: PageType,
    /// File name without prefix and extension.
    pub(crate) stem: String,
    /// Path relative to the wiki directory, with `/` separators.
    pub(crate) relative: String,
}

#[derive(Debug, Default)]
pub(crate) struct WikiFolder {
    /// Directory path, as stored with pages.
    pub(crate) root: String,
    pub(crate) records: Vec<PageRecord>,
    /// Files that exist but cannot be read. Their stored pages are retained.
    pub(crate) unreadable: Vec<String>,
    pub(crate) skipped: Vec<String>,
    /// Unknown edges of the pages that were read.
    pub(crate) unknown_edges: UnknownEdges,
    /// States of the page files when they were read, by relative path.
    pub(crate) seen: HashMap<String, FileFingerprint>,
}

impl WikiFolder {
    /// Reads changed files again. The list of skipped files is not updated.
    pub(crate) fn refresh(&mut self) -> Result<(), Fault> {
        let (known, seen) = (std::mem::take(&mut self.records), std::mem::take(&mut self.seen));
        let now = read_again(Path::new(&self.root), known, seen, &mut |_, _| {})?;
        (self.records, self.unreadable, self.seen) = (now.records, now.unreadable, now.seen);
        Ok(())
    }
}

/// Reads every page. `root` must be canonical; `progress` is called with (files done, total files).
pub(crate) fn read(root: &Path, progress: &mut dyn FnMut(u64, u64)) -> Result<WikiFolder, Fault> {
    read_again(root, Vec::new(), HashMap::new(), progress)
}

/// Like [`read`], but reuses those `stored_records` whose files are unchanged.
pub(crate) fn read_again(
    root: &Path,
    stored_records: Vec<PageRecord>,
    mut seen: HashMap<String, FileFingerprint>,
    progress: &mut dyn FnMut(u64, u64),
) -> Result<WikiFolder, Fault> {
    let files = list(root)?;
    let root_name = root_name(root)?;
    let by_file = |record: PageRecord| Some((record.origin.as_ref()?.file.clone(), record));
    let mut stored_records: HashMap<String, PageRecord> =
        stored_records.into_iter().filter_map(by_file).collect();
    let mut folder = WikiFolder { root: root_name.clone(), ..WikiFolder::default() };
    let mut first: HashMap<String, String> = HashMap::new();
    let total = files.len() as u64;
    progress(0, total);
    for (done, file) in (1..).zip(&files) {
        let path = root.join(&file.relative);
        let before = stored_records.remove(&file.relative).zip(seen.remove(&file.relative));
        let page = match before.filter(|(_, seen)| seen.is_unchanged(&path)) {
            Some((record, seen)) => Ok((record, Some(seen), Vec::new())),
            None => {
                // Take the state before reading, so that a change during the read is detected next time.
                let seen = FileFingerprint::capture(&path);
                read_text(root, &path).map(|text| {
                    let (record, unknown) = PageRecord::from_file(&root_name, file, &text);
                    (record, seen, unknown)
                })
            }
        };
        match page {
            Ok((record, seen, unknown)) => {
                if let Some(first) = first.get(&record.key()) {
                    folder.skipped.push(format!("{}: same page as {first}", file.relative));
                } else {
                    first.insert(record.key(), file.relative.clone());
                    folder.unknown_edges.note(&record.id, &unknown);
                    folder.seen.extend(seen.map(|seen| (file.relative.clone(), seen)));
                    folder.records.push(record);
                }
            }
            Err(ReadError::Outside) => {
                folder.skipped.push(format!("{}: a link to a target outside the wiki folder", file.relative));
            }
            Err(ReadError::Invalid(reason)) => {
                folder.skipped.push(format!("{}: {reason}", file.relative));
                folder.unreadable.push(file.relative.clone());
            }
        }
        progress(done, total);
    }
    Ok(folder)
}

pub(crate) fn root_name(root: &Path) -> Result<String, Fault> {
    root.to_str().map(str::to_owned).ok_or_else(|| {
        Fault::invalid(format!("the path '{}' is not UTF-8", root.display())).hint("Rename the folder.")
    })
}

/// Parses a relative path into a page file. `None` if the path is not that of a page.
pub(crate) fn page_file(relative: &str) -> Option<PageFile> {
    let page = |page_type, stem: &str| {
        let named = !stem.trim().is_empty() && !stem.starts_with('.');
        named.then(|| PageFile { page_type, stem: stem.to_owned(), relative: relative.to_owned() })
    };
    match relative.split_once('/') {
        Some((folder, name)) => {
            let page_type = PageType::ALL.into_iter().find(|kind| kind.folder() == folder)?;
            page(page_type, name.strip_suffix(".md").filter(|stem| !stem.contains('/'))?)
        }
        None => {
            let (kind, stem) = relative.strip_suffix(".mediawiki")?.split_once('_')?;
            page(PageType::ALL.into_iter().find(|page_type| page_type.as_str() == kind)?, stem)
        }
    }
}

/// Lists the page files of a wiki directory, sorted.
pub(crate) fn list(root: &Path) -> Result<Vec<PageFile>, Fault> {
    let cannot = |path: &Path, error: std::io::Error| {
        Fault::not_found(format!("cannot read wiki folder '{}': {error}", path.display()))
            .hint("Choose an existing, readable folder.")
    };
    if !root.is_dir() {
        return Err(Fault::not_found(format!("wiki folder '{}' is not a folder", root.display()))
            .hint("Choose the folder that contains workflows/, principles/ and so on."));
    }
    let folders: Vec<&str> =
        PageType::ALL.iter().map(|kind| kind.folder()).filter(|name| root.join(name).is_dir()).collect();
    let mut files = Vec::new();
    for folder in &folders {
        let path = root.join(folder);
        for name in names(&path).map_err(|error| cannot(&path, error))? {
            files.extend(page_file(&format!("{folder}/{name}")));
        }
    }
    if folders.is_empty() {
        for name in names(root).map_err(|error| cannot(root, error))? {
            files.extend(page_file(&name));
        }
    }
    if files.is_empty() {
        return Err(Fault::not_found(format!(
            "no wiki pages in '{}': expected folders workflows/, principles/, implementations/, environments/, \
             heuristics/ with *.md files, or *.mediawiki files named Type_Name",
            root.display()
        ))
        .hint(notes::hint(root)));
    }
    files.sort_by(|a, b| a.relative.cmp(&b.relative));
    Ok(files)
}

/// Returns the names in a directory that are UTF-8. Other names cannot be part of an id.
pub(super) fn names(folder: &Path) -> std::io::Result<Vec<String>> {
    let entries = fs::read_dir(folder)?.collect::<Result<Vec<_>, _>>()?;
    Ok(entries.into_iter().filter_map(|entry| entry.file_name().into_string().ok()).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wiki::{file::MAX_FILE_BYTES, ids};
    use gatehouse_core::outcome::FaultKind;

    fn id_of(relative: &str) -> Option<String> {
        page_file(relative).map(|file| ids::join(file.page_type, &file.stem))
    }

    fn write(root: &Path, name: &str, bytes: &[u8]) {
        let path = root.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }

    fn read_all(root: &Path) -> WikiFolder {
        read(&root.canonicalize().unwrap(), &mut |_, _| {}).unwrap()
    }

    #[test]
    fn files_say_which_page_they_are() {
        assert_eq!(id_of("workflows/A_b.md").as_deref(), Some("Workflow/A_b"));
        assert_eq!(id_of("Principle_A_b.mediawiki").as_deref(), Some("Principle/A_b"));
        for other in [
            "workflows/a.txt",
            "workflows/.a.md",
            "workflows/_staging/a.md",
            "a.md",
            "Page_a.mediawiki",
            "other/a.md",
            "workflows/.md",
        ] {
            assert_eq!(id_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_folder_is_read_in_order_and_staging_is_not() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "workflows/B.md", b"# Workflow: Bee\n");
        write(dir.path(), "principles/A_x.md", b"no heading");
        write(dir.path(), "_staging/C.md", b"x");
        write(dir.path(), "workflows/_staging/D.md", b"x");
        write(dir.path(), "Principle_E.mediawiki", b"x");
        let folder = read_all(dir.path());
        let found: Vec<_> = folder.records.iter().map(|r| (r.id.as_str(), r.title.as_str())).collect();
        assert_eq!(found, [("Principle/A_x", "A x"), ("Workflow/B", "Bee")]);
        assert!(folder.skipped.is_empty());
    }

    #[test]
    fn flat_wikis_are_read() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "Principle_E_f.mediawiki", b"= Principle: E f =\n== Definition ==\nIt is.\n");
        write(dir.path(), "_staging/Principle_G.mediawiki", b"x");
        let folder = read_all(dir.path());
        assert_eq!(folder.records.len(), 1);
        assert_eq!(
            (folder.records[0].id.as_str(), folder.records[0].overview.as_str()),
            ("Principle/E_f", "It is.")
        );
    }

    #[test]
    fn files_that_are_not_pages_are_skipped_with_a_reason() {
        let dir = tempfile::tempdir().unwrap();
        write(dir.path(), "principles/Good.md", b"x");
        write(dir.path(), "principles/Bytes.md", b"\xff\xfe");
        write(dir.path(), "principles/Nul.md", b"a\0b");
        write(dir.path(), "principles/Large.md", &vec![b'x'; MAX_FILE_BYTES as usize + 1]);
        write(dir.path(), "principles/Twice_a.md", b"x");
        write(dir.path(), "principles/Twice a.md", b"x");
        fs::create_dir(dir.path().join("principles/Dir.md")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink("/etc/passwd", dir.path().join("principles/Out.md")).unwrap();
        let folder = read_all(dir.path());
        assert_eq!(folder.records.len(), 2);
        for reason in [
            "Bytes.md: not UTF-8",
            "Nul.md: not text",
            "Large.md: larger",
            "Twice_a.md: same page",
            "Dir.md: not a file",
            "Out.md: a link",
        ] {
            assert!(
                folder.skipped.iter().any(|line| line.contains(reason)),
                "{reason}: {:?}",
                folder.skipped
            );
        }
        assert_eq!(folder.unreadable.len(), 4);
    }

    #[test]
    fn a_folder_without_pages_is_a_clear_fault() {
        let dir = tempfile::tempdir().unwrap();
        let fault = read(dir.path(), &mut |_, _| {}).unwrap_err();
        assert_eq!(fault.kind, FaultKind::NotFound);
        assert!(fault.message.contains("no wiki pages in") && fault.message.contains("workflows/"));
        assert!(read(&dir.path().join("gone"), &mut |_, _| {}).is_err());
    }
}
