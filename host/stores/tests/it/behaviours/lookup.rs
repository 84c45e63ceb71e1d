//! Lookup by id or title, neighbors, statistics and health.

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{PageLookup, PageNeighbor, PageType},
};

use crate::{
    engines::Fixture,
    support::{House, index, page},
};

pub(crate) async fn ids_and_titles_are_found_in_every_spelling<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    for name in [
        "Heuristic/Acme_Rest_Tip",
        "Heuristic/Acme Rest Tip",
        "Heuristic:Acme_Rest_Tip",
        "Rest_Tip",
        " Rest Tip ",
    ] {
        let found = page(&graph, name).await;
        assert_eq!(
            (found.id.as_str(), found.title.as_str()),
            ("Heuristic/Acme_Rest_Tip", "Rest_Tip"),
            "{name}"
        );
    }
    let tip = page(&graph, "Rest_Tip").await;
    assert_eq!(
        (tip.overview.as_str(), tip.page_type),
        (
            "A page without an overview: let the dough rest twice as long when it is cold.",
            PageType::Heuristic
        )
    );
    assert!(tip.content.starts_with("A page without an overview"));
}

pub(crate) async fn near_titles_are_offered_and_never_taken<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    assert_eq!(graph.page("anything").await.unwrap(), PageLookup::Missing(vec![]));
    index(&graph, &house.wiki()).await;
    for name in ["rest tip", "Acme_Rest_Tip", "Heuristic/Rest_Tip", "Rest_Tipp"] {
        let PageLookup::Missing(near) = graph.page(name).await.unwrap() else { panic!("{name} was found") };
        assert_eq!((near.len(), near[0].as_str()), (3, "Rest_Tip"), "{name}");
    }
    for name in ["", "/", "'; DROP TABLE page; --", "\0", &"x".repeat(1_000_000)] {
        assert!(matches!(graph.page(name).await.unwrap(), PageLookup::Missing(_)));
    }
}

pub(crate) async fn an_edge_declared_from_both_ends_is_one_neighbour<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let neighbour = |edge: &str, outgoing, id: &str, title: &str| PageNeighbor {
        edge: edge.into(),
        outgoing,
        id: id.into(),
        title: title.into(),
    };
    let machine = graph.neighbors("Implementation/Acme KneadingMachine").await.unwrap();
    assert_eq!(
        machine,
        [
            neighbour("implements", true, "Principle/Acme_Fermentation", "Fermentation"),
            neighbour("requires_env", true, "Environment/Acme_Kitchen", "Kitchen"),
            neighbour("uses_heuristic", true, "Heuristic/Acme_Rest_Tip", "Rest_Tip"),
        ]
    );
    let tip = graph.neighbors("Heuristic/Acme_Rest_Tip").await.unwrap();
    assert_eq!(
        tip,
        [
            neighbour("uses_heuristic", false, "Implementation/Acme_KneadingMachine", "KneadingMachine"),
            neighbour("uses_heuristic", false, "Workflow/Acme_Bread_Baking", "Bread_Baking"),
        ]
    );
    assert_eq!(graph.neighbors("Nothing/Here").await.unwrap(), []);
}

pub(crate) async fn counts_and_health_are_reported<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let health = graph.health().await.unwrap();
    assert_eq!((health.engine, health.schema, health.items), (F::NAME, None, 0));
    assert_eq!(health.address, house.engine.address());
    index(&graph, &house.wiki()).await;
    let stats = graph.stats().await.unwrap();
    assert_eq!((stats.engine.as_str(), stats.pages, stats.links), (F::NAME, 5, 6));
    assert_eq!(stats.by_type.len(), 5);
    let health = graph.health().await.unwrap();
    assert!(health.schema.is_none_or(|(there, newest)| there == newest && newest > 0), "{health:?}");
    assert_eq!((health.items, health.address), (5, house.engine.address()));
}

pub(crate) async fn pages_with_one_title_are_named<F: Fixture>(engine: F) {
    let house = House::small(engine);
    house.write("principles/One.md", "# Principle: Shared_Name\n");
    house.write("heuristics/Two.md", "# Heuristic: Shared Name\n");
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    for (asked, id, others) in [
        ("Shared Name", "Heuristic/Two", vec!["Principle/One"]),
        ("Shared_Name", "Heuristic/Two", vec!["Principle/One"]),
        ("Principle/One", "Principle/One", vec![]),
        ("Bread Baking", "Workflow/Acme_Bread_Baking", vec![]),
    ] {
        let PageLookup::Found { page, namesakes } = graph.page(asked).await.unwrap() else {
            panic!("{asked} is missing")
        };
        assert_eq!(
            (page.id.as_str(), namesakes),
            (id, others.into_iter().map(str::to_owned).collect()),
            "{asked}"
        );
    }
}
