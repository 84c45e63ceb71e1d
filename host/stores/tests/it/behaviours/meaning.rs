//! Pages found by what they mean, and a model that comes, goes and changes.

use std::{sync::Arc, time::Duration};

use gatehouse_core::ports::{
    Knowledge as _,
    knowledge::{Changes, Filters, PageType},
};
use gatehouse_stores::{WikiKnowledge, WikiRoots};

use crate::{
    engines::{Fixture, Setup},
    support::{House, Words, counts, index, link},
};

const SOON: Duration = Duration::from_secs(20);

fn with<F: Fixture>(house: &House<F>, model: &Arc<Words>) -> WikiKnowledge {
    house.engine.open(Setup { embedder: Some(Arc::clone(model) as _), ..Setup::of(WikiRoots::Any) })
}

async fn ids(graph: &WikiKnowledge, query: &str, filters: &Filters) -> Vec<String> {
    let found = graph.search(query, filters, 5).await.unwrap();
    found.hits.into_iter().map(|hit| hit.page.id).collect()
}

async fn waiting(graph: &WikiKnowledge) -> (u32, Option<String>) {
    let embedding = graph.health().await.unwrap().embedding.unwrap();
    (embedding.waiting, embedding.failing)
}

pub(crate) async fn pages_are_found_in_other_words<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let model = Arc::new(Words::default());
    let graph = with(&house, &model);
    index(&graph, &house.wiki()).await;
    assert!(graph.settle(SOON).await);
    // None of these words stands in any page.
    let found = graph.search("microbe leavening", &Filters::default(), 5).await.unwrap();
    assert_eq!(found.hits[0].page.id, "Principle/Acme_Fermentation");
    assert!(found.hits.windows(2).all(|pair| pair[0].score >= pair[1].score));
    assert!(found.hits.iter().all(|hit| (0.0..=1.0).contains(&hit.score)));
    assert_eq!((found.unmatched_terms.len(), found.note), (2, None));
    let types = Filters { page_types: vec![PageType::Workflow], ..Filters::default() };
    let narrowed = ids(&graph, "microbe pastry", &types).await;
    assert_eq!(narrowed, ["Workflow/Acme_Bread_Baking"]);
    let sure = Filters { min_score: Some(0.99), ..Filters::default() };
    assert!(ids(&graph, "microbe leavening", &sure).await.len() <= 1);
    assert_eq!(ids(&graph, "zzz", &Filters::default()).await, Vec::<String>::new());
    assert_eq!(waiting(&graph).await, (0, None));
}

pub(crate) async fn a_model_that_fails_leaves_words_and_is_made_up_for<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let model = Arc::new(Words::default());
    model.fail(true);
    let graph = with(&house, &model);
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (5, 0, 0, 0));
    let found = graph.search("yeast", &Filters::default(), 5).await.unwrap();
    assert!(!found.hits.is_empty() && found.note.unwrap().starts_with("Found by words alone: the model"));
    let (pages, why) = waiting(&graph).await;
    assert_eq!(pages, 5);
    assert!(why.unwrap().contains("'test/words' is away"));
    model.fail(false);
    // Made up for by whoever opens it next, or by this one after its pause.
    let next = with(&house, &model);
    assert!(next.settle(SOON).await);
    assert_eq!(waiting(&next).await, (0, None));
    assert_eq!(ids(&graph, "microbe", &Filters::default()).await[0], "Principle/Acme_Fermentation");
}

pub(crate) async fn another_model_and_another_dimension_give_new_vectors<F: Fixture>(engine: F) {
    let house = House::small(engine);
    for model in [Words::default(), Words::named("test/other", 8), Words::named("test/other", 16)] {
        let model = Arc::new(model);
        let graph = with(&house, &model);
        index(&graph, &house.wiki()).await;
        // A question shows which dimension the model has; until all have new vectors, words find pages too.
        assert_eq!(ids(&graph, "yeast", &Filters::default()).await[0], "Principle/Acme_Fermentation");
        assert!(graph.settle(SOON).await);
        assert_eq!(waiting(&graph).await, (0, None));
        assert_eq!(model.pages(), 5);
        assert_eq!(ids(&graph, "microbe", &Filters::default()).await[0], "Principle/Acme_Fermentation");
    }
}

pub(crate) async fn what_did_not_change_is_not_embedded_again<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let model = Arc::new(Words::default());
    let graph = with(&house, &model);
    index(&graph, &house.wiki()).await;
    index(&graph, &house.wiki()).await;
    assert!(graph.settle(SOON).await);
    assert_eq!(model.pages(), 5);
    let id = "Workflow/Acme_Bread_Baking";
    let links =
        Changes { links: Some(vec![link("related", "Heuristic/Acme_Rest_Tip")]), ..Changes::default() };
    assert_eq!(graph.patch(id, links, None, true).await.unwrap().changed, ["links"]);
    assert!(graph.settle(SOON).await);
    let overview = Changes { overview: Some("Loaves.".into()), ..Changes::default() };
    graph.patch(id, overview, None, true).await.unwrap();
    assert!(graph.settle(SOON).await);
    assert!((6..=7).contains(&model.pages()), "{}", model.pages());
}
