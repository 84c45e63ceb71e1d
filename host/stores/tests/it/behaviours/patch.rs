//! Editing a page: the file and the stored page change together or not at all.

use std::fs;

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        KnowledgeGraph as _,
        knowledge::{PageChanges, WriteMode},
    },
};
use gatehouse_stores::WikiRoots;

use crate::{
    engines::Fixture,
    support::{House, NOW, Wiki, counts, index, link, page, source},
};

const FILE: &str = "workflows/Acme_Bread_Baking.md";
const ID: &str = "Workflow/Acme_Bread_Baking";

fn overview(text: &str) -> PageChanges {
    PageChanges { overview: Some(text.into()), ..PageChanges::default() }
}

fn file<F: Fixture>(house: &House<F>) -> Option<String> {
    Some(house.wiki().canonicalize().unwrap().join(FILE).display().to_string())
}

pub(crate) async fn a_preview_reports_an_edit_and_changes_nothing<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let before = (house.read(FILE), page(&graph, ID).await);
    let changes =
        PageChanges { links: Some(vec![link("related", "Heuristic/Acme_Gone")]), ..overview("Loaves.") };
    let preview = graph.edit(ID, changes.clone(), None, true, WriteMode::Preview).await.unwrap();
    assert_eq!(before, (house.read(FILE), page(&graph, ID).await));
    assert_eq!(preview, graph.patch(ID, changes, None, true).await.unwrap(), "the preview matches the edit");
    assert_eq!((preview.file, preview.changed.len()), (file(&house), 2));
    assert_eq!(preview.unresolved_links[0].target, "Heuristic/Acme_Gone");
    let fault =
        graph.edit("Workflow/Nowhere", overview("x"), None, true, WriteMode::Preview).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::NotFound);
}

pub(crate) async fn a_file_that_is_not_text_is_not_edited<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    fs::write(house.wiki().join(FILE), "a\0b").unwrap();
    let fault = graph.patch(ID, overview("x"), None, true).await.unwrap_err();
    assert!(fault.message.ends_with("': not text: NUL at byte 1"), "{}", fault.message);
}

pub(crate) async fn a_page_and_its_file_change_together_and_survive_reopening<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let before = house.read(FILE);
    {
        let graph = house.open();
        index(&graph, &house.wiki()).await;
        let changes = PageChanges {
            overview: Some("Loaves.".into()),
            domains: Some(vec!["Baking".into(), "New Domain".into()]),
            sources: Some(vec![source("Other Book")]),
            links: Some(vec![
                link("step", "Principle/Acme_Fermentation"),
                link("related", "Heuristic/Acme_Gone"),
            ]),
            ..PageChanges::default()
        };
        let report = graph.patch("Workflow/Acme Bread Baking", changes, None, true).await.unwrap();
        assert_eq!(report.changed, ["overview", "domains", "sources", "links"]);
        assert_eq!((report.file, report.last_updated.as_deref()), (file(&house), Some(NOW)));
        assert_eq!(report.unresolved_links[0].target, "Heuristic/Acme_Gone");
    }
    let graph = house.open();
    let bread = page(&graph, ID).await;
    assert_eq!((bread.overview.as_str(), bread.domains[1].as_str()), ("Loaves.", "New Domain"));
    assert_eq!((bread.sources, bread.neighbours.len()), (vec![source("Other Book")], 1));
    let expected = before
        .replace("From flour to a loaf in five steps.", "Loaves.")
        .replace("[[domain::Home_Cooking]]", "[[domain::New_Domain]]")
        .replace("Doc|Bread Book|https://example.org/bread", "Doc|Other Book|https://example.org")
        .replace("uses_heuristic::Heuristic:Acme Rest Tip", "related::Heuristic:Acme_Gone")
        .replace("2026-01-01 10:00 GMT", NOW);
    assert_eq!(house.read(FILE), expected);
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 0, 5, 0));
}

pub(crate) async fn the_same_values_touch_neither_file_nor_date<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let before = (house.read(FILE), fs::metadata(house.wiki().join(FILE)).unwrap().modified().unwrap());
    let report = graph.patch(ID, overview("From flour to a loaf in five steps."), None, true).await.unwrap();
    assert_eq!((report.changed, report.file), (vec![], None));
    assert_eq!(report.last_updated.as_deref(), Some("2026-01-01 10:00 GMT"));
    assert_eq!(
        before,
        (house.read(FILE), fs::metadata(house.wiki().join(FILE)).unwrap().modified().unwrap())
    );
}

pub(crate) async fn a_file_that_changed_since_indexing_is_not_overwritten<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let mine = house.read(FILE) + "\nA line of my own.\n";
    house.write(FILE, &mine);
    let fault = graph.patch(ID, overview("x"), None, true).await.unwrap_err();
    assert!(
        fault.message.contains("changed since it was indexed") && fault.hint.unwrap().contains("kg_index")
    );
    assert_eq!(
        (house.read(FILE), page(&graph, ID).await.overview.as_str()),
        (mine, "From flour to a loaf in five steps.")
    );
    fs::remove_file(house.wiki().join(FILE)).unwrap();
    assert!(graph.patch(ID, overview("x"), None, true).await.is_err());
    assert!(!house.wiki().join(FILE).exists());
}

pub(crate) async fn bad_input_leaves_everything_as_it_was<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let before = (house.read(FILE), page(&graph, ID).await);
    let bad = [
        overview("== Heading =="),
        PageChanges { domains: Some(vec!["a\nb".into()]), ..overview("fine") },
        PageChanges { sources: Some(vec![source("a]]b")]), ..overview("fine") },
        PageChanges { links: Some(vec![link("nonsense", "Principle/X")]), ..overview("fine") },
        PageChanges { links: Some(vec![link("step", "../X")]), ..overview("fine") },
    ];
    for changes in bad {
        let fault = graph.patch(ID, changes, None, true).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidArguments, "{fault:?}");
    }
    for id in
        ["../workflows/Acme_Bread_Baking", "/etc/passwd", "Workflow/../x", "Workflow/a/b", "Bread Baking", ""]
    {
        let fault = graph.patch(id, overview("x"), None, true).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::InvalidArguments, "{id}");
    }
    let fault = graph.patch("Workflow/Bread_Bakin", overview("x"), None, true).await.unwrap_err();
    assert_eq!(
        (fault.kind, fault.message.as_str()),
        (FaultKind::NotFound, "Page not found: 'Workflow/Bread_Bakin'")
    );
    assert!(fault.hint.unwrap().contains("Bread_Baking"));
    assert_eq!(before, (house.read(FILE), page(&graph, ID).await));
}

pub(crate) async fn wiki_dir_must_be_allowed_and_the_pages_own<F: Fixture>(engine: F) {
    let (house, other) = (House::small(engine), Wiki::small());
    let graph = house.open_with(WikiRoots::Only(vec![house.wiki(), other.wiki()]));
    index(&graph, &house.wiki()).await;
    let fault = graph.patch(ID, overview("x"), Some("/etc".into()), true).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Denied);
    let fault = graph.patch(ID, overview("x"), Some(other.wiki()), true).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
    let report = graph.patch(ID, overview("x"), Some(house.wiki().join("../wiki")), true).await.unwrap();
    assert_eq!(report.file, file(&house));
}

pub(crate) async fn outside_the_roots_only_the_stored_page_changes<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let before = house.read(FILE);
    index(&house.open_with(WikiRoots::Any), &house.wiki()).await;
    let graph = house.open_with(WikiRoots::Only(vec![]));
    let report = graph.patch(ID, overview("Stored."), None, true).await.unwrap();
    assert_eq!((report.file, page(&graph, ID).await.overview.as_str()), (None, "Stored."));
    assert_eq!(house.read(FILE), before);
    // The folder is the source of truth: indexing restores the page.
    assert_eq!(counts(&index(&house.open(), &house.wiki()).await), (0, 1, 4, 0));
}

#[cfg(unix)]
pub(crate) async fn a_page_that_became_a_link_out_of_the_folder_is_not_followed<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let outside = house.dir.path().join("outside.md");
    fs::rename(house.wiki().join(FILE), &outside).unwrap();
    std::os::unix::fs::symlink(&outside, house.wiki().join(FILE)).unwrap();
    let before = fs::read(&outside).unwrap();
    let report = graph.patch(ID, overview("x"), None, true).await.unwrap();
    assert_eq!(report.file, None);
    assert_eq!(fs::read(&outside).unwrap(), before);
}

pub(crate) async fn edits_at_the_same_time_are_all_kept_or_refused<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = std::sync::Arc::new(house.open());
    index(&graph, &house.wiki()).await;
    let edits: Vec<_> = (0..16)
        .map(|n| {
            let graph = std::sync::Arc::clone(&graph);
            tokio::spawn(async move { graph.patch(ID, overview(&format!("Edit {n}.")), None, true).await })
        })
        .collect();
    let mut kept = 0;
    for edit in edits {
        kept += u32::from(edit.await.unwrap().is_ok());
    }
    assert!(kept >= 1);
    assert!(house.read(FILE).contains(&page(&graph, ID).await.overview));
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 0, 5, 0));
}
