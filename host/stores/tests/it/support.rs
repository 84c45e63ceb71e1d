//! Copies of wiki folders, a clock, and helpers.

pub(crate) mod process;
#[cfg(all(unix, feature = "postgres"))]
pub(crate) mod proxy;
#[cfg(all(unix, feature = "postgres"))]
pub(crate) mod tls;

use std::{
    fs,
    ops::Deref,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use gatehouse_core::ports::{
    Clock, KnowledgeGraph as _,
    knowledge::{IndexOptions, IndexReport, KnowledgePage, PageLink, PageLookup, PageSource},
};
use gatehouse_stores::{WikiKnowledge, WikiRoots};
use tempfile::TempDir;

use crate::{
    embedder::TestEmbedder,
    engines::{Fixture, Setup},
};

/// A clock that advances only on request.
pub(crate) struct TestClock(AtomicU64);

impl TestClock {
    pub(crate) fn advance(&self, ms: u64) {
        self.0.fetch_add(ms, Ordering::SeqCst);
    }
}

impl Clock for TestClock {
    fn now_ms(&self) -> u64 {
        self.0.load(Ordering::SeqCst)
    }
}

pub(crate) const NOW: &str = "2026-01-09 12:00 GMT";

pub(crate) fn clock() -> Arc<TestClock> {
    Arc::new(TestClock(AtomicU64::new(1_767_960_000_000)))
}

/// A temporary directory with a copy of a wiki in `wiki/`.
pub(crate) struct Wiki {
    pub(crate) dir: TempDir,
}

impl Wiki {
    pub(crate) fn with(fixture: &Path) -> Self {
        let dir = tempfile::tempdir().unwrap();
        copy(fixture, &dir.path().join("wiki"));
        Self { dir }
    }

    pub(crate) fn small() -> Self {
        Self::with(&fixture("wiki"))
    }

    pub(crate) fn wiki(&self) -> PathBuf {
        self.dir.path().join("wiki")
    }

    pub(crate) fn write(&self, file: &str, text: &str) {
        fs::write(self.wiki().join(file), text).unwrap();
    }

    pub(crate) fn read(&self, file: &str) -> String {
        fs::read_to_string(self.wiki().join(file)).unwrap()
    }
}

pub(crate) struct House<F> {
    pub(crate) engine: F,
    wiki: Wiki,
}

impl<F: Fixture> House<F> {
    pub(crate) fn with(engine: F, fixture: &Path) -> Self {
        Self { engine, wiki: Wiki::with(fixture) }
    }

    pub(crate) fn small(engine: F) -> Self {
        Self::with(engine, &fixture("wiki"))
    }

    pub(crate) fn open(&self) -> WikiKnowledge {
        self.open_with(WikiRoots::Only(vec![self.wiki()]))
    }

    pub(crate) fn open_with(&self, roots: WikiRoots) -> WikiKnowledge {
        self.engine.open(Setup::of(roots))
    }

    pub(crate) fn open_by_meaning(&self, embedder: &Arc<TestEmbedder>) -> WikiKnowledge {
        let roots = WikiRoots::Only(vec![self.wiki()]);
        self.engine.open(Setup { embedder: Some(Arc::clone(embedder) as _), ..Setup::of(roots) })
    }
}

impl<F> Deref for House<F> {
    type Target = Wiki;

    fn deref(&self) -> &Wiki {
        &self.wiki
    }
}

pub(crate) fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub(crate) fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(&target, fs::read(entry.path()).unwrap()).unwrap();
        }
    }
}

pub(crate) async fn index(graph: &WikiKnowledge, root: &Path) -> IndexReport {
    graph.index(Some(root.to_owned()), IndexOptions::default(), &|_, _| {}).await.unwrap()
}

pub(crate) async fn page(graph: &WikiKnowledge, id: &str) -> KnowledgePage {
    match graph.page(id).await.unwrap() {
        PageLookup::Found { page, .. } => *page,
        PageLookup::Missing(near) => panic!("{id} is missing; near: {near:?}"),
    }
}

pub(crate) fn link(edge: &str, target: &str) -> PageLink {
    PageLink { edge: edge.into(), target: target.into() }
}

pub(crate) fn source(title: &str) -> PageSource {
    PageSource { kind: "Doc".into(), title: title.into(), url: "https://example.org".into() }
}

/// Returns (added, updated, unchanged, removed).
pub(crate) fn counts(report: &IndexReport) -> (u32, u32, u32, u32) {
    (report.added, report.updated, report.unchanged, report.removed)
}

/// Reports a missing service and how to get it. Fails if services are required.
#[allow(clippy::print_stderr)] // makes a skipped test visible
#[cfg(any(feature = "chroma", feature = "postgres", feature = "weaviate-neo4j"))]
pub(crate) fn missing_service(variable: &str) {
    assert!(
        std::env::var_os("GATEHOUSE_REQUIRE_SERVICES").is_none_or(|value| value != "1"),
        "{variable} is not set, and services are required"
    );
    eprintln!(
        "SKIPPED: {variable} is not set; `cargo xtask test servers tests` installs, starts and names it"
    );
}
