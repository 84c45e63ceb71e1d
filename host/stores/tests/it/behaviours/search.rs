//! Search: results, ranking, and arbitrary queries.

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{MatchQuality, PageDraft, PageFilters, PageSearchResult, PageType},
};
use gatehouse_stores::WikiKnowledge;

use crate::{
    engines::Fixture,
    support::{House, index},
};

async fn indexed<F: Fixture>(engine: F) -> (House<F>, WikiKnowledge) {
    let house = House::small(engine);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    (house, graph)
}

async fn ids(graph: &WikiKnowledge, query: &str, filters: &PageFilters) -> Vec<String> {
    let found = graph.search(query, filters, 20).await.unwrap();
    found.hits.into_iter().map(|hit| hit.page.id).collect()
}

pub(crate) async fn words_are_found_in_other_forms_and_inside_names<F: Fixture>(engine: F) {
    let (_house, graph) = indexed(engine).await;
    let all = PageFilters::default();
    assert_eq!(ids(&graph, "bakes bread", &all).await[0], "Workflow/Acme_Bread_Baking");
    assert_eq!(ids(&graph, "machine for dough", &all).await[0], "Implementation/Acme_KneadingMachine");
    assert_eq!(ids(&graph, "sourdoughstarter", &all).await, ["Implementation/Acme_KneadingMachine"]);
    let result = graph.search("the yeast quux", &all, 5).await.unwrap();
    assert_eq!((result.hits[0].score, result.unmatched_terms), (1.0, vec!["quux".to_owned()]));
    assert!(!result.hits[0].page.neighbours.is_empty());
}

pub(crate) async fn filters_count_before_the_limit<F: Fixture>(engine: F) {
    let (_house, graph) = indexed(engine).await;
    let types = PageFilters { page_types: vec![PageType::Heuristic], ..PageFilters::default() };
    let hits = graph.search("dough", &types, 1).await.unwrap().hits;
    assert_eq!(hits[0].page.id, "Heuristic/Acme_Rest_Tip");
    for domain in ["Home Cooking", "home_cooking"] {
        let filters =
            PageFilters { domains: vec!["Nothing".into(), domain.into()], ..PageFilters::default() };
        assert_eq!(ids(&graph, "dough loaf baking", &filters).await, ["Workflow/Acme_Bread_Baking"]);
    }
    let both = PageFilters {
        page_types: vec![PageType::Principle, PageType::Workflow],
        domains: vec!["Baking".into()],
        min_score: Some(0.99),
    };
    assert_eq!(ids(&graph, "yeast baking loaf", &both).await.len(), 1);
    let many =
        PageFilters { domains: (0..50_000).map(|n| n.to_string()).collect(), ..PageFilters::default() };
    assert_eq!(ids(&graph, "dough", &many).await, Vec::<String>::new());
    let none = PageFilters { domains: vec!["Nothing".into()], ..PageFilters::default() };
    assert_eq!(ids(&graph, "dough", &none).await, Vec::<String>::new());
}

pub(crate) async fn equal_pages_come_in_the_order_of_their_ids<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let draft = |title: &str| PageDraft {
        title: title.into(),
        page_type: PageType::Principle,
        overview: "The same words.".into(),
        content: String::new(),
        domains: vec![],
        sources: vec![],
        links: vec![],
    };
    // More pages than the first lookup returns. The first by id is stored last.
    graph.upsert((100..300).rev().map(|n| draft(&format!("p {n}"))).collect()).await.unwrap();
    for _ in 0..3 {
        let hits = graph.search("same words", &PageFilters::default(), 3).await.unwrap().hits;
        let found: Vec<&str> = hits.iter().map(|hit| hit.page.id.as_str()).collect();
        assert_eq!(found, ["Principle/p_100", "Principle/p_101", "Principle/p_102"]);
    }
}

pub(crate) async fn any_text_is_a_valid_query<F: Fixture>(engine: F) {
    let (_house, graph) = indexed(engine).await;
    for text in
        ["\"", "dough\"", "NEAR(", "title:", "*", "-", "a AND", "🙂", "\0", "'; --", "((()", "{a b}:c"]
    {
        graph.search(text, &PageFilters::default(), 5).await.unwrap();
    }
    let nothing = graph.search("", &PageFilters::default(), 5).await.unwrap();
    assert_eq!(nothing, PageSearchResult::default());
    // What query parsers of full-text indexes refuse or read as operators (langchain-neo4j#5, LightRAG#3233).
    for text in [
        "/b testing dough",
        "root/solutions.",
        "tb-",
        "C++ dough",
        "a && dough || !c",
        "dough~2^3",
        "[a TO b]",
    ] {
        graph.search(text, &PageFilters::default(), 5).await.unwrap();
    }
    // More words than a query of Lucene may have (KAG#376).
    let many: String = (0..3_000).map(|n| format!("word{n} ")).collect();
    graph.search(&format!("dough {many}"), &PageFilters::default(), 5).await.unwrap();
    let long = "dough ".repeat(200_000);
    assert!(!graph.search(&long, &PageFilters::default(), 5).await.unwrap().hits.is_empty());
}

pub(crate) async fn unknown_domains_are_reported_with_the_nearest<F: Fixture>(engine: F) {
    let (_house, graph) = indexed(engine).await;
    let domains = vec!["Bakin".to_owned(), "home_COOKING".to_owned()];
    let filters = PageFilters { domains, ..PageFilters::default() };
    let result = graph.search("dough", &filters, 5).await.unwrap();
    assert_eq!(result.unknown_domains.len(), 1, "{:?}", result.unknown_domains);
    assert_eq!(result.unknown_domains[0].domain, "Bakin");
    assert_eq!(result.unknown_domains[0].nearest[0], "baking");
    assert_eq!(graph.search("dough", &PageFilters::default(), 5).await.unwrap().unknown_domains, []);
}

pub(crate) async fn a_hit_says_how_well_it_fits<F: Fixture>(engine: F) {
    let (_house, graph) = indexed(engine).await;
    for (query, fit) in [
        ("bread baking", MatchQuality::Names),
        ("knead dough by machine", MatchQuality::Good),
        ("dough for quantum computers of tomorrow", MatchQuality::Nothing),
    ] {
        let result = graph.search(query, &PageFilters::default(), 5).await.unwrap();
        assert_eq!(result.hits[0].fit, fit, "{query}: {:?}", result.hits[0].page.id);
    }
}
