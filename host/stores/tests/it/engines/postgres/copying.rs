//! Copying a graph between SQLite and PostgreSQL.

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        KnowledgeGraph as _,
        knowledge::{KnowledgePage, PageChanges, PageDraft, PageType},
    },
};
use gatehouse_stores::WikiKnowledge;

use super::{Postgres, server::Database};
use crate::{
    engines::{Fixture as _, sqlite::Sqlite},
    support::{House, counts, index, link, page, source},
};

const IDS: [&str; 6] = [
    "Environment/Acme_Kitchen",
    "Heuristic/Acme_Rest_Tip",
    "Implementation/Acme_KneadingMachine",
    "Principle/Acme_Fermentation",
    "Workflow/Acme_Bread_Baking",
    "Workflow/Acme_Pizza",
];

/// Opens a graph in SQLite with the small wiki and a page from a caller.
async fn filled() -> (House<Sqlite>, WikiKnowledge) {
    let house = House::small(Sqlite::fresh().await.unwrap());
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let draft = PageDraft {
        title: "Acme Pizza".into(),
        page_type: PageType::Workflow,
        overview: "Flat.".into(),
        content: "Long.".into(),
        domains: vec!["Home Cooking".into()],
        sources: vec![source("S")],
        links: vec![link("used_by", "Heuristic/Acme_Rest_Tip"), link("step", "Principle/Gone")],
    };
    house.open_with(gatehouse_stores::WikiRoots::Only(vec![])).upsert(vec![draft]).await.unwrap();
    (house, graph)
}

async fn all(graph: &WikiKnowledge) -> Vec<KnowledgePage> {
    let mut pages = Vec::new();
    for id in IDS {
        pages.push(page(graph, id).await);
    }
    pages
}

#[tokio::test]
async fn everything_of_every_page_moves_there_and_back() {
    let (house, from) = filled().await;
    let Some(engine) = Postgres::fresh().await else { return };
    let there = House::small(engine);
    let to =
        there.engine.open(crate::engines::Setup::of(gatehouse_stores::WikiRoots::Only(vec![house.wiki()])));
    let heard = std::sync::Mutex::new(Vec::new());
    let report =
        from.copy_to(&to, false, &|done, all| heard.lock().unwrap().push((done, all))).await.unwrap();
    assert_eq!((counts(&report), report.links, report.unresolved_links.len()), ((6, 0, 0, 0), 12, 1));
    assert_eq!(heard.lock().unwrap().last(), Some(&(6, 6)));
    assert_eq!(all(&to).await, all(&from).await);
    let (mut a, b) = (from.stats().await.unwrap(), to.stats().await.unwrap());
    a.engine.clone_from(&b.engine);
    assert_eq!(a, b);
    // The pages are still linked to their files: indexing finds no changes, and an edit changes the file.
    assert_eq!(counts(&index(&to, &house.wiki()).await), (0, 0, 5, 0));
    let changes = PageChanges { overview: Some("Loaves.".into()), ..PageChanges::default() };
    let edited = to.patch("Workflow/Acme_Bread_Baking", changes, None, true).await.unwrap();
    assert!(edited.file.is_some_and(|file| file.ends_with("/workflows/Acme_Bread_Baking.md")));
    let back = House::small(Sqlite::fresh().await.unwrap());
    let back = back.open();
    assert_eq!(to.copy_to(&back, false, &|_, _| {}).await.unwrap().added, 6);
    assert_eq!(all(&back).await, all(&to).await);
}

#[tokio::test]
async fn a_target_with_pages_is_unchanged_without_replace() {
    let (_house, from) = filled().await;
    let Some(engine) = Postgres::fresh().await else { return };
    let there = House::small(engine);
    let to = there.open();
    there.write("principles/Acme_Other.md", "# Principle: Other\n");
    index(&to, &there.wiki()).await;
    let fault = from.copy_to(&to, false, &|_, _| {}).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::InvalidArguments);
    assert!(fault.message.contains("contains 6 pages") && fault.hint.unwrap().contains("--replace"));
    page(&to, "Principle/Acme_Other").await;
    assert_eq!(counts(&from.copy_to(&to, true, &|_, _| {}).await.unwrap()), (6, 0, 0, 6));
    assert_eq!(all(&to).await, all(&from).await);
    assert!(from.copy_to(&from, true, &|_, _| {}).await.unwrap_err().message.contains("the same"));
}

#[tokio::test]
async fn a_copy_that_fails_in_the_middle_leaves_the_target_as_it_was() {
    let (_house, from) = filled().await;
    let Some(database) = Database::fresh().await else { return };
    let there = House::small(Postgres { database });
    let to = there.open();
    index(&to, &there.wiki()).await;
    let before = page(&to, "Workflow/Acme_Bread_Baking").await;
    there
        .engine
        .database
        .run(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF NEW.id = 'Workflow/Acme_Pizza' THEN RAISE EXCEPTION 'no' USING ERRCODE = 'disk_full'; END IF;
                RETURN NEW; END $$;
             CREATE TRIGGER refuse BEFORE INSERT ON gatehouse.page FOR EACH ROW EXECUTE FUNCTION refuse()",
        )
        .await;
    let fault = from.copy_to(&to, true, &|_, _| {}).await.unwrap_err();
    assert!(fault.message.contains("disk is full"), "{fault:?}");
    assert_eq!(page(&to, "Workflow/Acme_Bread_Baking").await, before);
    assert_eq!(to.stats().await.unwrap().pages, 5);
}
