//! Indexing a folder: stores its changes, all or nothing, within the allowed roots.

use std::{fs, sync::Mutex};

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        KnowledgeGraph as _,
        knowledge::{IndexOptions, PageChanges, PageDraft, PageLookup, PageType, UnresolvedLink, WriteMode},
    },
};
use gatehouse_stores::{IndexFile, WikiRoots};

use crate::{
    engines::{Fixture, Setup},
    support::{House, Wiki, counts, fixture, index, page},
};

pub(crate) async fn indexing_twice_changes_nothing_and_says_so<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let first = index(&graph, &house.wiki()).await;
    assert_eq!((counts(&first), first.links), ((5, 0, 0, 0), 10));
    let missing = UnresolvedLink {
        page: "Implementation/Acme_KneadingMachine".into(),
        edge: "related".into(),
        target: "Workflow/Acme_Pizza".into(),
    };
    assert_eq!(first.unresolved_links, [missing]);
    let second = index(&graph, &house.wiki()).await;
    assert_eq!((counts(&second), second.links), ((0, 0, 5, 0), 10));
    assert_eq!(second.unresolved_links, first.unresolved_links);
}

pub(crate) async fn a_preview_reports_a_folder_and_stores_nothing<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let path = house.wiki().join("wiki.index");
    let save = IndexOptions { persist_path: Some(path.clone()), ..IndexOptions::default() };
    let preview = graph.index_wiki(Some(house.wiki()), save, &|_, _| {}, WriteMode::Preview).await.unwrap();
    assert_eq!((graph.stats().await.unwrap().pages, path.exists()), (0, false));
    assert_eq!(preview, index(&graph, &house.wiki()).await);
    fs::remove_file(house.wiki().join("environments/Acme_Kitchen.md")).unwrap();
    house.write("workflows/Acme_Pizza.md", "# Workflow: Pizza\n");
    for clear_existing in [false, true] {
        let options = IndexOptions { clear_existing, accept_loss: true, persist_path: None };
        let preview =
            graph.index_wiki(Some(house.wiki()), options, &|_, _| {}, WriteMode::Preview).await.unwrap();
        assert!(matches!(graph.page("Workflow/Acme_Pizza").await.unwrap(), PageLookup::Missing(_)));
        assert!(matches!(graph.page("Environment/Acme_Kitchen").await.unwrap(), PageLookup::Found { .. }));
        let expected = if clear_existing { (5, 0, 0, 5) } else { (1, 0, 4, 1) };
        assert_eq!(counts(&preview), expected);
        let missing: Vec<&str> = preview.unresolved_links.iter().map(|link| &*link.target).collect();
        assert_eq!(missing, ["Environment/Acme_Kitchen"]);
    }
}

pub(crate) async fn the_store_follows_the_folder<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    fs::remove_file(house.wiki().join("environments/Acme_Kitchen.md")).unwrap();
    house.write("principles/Acme_Fermentation.md", "# Principle: Fermentation\nNew words: zymurgy.\n");
    house.write("workflows/Acme_Pizza.md", "# Workflow: Pizza\n");
    let report = index(&graph, &house.wiki()).await;
    assert_eq!(counts(&report), (1, 1, 3, 1));
    assert!(matches!(graph.page("Environment/Acme_Kitchen").await.unwrap(), PageLookup::Missing(_)));
    let machine = page(&graph, "Implementation/Acme_KneadingMachine").await;
    assert!(machine.neighbours.iter().any(|n| n.id == "Workflow/Acme_Pizza" && n.outgoing), "{machine:?}");
    assert_eq!(graph.search("zymurgy", &Default::default(), 5).await.unwrap().hits.len(), 1);
    assert_eq!(graph.search("yeast", &Default::default(), 5).await.unwrap().unmatched_terms, ["yeast"]);
}

pub(crate) async fn flat_wikis_are_indexed<F: Fixture>(engine: F) {
    let house = House::with(engine, &fixture("flat"));
    let graph = house.open();
    let report = index(&graph, &house.wiki()).await;
    assert_eq!((counts(&report), report.unresolved_links.len()), ((2, 0, 0, 0), 0));
    assert_eq!(page(&graph, "Rest Tip").await.overview, "Let it rest.");
    assert_eq!(page(&graph, "Principle/Acme_Fermentation").await.domains, ["Baking"]);
}

pub(crate) async fn a_search_reports_files_that_changed_after_indexing<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    // A search waits only briefly for the comparison, so a later search may report the note.
    let noted = async |expected: Option<&str>| {
        let start = std::time::Instant::now();
        loop {
            let note = graph.search("yeast", &Default::default(), 5).await.unwrap().note;
            if note.as_deref().map(|note| note.contains(expected.unwrap_or("\0"))) == expected.map(|_| true) {
                return;
            }
            assert!(start.elapsed() < std::time::Duration::from_secs(30), "{expected:?}: {note:?}");
        }
    };
    noted(None).await;
    house.write("principles/Acme_Fermentation.md", "# Principle: Fermentation\nNew words: zymurgy.\n");
    noted(Some("1 wiki file changed after indexing (principles/Acme_Fermentation.md)")).await;
    house.write("workflows/Acme_Pizza.md", "# Workflow: Pizza\n");
    fs::remove_file(house.wiki().join("environments/Acme_Kitchen.md")).unwrap();
    noted(Some("3 wiki files changed after indexing")).await;
    index(&graph, &house.wiki()).await;
    noted(None).await;
    graph
        .patch(
            "Workflow/Acme_Pizza",
            PageChanges { overview: Some("Flat.".into()), ..PageChanges::default() },
            None,
            true,
        )
        .await
        .unwrap();
    noted(None).await;
}

pub(crate) async fn a_file_that_cannot_be_read_keeps_its_page<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    fs::write(house.wiki().join("heuristics/Acme_Rest_Tip.md"), b"\xff").unwrap();
    let report = index(&graph, &house.wiki()).await;
    assert_eq!((counts(&report), report.skipped.len()), ((0, 0, 4, 0), 1));
    assert!(report.skipped[0].contains("Acme_Rest_Tip.md: not UTF-8"), "{:?}", report.skipped);
    page(&graph, "Heuristic/Acme_Rest_Tip").await;
}

pub(crate) async fn progress_is_reported_to_the_end<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let heard = Mutex::new(Vec::new());
    let tell = |done, total| heard.lock().unwrap().push((done, total));
    house.open().index(Some(house.wiki()), IndexOptions::default(), &tell).await.unwrap();
    assert_eq!(*heard.lock().unwrap(), [(0, 5), (1, 5), (2, 5), (3, 5), (4, 5), (5, 5)]);
}

pub(crate) async fn folders_outside_the_roots_are_denied_with_the_line_to_add<F: Fixture>(engine: F) {
    let (house, other) = (House::small(engine), Wiki::small());
    let graph = house.open();
    let folders = [
        other.wiki(),
        house.wiki().join("../../"),
        house.wiki().join("../state"),
        "/etc".into(),
        "/no/such".into(),
    ];
    for folder in folders {
        let fault = graph.index(Some(folder.clone()), IndexOptions::default(), &|_, _| {}).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Denied, "{folder:?}");
        assert!(fault.hint.unwrap().contains("wiki_roots = ["));
    }
    let fault =
        graph.index(Some(house.wiki().join("gone")), IndexOptions::default(), &|_, _| {}).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
    assert_eq!(counts(&index(&house.open_with(WikiRoots::Any), &other.wiki()).await).0, 5);
}

pub(crate) async fn without_a_folder_the_default_one_is_meant_and_may_be_touched<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let none = house.open().index(None, IndexOptions::default(), &|_, _| {}).await.unwrap_err();
    assert!(none.hint.unwrap().contains("KG_INDEX_PATH"));
    let graph =
        house.engine.open(Setup { default_root: Some(house.wiki()), ..Setup::of(WikiRoots::Only(vec![])) });
    let report = graph.index(None, IndexOptions::default(), &|_, _| {}).await.unwrap();
    assert_eq!(report.added, 5);
}

pub(crate) async fn two_folders_coexist_and_pages_that_the_later_takes_over_are_reported<F: Fixture>(
    engine: F,
) {
    let (house, other) = (House::small(engine), Wiki::small());
    let graph = house.open_with(WikiRoots::Any);
    index(&graph, &house.wiki()).await;
    fs::remove_dir_all(other.wiki().join("workflows")).unwrap();
    other.write("principles/Acme_Other.md", "# Principle: Other\n");
    let report = index(&graph, &other.wiki()).await;
    assert_eq!(counts(&report), (1, 4, 0, 0));
    let from = house.wiki().canonicalize().unwrap().display().to_string();
    assert_eq!(report.taken_over.len(), 1);
    assert_eq!((report.taken_over[0].from.as_ref(), report.taken_over[0].pages.len()), (Some(&from), 4));
    assert_eq!(index(&graph, &other.wiki()).await.taken_over, []);
    // The first folder takes its pages back and does not touch the other folder's page.
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 4, 1, 0));
    page(&graph, "Principle/Acme_Other").await;
    let options = IndexOptions { clear_existing: true, ..IndexOptions::default() };
    let report = graph.index(Some(house.wiki()), options, &|_, _| {}).await.unwrap();
    assert_eq!(counts(&report), (5, 0, 0, 6));
}

pub(crate) async fn clearing_keeps_what_no_folder_brings_back_unless_that_is_accepted<F: Fixture>(engine: F) {
    let (house, other) = (House::small(engine), Wiki::with(&fixture("flat")));
    other.write("Heuristic_Flat_Tip.mediawiki", "= Heuristic: Flat Tip =\n");
    let graph = house.open_with(WikiRoots::Any);
    index(&graph, &other.wiki()).await;
    index(&graph, &house.wiki()).await;
    let clear = IndexOptions { clear_existing: true, ..IndexOptions::default() };
    let all = IndexOptions { accept_loss: true, ..clear.clone() };
    let draft = PageDraft {
        title: "Only Here".into(),
        page_type: PageType::Principle,
        overview: "x".into(),
        content: String::new(),
        domains: vec![],
        sources: vec![],
        links: vec![],
    };
    graph.upsert(vec![draft]).await.unwrap();
    // Pages that left the folder are removed by every indexing.
    fs::remove_file(house.wiki().join("environments/Acme_Kitchen.md")).unwrap();
    let vanished = other.wiki().join("Heuristic_Flat_Tip.mediawiki");
    let text = fs::read(&vanished).unwrap();
    fs::remove_file(&vanished).unwrap();
    let fault = graph.index(Some(house.wiki()), clear.clone(), &|_, _| {}).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
    let named = "permanently remove 2 pages, because no directory contains them: Heuristic/Flat_Tip, Principle/Only_Here";
    assert!(fault.message.contains(named), "{}", fault.message);
    assert_eq!(graph.stats().await.unwrap().pages, 7);
    fs::write(&vanished, text).unwrap();
    let fault = graph.index(Some(house.wiki()), clear.clone(), &|_, _| {}).await.unwrap_err();
    assert!(fault.message.contains("permanently remove 1 page,"), "{}", fault.message);
    let report = graph.index(Some(house.wiki()), all, &|_, _| {}).await.unwrap();
    assert_eq!(counts(&report), (4, 0, 0, 7));
    let report = graph.index(Some(house.wiki()), clear, &|_, _| {}).await.unwrap();
    assert_eq!(counts(&report), (4, 0, 0, 4));
}

pub(crate) async fn an_index_file_is_written_and_can_be_read<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let path = house.wiki().join("wiki.index");
    let save = |path: &std::path::Path| IndexOptions {
        persist_path: Some(path.to_owned()),
        ..IndexOptions::default()
    };
    graph.index(Some(house.wiki()), save(&path), &|_, _| {}).await.unwrap();
    let file = IndexFile::read(&path).unwrap();
    assert_eq!((file.search_backend.as_str(), file.page_count), (F::NAME, 5));
    assert_eq!(file.created_at, "2026-01-09T12:00:00Z");
    assert_eq!(file.wiki(), house.wiki().canonicalize().unwrap());

    for (path, kind) in [
        (house.dir.path().join("out.index"), FaultKind::Denied),
        (house.wiki().join("heuristics/Acme_Rest_Tip.md"), FaultKind::InvalidArguments),
    ] {
        let before = fs::read(&path).ok();
        let fault = graph.index(Some(house.wiki()), save(&path), &|_, _| {}).await.unwrap_err();
        assert_eq!((fault.kind, fs::read(&path).ok()), (kind, before));
    }
}
