//! Index runs with an in-memory store.

use std::{fs, path::Path, sync::Mutex};

use gatehouse_core::FaultKind;

use super::*;
use crate::testing::{MemoryStore, cards, put};

fn source(root: &Path) -> IndexSource {
    IndexSource { root: root.into(), name: "r".into(), url: None }
}

async fn index(
    store: &MemoryStore,
    source: IndexSource,
    options: Options,
    progress: OnIndexProgress<'_>,
    cancel: CancellationToken,
) -> Result<IndexRunReport, Fault> {
    let scan = FolderScan::new(source, &cancel).await?;
    super::index(store, scan, options, progress, cancel).await
}

async fn run(store: &MemoryStore, root: &Path) -> IndexRunReport {
    let done = index(store, source(root), Options::default(), &|_| {}, CancellationToken::new()).await;
    done.expect("indexed")
}

fn counts(report: &IndexRunReport) -> [usize; 5] {
    [report.added, report.updated, report.unchanged, report.removed, report.skipped.total()]
}

#[tokio::test]
async fn only_changed_files_are_stored() {
    let (folder, store) = (tempfile::tempdir().expect("a folder"), MemoryStore::default());
    let root = folder.path();
    put(root, "README.md", "# Garden\n\nHow to keep a garden of herbs in order.\n");
    put(root, "docs/basil.md", "# Basil\n\nWater & sun.\n");
    put(root, "src/main.rs", "fn main() {}\n");
    put(root, "logo.png", [137, 80, 78, 71, 0]);
    put(root, "old.txt", b"Die Gr\xf6\xdfe der Stra\xdfe ist f\xfcr alle gleich.");
    let report = run(&store, root).await;
    assert_eq!(counts(&report), [4, 0, 0, 0, 1]);
    assert_eq!(report.noted.named[0].0, "old.txt");
    assert_eq!(store.texts()["src/main.rs"], "fn main() {}\n");
    assert!(matches!(report.guide, GuideOutcome::Written { .. }));
    let guide = store.state_of("r").repository.navigation_guide.expect("written");
    assert!(guide.contains("> How to keep a garden of herbs in order."), "{guide}");
    assert!(guide.lines().count() <= 150);

    let changes = *store.changes.lock().expect("whole");
    let report = run(&store, root).await;
    assert_eq!((counts(&report), report.guide), ([0, 0, 4, 0, 1], GuideOutcome::Unchanged));
    assert_eq!(*store.changes.lock().expect("whole"), changes, "nothing was stored");

    put(root, "src/main.rs", "fn main() { run() }\n");
    fs::remove_file(root.join("old.txt")).expect("removed");
    let report = run(&store, root).await;
    assert_eq!(counts(&report), [0, 1, 2, 1, 1]);
    assert!(matches!(report.guide, GuideOutcome::Written { .. }), "more than a tenth changed");
    assert_eq!(store.state_of("r").changed_since_guide, 0);
    assert!(!store.texts().contains_key("old.txt"));
}

#[tokio::test]
async fn converters_read_their_formats_and_failures_have_a_reason() {
    let (folder, store) = (tempfile::tempdir().expect("a folder"), MemoryStore::default());
    let root = folder.path();
    for (path, text) in [
        ("a.CARD", "soup"),
        ("b.card", "LOCKED"),
        ("c.card", "LOOP"),
        ("d.card", "HUGE"),
        ("e.pdf", "x"),
        (".env.card", "k"),
        ("server.key", "k"),
    ] {
        put(root, path, text);
    }
    let run = async |digest: &str| {
        let options = Options { converters: vec![cards(digest)], ..Options::default() };
        index(&store, source(root), options, &|_| {}, CancellationToken::new()).await.expect("indexed")
    };
    let report = run("1").await;
    assert_eq!(store.texts(), [("a.CARD".to_owned(), "SOUP".to_owned())].into());
    let reasons: Vec<(&str, &str)> =
        report.skipped.named.iter().map(|(path, reason)| (path.as_str(), reason.as_str())).collect();
    assert!(reasons.contains(&("b.card", "is protected by a password")), "{reasons:?}");
    assert!(reasons.contains(&("c.card", "took gate 'cards' longer than 60 s")), "{reasons:?}");
    assert!(reasons.contains(&("d.card", "has more than 4 MB of text")), "{reasons:?}");
    assert!(reasons.iter().any(|(path, reason)| *path == "e.pdf" && reason.starts_with("needs a converter")));
    assert_eq!(report.noted.named, [("a.CARD".to_owned(), "has 1 picture, which is left out".to_owned())]);
    let stored = store.files.lock().expect("whole")["a.CARD"].made_from.clone();
    assert_eq!(stored.as_deref(), Some("recipe card"));

    assert_eq!(run("1").await.unchanged, 1);
    assert_eq!(run("2").await.updated, 1, "another converter reads its files again");
    // A limit of the converter says little about the file, so its document stays.
    put(root, "a.CARD", "LOOP");
    run("2").await;
    assert_eq!(store.texts()["a.CARD"], "SOUP");
}

#[tokio::test]
async fn interrupted_run_resumes() {
    let folder = tempfile::tempdir().expect("a folder");
    for number in 0..1_200 {
        put(folder.path(), &format!("{number:04}.md"), format!("# Page {number}\n"));
    }
    let store = MemoryStore { down_after: Some(1), ..MemoryStore::default() };
    let broken =
        index(&store, source(folder.path()), Options::default(), &|_| {}, CancellationToken::new()).await;
    assert_eq!(broken.expect_err("down").kind, FaultKind::Unavailable);
    let stored = store.texts().len();
    assert!(stored > 0 && stored < 1_200, "{stored}");
    let store = MemoryStore { down_after: None, ..store };
    let heard = Mutex::new(Vec::new());
    let progress = |progress| heard.lock().expect("whole").push(progress);
    let report =
        index(&store, source(folder.path()), Options::default(), &progress, CancellationToken::new()).await;
    let report = report.expect("indexed");
    assert_eq!([report.added, report.unchanged], [1_200 - stored, stored]);
    let heard = heard.into_inner().expect("whole");
    assert!(heard.is_sorted_by_key(|progress| progress.done));
    assert_eq!(heard.last().map(|progress| (progress.done, progress.total)), Some((1_200, 1_200)));
}

#[tokio::test]
async fn invalid_sources_are_rejected() {
    let (folder, other, store) = (
        tempfile::tempdir().expect("a folder"),
        tempfile::tempdir().expect("a folder"),
        MemoryStore::default(),
    );
    put(folder.path(), "a.md", "# A\n");
    let fails = async |root: &Path| {
        let done = index(&store, source(root), Options::default(), &|_| {}, CancellationToken::new()).await;
        done.expect_err("refused").kind
    };
    assert_eq!(fails(&folder.path().join("none")).await, FaultKind::NotFound);
    assert_eq!(fails(&folder.path().join("a.md")).await, FaultKind::InvalidArguments);
    run(&store, folder.path()).await;
    assert_eq!(fails(other.path()).await, FaultKind::InvalidArguments, "another folder of the same name");
    assert_eq!(store.texts().len(), 1);
    let cancel = CancellationToken::new();
    cancel.cancel();
    fs::remove_file(folder.path().join("a.md")).expect("removed");
    let report =
        index(&store, source(folder.path()), Options::default(), &|_| {}, cancel).await.expect("ended");
    assert!(report.cancelled && store.texts().len() == 1, "a cancelled run removes nothing");
}

#[tokio::test]
async fn hostile_files_are_bounded() {
    let (folder, store) = (tempfile::tempdir().expect("a folder"), MemoryStore::default());
    let root = folder.path();
    put(root, "line.md", "x".repeat(50_000_000));
    put(root, "long.txt", "word ".repeat(500_000));
    put(root, "bidi.md", "# a\u{202e}b\u{2066}\n\ntext\u{1b}[31m\n");
    put(root, "null.md", "a\0b");
    let report = run(&store, root).await;
    assert_eq!(counts(&report), [2, 0, 0, 0, 2], "{:?}", report.skipped);
    let files = store.files.lock().expect("whole");
    assert_eq!(files["bidi.md"].headings, ["ab"]);
    assert!(files["bidi.md"].text.contains('\u{202e}'), "the text is the file's");
    let guide = store.state_of("r").repository.navigation_guide.expect("written");
    assert!(!guide.contains(['\u{202e}', '\u{2066}', '\u{1b}']));
}

#[test]
fn is_within_matches_whole_path_parts() {
    let unseen = ["docs".to_owned()];
    assert!(is_within("docs/a.md", &unseen) && is_within("docs", &unseen));
    assert!(!is_within("docs2/a.md", &unseen));
    assert!(is_within("anything", &[String::new()]));
}
