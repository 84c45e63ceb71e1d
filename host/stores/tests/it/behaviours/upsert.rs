//! Pages that callers write.

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{PageChanges, PageDraft, PageLocation, PageType, WriteMode},
};
use gatehouse_stores::WikiRoots;

use crate::{
    engines::Fixture,
    support::{House, NOW, counts, index, link, page, source},
};

fn draft(title: &str) -> PageDraft {
    PageDraft {
        title: title.into(),
        page_type: PageType::Workflow,
        overview: "Short.".into(),
        content: "Long.".into(),
        domains: vec!["Home_Cooking".into()],
        sources: vec![source("S")],
        links: vec![link("step", "Principle/Acme Fermentation"), link("used_by", "Implementation/Unknown")],
    }
}

pub(crate) async fn a_draft_becomes_a_page_once<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let report = graph.upsert(vec![draft("Acme Pizza")]).await.unwrap();
    assert_eq!((counts(&report), report.links), ((1, 0, 0, 0), 2));
    assert_eq!(report.unresolved_links[0].target, "Implementation/Unknown");
    let again = graph.upsert(vec![draft("Acme Pizza")]).await.unwrap();
    assert_eq!(counts(&again), (0, 0, 1, 0));
    let changed =
        graph.upsert(vec![PageDraft { overview: "Other.".into(), ..draft("Acme_Pizza") }]).await.unwrap();
    assert_eq!(counts(&changed), (0, 1, 0, 0));
    let pizza = page(&graph, "Workflow/Acme_Pizza").await;
    assert_eq!((pizza.overview.as_str(), pizza.last_updated.as_deref()), ("Other.", Some(NOW)));
    assert_eq!(pizza.domains, ["Home Cooking"]);
    let linked: Vec<&str> = pizza.neighbours.iter().map(|n| n.id.as_str()).collect();
    assert_eq!(linked, ["Implementation/Acme_KneadingMachine", "Principle/Acme_Fermentation"]);
}

pub(crate) async fn a_preview_reports_new_pages_and_writes_none<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let preview = graph.write(vec![draft("Acme Pizza")], WriteMode::Preview).await.unwrap();
    assert!(!house.wiki().join("workflows/Acme_Pizza.md").exists());
    assert_eq!(graph.stats().await.unwrap().pages, 0);
    assert_eq!(preview, graph.upsert(vec![draft("Acme Pizza")]).await.unwrap());
    let before = house.read("workflows/Acme_Pizza.md");
    let other = PageDraft { overview: "Other.".into(), ..draft("Acme Pizza") };
    let preview = graph.write(vec![other.clone()], WriteMode::Preview).await.unwrap();
    assert_eq!((counts(&preview), house.read("workflows/Acme_Pizza.md")), ((0, 1, 0, 0), before));
    assert_eq!(preview, graph.upsert(vec![other]).await.unwrap());
    // The preview rejects everything that a write rejects.
    house.write("workflows/Acme_Calzone.md", "# Workflow: Calzone\n");
    assert!(graph.write(vec![draft("Acme Calzone")], WriteMode::Preview).await.is_err());
    assert_eq!(house.read("workflows/Acme_Calzone.md"), "# Workflow: Calzone\n");
    assert!(graph.write(vec![draft("Good"), draft("Good")], WriteMode::Preview).await.is_err());
    assert!(!house.wiki().join("workflows/Good.md").exists());
}

pub(crate) async fn a_new_page_gets_a_file_where_a_wiki_is_allowed<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let file = house.wiki().canonicalize().unwrap().join("workflows/Acme_Pizza.md");
    let report = graph.upsert(vec![draft("Acme Pizza")]).await.unwrap();
    let lives = PageLocation { page: "Workflow/Acme_Pizza".into(), file: Some(file.display().to_string()) };
    assert_eq!((counts(&report), &report.written), ((1, 0, 0, 0), &vec![lives.clone()]));
    let before = house.read("workflows/Acme_Pizza.md");
    assert!(before.contains("Short.") && before.contains("[[used_by::Implementation:Unknown]]"), "{before}");
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (5, 0, 1, 0));
    let other = PageDraft { overview: "Other.".into(), ..draft("Acme Pizza") };
    let report = graph.upsert(vec![other]).await.unwrap();
    assert_eq!((counts(&report), &report.written), ((0, 1, 0, 0), &vec![lives]));
    assert_eq!(house.read("workflows/Acme_Pizza.md"), before.replace("Short.", "Other."));
    // An unindexed file is not overwritten. With several wikis, a default does not exist.
    house.write("workflows/Acme_Calzone.md", "# Workflow: Calzone\n");
    assert!(graph.upsert(vec![draft("Good"), draft("Acme Calzone")]).await.is_err());
    assert_eq!(house.read("workflows/Acme_Calzone.md"), "# Workflow: Calzone\n");
    assert!(!house.wiki().join("workflows/Good.md").exists());
    let roots = WikiRoots::Only(vec![house.wiki(), house.dir.path().to_owned()]);
    let report = house.open_with(roots).upsert(vec![draft("Good")]).await.unwrap();
    assert_eq!(report.written, [PageLocation { page: "Workflow/Good".into(), file: None }]);
}

pub(crate) async fn new_content_without_a_file_is_read_as_that_of_one<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open_with(WikiRoots::Only(vec![]));
    graph.upsert(vec![draft("Acme Pizza")]).await.unwrap();
    let content = "== Overview ==\nRead.\n\n== Usage ==\n[[domain::New_Domain]] [[step::Principle:Y]] [[odd::Principle:Z]]";
    let changes = PageChanges { content: Some(content.into()), ..PageChanges::default() };
    let report = graph.patch("Workflow/Acme_Pizza", changes, None, true).await.unwrap();
    assert_eq!(report.changed, ["overview", "content", "domains", "links"]);
    assert_eq!(report.unknown_edges[0].edge, "odd");
    let targets: Vec<&str> = report.unresolved_links.iter().map(|link| link.target.as_str()).collect();
    assert_eq!(targets, ["Principle/Z", "Principle/Y"]);
    let pizza = page(&graph, "Acme Pizza").await;
    assert_eq!((pizza.overview.as_str(), pizza.domains), ("Read.", vec!["New Domain".to_owned()]));
    assert_eq!(pizza.sources, [source("S")], "omitted fields are carried over");
}

pub(crate) async fn one_bad_draft_means_none_is_written<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    assert!(graph.upsert(vec![draft("Good"), draft("../bad")]).await.is_err());
    assert_eq!(graph.stats().await.unwrap().pages, 0);
}

pub(crate) async fn a_page_without_a_file_is_patched_in_the_store<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open_with(WikiRoots::Only(vec![]));
    graph.upsert(vec![draft("Acme Pizza")]).await.unwrap();
    let changes = PageChanges { content: Some("New.".into()), links: Some(vec![]), ..PageChanges::default() };
    let report = graph.patch("Workflow/Acme_Pizza", changes.clone(), None, true).await.unwrap();
    assert_eq!((report.changed, report.file), (vec!["content".to_owned(), "links".to_owned()], None));
    let pizza = page(&graph, "Acme Pizza").await;
    assert_eq!((pizza.overview.as_str(), pizza.content.as_str()), ("Short.", "New."));
    assert!(graph.patch("Workflow/Acme_Pizza", changes, None, true).await.unwrap().changed.is_empty());
}

pub(crate) async fn indexing_leaves_pages_without_a_file_alone<F: Fixture>(engine: F) {
    let house = House::small(engine);
    house.open_with(WikiRoots::Only(vec![])).upsert(vec![draft("Acme Pizza")]).await.unwrap();
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    assert_eq!(graph.stats().await.unwrap().pages, 6);
}
