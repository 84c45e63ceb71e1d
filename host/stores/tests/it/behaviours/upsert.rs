//! Pages that a caller writes without a file.

use gatehouse_core::ports::{
    Knowledge as _,
    knowledge::{Changes, Draft, PageType},
};

use crate::{
    engines::Fixture,
    support::{House, NOW, counts, index, link, page, source},
};

fn draft(title: &str) -> Draft {
    Draft {
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
        graph.upsert(vec![Draft { overview: "Other.".into(), ..draft("Acme_Pizza") }]).await.unwrap();
    assert_eq!(counts(&changed), (0, 1, 0, 0));
    let pizza = page(&graph, "Workflow/Acme_Pizza").await;
    assert_eq!((pizza.overview.as_str(), pizza.last_updated.as_deref()), ("Other.", Some(NOW)));
    assert_eq!(pizza.domains, ["Home Cooking"]);
    // The machine's link to it, declared before it existed, has found its target; so has the page's own.
    let linked: Vec<&str> = pizza.neighbours.iter().map(|n| n.id.as_str()).collect();
    assert_eq!(linked, ["Implementation/Acme_KneadingMachine", "Principle/Acme_Fermentation"]);
}

pub(crate) async fn one_bad_draft_means_none_is_written<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    assert!(graph.upsert(vec![draft("Good"), draft("../bad")]).await.is_err());
    assert_eq!(graph.stats().await.unwrap().pages, 0);
}

pub(crate) async fn a_page_without_a_file_is_patched_in_the_store<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    graph.upsert(vec![draft("Acme Pizza")]).await.unwrap();
    let changes = Changes { content: Some("New.".into()), links: Some(vec![]), ..Changes::default() };
    let report = graph.patch("Workflow/Acme_Pizza", changes.clone(), None, true).await.unwrap();
    assert_eq!((report.changed, report.file), (vec!["content".to_owned(), "links".to_owned()], None));
    let pizza = page(&graph, "Acme Pizza").await;
    assert_eq!((pizza.overview.as_str(), pizza.content.as_str()), ("Short.", "New."));
    assert!(graph.patch("Workflow/Acme_Pizza", changes, None, true).await.unwrap().changed.is_empty());
}

pub(crate) async fn indexing_leaves_pages_without_a_file_alone<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    graph.upsert(vec![draft("Acme Pizza")]).await.unwrap();
    index(&graph, &house.wiki()).await;
    assert_eq!(graph.stats().await.unwrap().pages, 6);
}
