//! Meaning of links in both directions, and overviews of pages.

use std::fs;

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{PageType, UnknownEdge},
};

use crate::{
    engines::Fixture,
    support::{House, index, page},
};

fn wiki_of<F: Fixture>(house: &House<F>, files: &[(&str, &str)]) {
    fs::remove_dir_all(house.wiki()).unwrap();
    for kind in PageType::ALL {
        fs::create_dir_all(house.wiki().join(kind.folder())).unwrap();
    }
    for (file, text) in files {
        house.write(file, text);
    }
}

fn seen(page: &gatehouse_core::page::KnowledgePage) -> Vec<String> {
    let line = |near: &gatehouse_core::page::PageNeighbor| {
        format!("{} {} {}", near.edge, if near.outgoing { "to" } else { "from" }, near.id)
    };
    page.neighbours.iter().map(line).collect()
}

pub(crate) async fn the_types_at_both_ends_of_an_edge_decide_its_direction<F: Fixture>(engine: F) {
    let house = House::small(engine);
    wiki_of(
        &house,
        &[
            ("heuristics/H.md", "# Heuristic: H\n[[uses_heuristic::Implementation:I]]\n"),
            ("environments/E.md", "# Environment: E\n[[requires_env::Implementation:I]]\n"),
            ("implementations/I.md", "# Implementation: I\n[[required_by::Environment:E]]\n"),
        ],
    );
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let (code, tip) = (page(&graph, "Implementation/I").await, page(&graph, "Heuristic/H").await);
    assert_eq!(seen(&code), ["requires_env to Environment/E", "uses_heuristic to Heuristic/H"]);
    assert_eq!(seen(&tip), ["uses_heuristic from Implementation/I"]);
}

pub(crate) async fn an_edge_and_its_inverse_are_one_and_unknown_edges_are_reported<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let links = "[[implemented_by::Implementation:I]] [[inspired_by::Principle:Q]]";
    wiki_of(
        &house,
        &[
            ("principles/P.md", &format!("# Principle: P\n{links}\n")),
            ("principles/Q.md", "# Principle: Q\n[[related::Principle:P]] [[inspired_by::Principle:P]]\n"),
            ("implementations/I.md", "# Implementation: I\n[[implements::Principle:P]]\n"),
        ],
    );
    let graph = house.open();
    let inspired_by = UnknownEdge { edge: "inspired_by".into(), links: 2, page: "Principle/P".into() };
    for _ in 0..2 {
        let report = index(&graph, &house.wiki()).await;
        assert_eq!((report.unknown_edges, report.links), (vec![inspired_by.clone()], 5));
    }
    let idea = page(&graph, "Principle/P").await;
    assert_eq!(seen(&idea), ["implemented_by to Implementation/I", "related to Principle/Q"]);
    assert_eq!(seen(&page(&graph, "Implementation/I").await), ["implements to Principle/P"]);
    assert_eq!(graph.neighbors("Principle/P").await.unwrap(), idea.neighbours);
}

pub(crate) async fn a_page_without_an_overview_has_its_first_prose<F: Fixture>(engine: F) {
    let house = House::small(engine);
    wiki_of(
        &house,
        &[
            ("principles/A.md", "# Principle: A\nIntro.\n=== Description ===\n* list\n\nDescribed.\n"),
            ("principles/B.md", "# Principle: B\n{|\n| cell\n|}\n\nFirst words.\n\nMore.\n"),
            ("principles/C.md", "# Principle: C\n* nothing but a list\n"),
        ],
    );
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    for (id, overview) in [("A", "Described."), ("B", "First words."), ("C", "")] {
        assert_eq!(page(&graph, &format!("Principle/{id}")).await.overview, overview);
    }
    let found = graph.search("nothing but lists", &Default::default(), 5).await.unwrap();
    assert_eq!(found.hits[0].page.id, "Principle/C");
}
