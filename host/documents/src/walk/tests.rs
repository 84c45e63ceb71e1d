//! Listings of directories.

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
    for path in ["docs/api.md", "docs/new.md", "docs/.env", "docs/own/x.md", "docs/own/.git/HEAD", "z.md"] {
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
    for rules in ["a*b*c*d\n".repeat(2_001), "**/a/".repeat(60) + "b\n"] {
        put(folder.path(), "n/.gitignore", rules);
        let walked = walk(folder.path(), None, &|| false).expect("walked");
        assert_eq!(walked.files, ["a.md"]);
        assert_eq!(walked.skipped.named[0].0, "n");
    }
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
