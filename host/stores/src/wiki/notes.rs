//! Hint for users who pass a directory of plain Markdown notes instead of a wiki.

use std::path::Path;

use super::folder::names;

const MAX_SUBFOLDERS: usize = 50;

/// Returns the hint for a directory without wiki pages.
pub(super) fn hint(root: &Path) -> String {
    if has_notes(root) {
        format!(
            "For plain Markdown notes, run `gatehouse docs add {}`: documents need no wiki folders. For a wiki, pass \
            its top folder.",
            root.display()
        )
    } else {
        "Pass the wiki's top folder.".to_owned()
    }
}

/// Returns `true` if the directory or a direct subdirectory contains Markdown files.
fn has_notes(root: &Path) -> bool {
    let is_note = |name: &String| name.ends_with(".md");
    let here = names(root).unwrap_or_default();
    let below = here.iter().filter(|name| !name.starts_with('.')).map(|name| root.join(name));
    here.iter().any(is_note)
        || below
            .filter(|path| path.is_dir())
            .take(MAX_SUBFOLDERS)
            .any(|folder| names(&folder).unwrap_or_default().iter().any(is_note))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn notes_are_documents() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(hint(dir.path()), "Pass the wiki's top folder.");
        fs::create_dir(dir.path().join("notes")).unwrap();
        fs::write(dir.path().join("notes/ideas.md"), "# Ideas").unwrap();
        assert!(hint(dir.path()).contains("`gatehouse docs add "));
        assert!(hint(&dir.path().join("notes")).contains("`gatehouse docs add "));
    }
}
