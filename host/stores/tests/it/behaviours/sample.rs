//! The project's sample wiki of 99 real pages, if available.
#![allow(clippy::print_stderr)] // makes a skipped test visible

use std::path::PathBuf;

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{PageChanges, PageFilters, PageType},
};

use crate::{
    engines::Fixture,
    support::{House, counts, index, link, page, source},
};

fn wiki() -> Option<PathBuf> {
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/data/wiki"));
    if path.is_dir() {
        return Some(path);
    }
    eprintln!("SKIPPED: the sample wiki is not at {}", path.display());
    None
}

pub(crate) async fn every_page_and_every_link_of_the_sample_is_indexed<F: Fixture>(engine: F) {
    let Some(wiki) = wiki() else { return };
    let house = House::with(engine, &wiki);
    let graph = house.open();
    let first = index(&graph, &house.wiki()).await;
    assert_eq!((counts(&first), first.links), ((99, 0, 0, 0), 238));
    assert_eq!((first.unresolved_links, first.skipped), (vec![], vec![]));
    let second = index(&graph, &house.wiki()).await;
    assert_eq!((counts(&second), second.links), ((0, 0, 99, 0), 238));
    let stats = graph.stats().await.unwrap();
    assert_eq!(stats.by_type.iter().map(|(_, n)| *n).collect::<Vec<_>>(), [5, 28, 57, 3, 6]);
}

pub(crate) async fn the_sample_is_searched_with_and_without_filters<F: Fixture>(engine: F) {
    let Some(wiki) = wiki() else { return };
    let house = House::with(engine, &wiki);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let titles = async |query: &str, filters: PageFilters| -> Vec<String> {
        let found = graph.search(query, &filters, 5).await.unwrap();
        found.hits.into_iter().map(|hit| hit.page.title).collect()
    };
    assert_eq!(titles("QLoRA fine-tuning", PageFilters::default()).await[0], "QLoRA_Finetuning");
    let types = PageFilters { page_types: vec![PageType::Heuristic], ..PageFilters::default() };
    assert_eq!(titles("how to choose the LoRA rank", types).await[0], "LoRA_Rank_Selection_Tip");
    let domain = PageFilters { domains: vec!["optimization".into()], ..PageFilters::default() };
    let found = graph.search("learning rate", &domain, 20).await.unwrap().hits;
    assert!(
        !found.is_empty() && found.iter().all(|hit| hit.page.domains.contains(&"Optimization".to_owned()))
    );
    for (query, expected) in [
        ("export to GGUF for llama.cpp", "GGUF_Export"),
        ("bfloat16 or float16", "BFloat16_vs_Float16_Tip"),
        ("GRPO trainer", "UnslothGRPOTrainer"),
        ("reward functions", "Reward_Functions"),
        ("vllm environment", "CUDA_GPU_vLLM_Environment"),
    ] {
        let titles = titles(query, PageFilters::default()).await;
        assert!(titles.iter().any(|title| title == expected), "{query}: {titles:?}");
    }
}

pub(crate) async fn every_page_of_the_sample_can_be_edited<F: Fixture>(engine: F) {
    let Some(wiki) = wiki() else { return };
    let house = House::with(engine, &wiki);
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let all = graph.search("unsloth the", &PageFilters::default(), 200).await.unwrap().hits;
    assert!(all.len() > 90);
    for hit in all {
        let changes = PageChanges {
            overview: Some("Edited.".into()),
            domains: Some(vec!["Edited Domain".into()]),
            sources: Some(vec![source("One"), source("Two")]),
            links: Some(vec![link("related", "Workflow/Unslothai_Unsloth_GGUF_Export")]),
            ..PageChanges::default()
        };
        let id = &hit.page.id;
        let report =
            graph.patch(id, changes, None, true).await.unwrap_or_else(|fault| panic!("{id}: {fault}"));
        assert!(report.file.is_some() && report.unresolved_links.is_empty());
        let edited = page(&house.open(), id).await;
        assert_eq!((edited.overview.as_str(), edited.sources.len()), ("Edited.", 2));
        assert_eq!(edited.domains, ["Edited Domain"]);
    }
}
