//! Names rank first, and non-Latin scripts are found.

use gatehouse_core::ports::{
    KnowledgeGraph as _,
    knowledge::{PageDraft, PageFilters, PageLink, PageLookup, PageSearchResult, PageType},
};
use gatehouse_stores::WikiKnowledge;

use crate::{engines::Fixture, support::House};

fn draft(title: &str, overview: &str, content: &str) -> PageDraft {
    PageDraft {
        title: title.into(),
        page_type: PageType::Principle,
        overview: overview.into(),
        content: content.into(),
        domains: vec![],
        sources: vec![],
        links: vec![],
    }
}

async fn search(graph: &WikiKnowledge, query: &str) -> PageSearchResult {
    graph.search(query, &PageFilters::default(), 5).await.unwrap()
}

async fn titles(graph: &WikiKnowledge, query: &str) -> Vec<String> {
    search(graph, query).await.hits.into_iter().map(|hit| hit.page.title).collect()
}

pub(crate) async fn a_page_that_is_named_comes_first_and_then_those_whose_names_begin_so<F: Fixture>(
    engine: F,
) {
    let house = House::small(engine);
    let graph = house.open();
    let about = "model loading model loading model loading";
    let drafts = vec![
        draft("Model_Loading", "Something else.", ""),
        draft("Model_Loading_Tips", "Another thing.", ""),
        draft("Saving", about, about),
    ];
    graph.upsert(drafts).await.unwrap();
    for query in ["model loading", "MODEL_LOADING", "ModelLoading", "Principle/Model Loading"] {
        let result = search(&graph, query).await;
        assert_eq!(
            (result.hits[0].page.title.as_str(), result.hits[0].score),
            ("Model_Loading", 1.0),
            "{query}"
        );
    }
    assert_eq!(titles(&graph, "model loading").await, ["Model_Loading", "Model_Loading_Tips", "Saving"]);
    assert_eq!(titles(&graph, "model load").await, ["Model_Loading", "Model_Loading_Tips", "Saving"]);
    let types = PageFilters { page_types: vec![PageType::Workflow], ..PageFilters::default() };
    assert!(graph.search("model loading", &types, 5).await.unwrap().hits.is_empty());
}

pub(crate) async fn a_prefix_of_many_names_is_ignored<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let mut drafts: Vec<PageDraft> = (0..80).map(|n| draft(&format!("Acme {n}"), "words", "")).collect();
    drafts.push(draft("Zebra", "acme acme acme", "acme"));
    drafts.push(draft("Acme", "exactly", ""));
    graph.upsert(drafts).await.unwrap();
    assert_eq!(titles(&graph, "acme").await[..2], ["Acme", "Zebra"]);
}

pub(crate) async fn spellings_of_the_same_name_are_one_page<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let mut linking = draft("Linking", "Points elsewhere.", "");
    linking.links = vec![PageLink { edge: "related".into(), target: "Principle/Crème".into() }];
    graph.upsert(vec![draft("Cre\u{300}me", "About Straßen.", ""), linking]).await.unwrap();
    for id in ["Principle/Crème", "Principle/Cre\u{300}me", "Crème"] {
        assert!(matches!(graph.page(id).await.unwrap(), PageLookup::Found { .. }), "{id}");
    }
    let linked = graph.neighbors("Principle/Linking").await.unwrap();
    assert_eq!(linked.len(), 1);
    assert_eq!(titles(&graph, "strassen").await, ["Cre\u{300}me"]);
    assert_eq!(titles(&graph, "creme").await[0], "Cre\u{300}me");
}

pub(crate) async fn other_scripts_are_found_in_parts_and_in_other_forms<F: Fixture>(engine: F) {
    let house = House::small(engine);
    let graph = house.open();
    let drafts = vec![
        draft("保存模型", "训练之后如何保存模型的权重", "使用GGUF格式导出"),
        draft("数据准备", "准备训练数据", "整理图片和文字"),
        draft("Сохранение", "Как сохранить обученные модели", "Экспорт весов"),
        draft("モデルの保存", "学習したモデルを保存する", ""),
        draft("猫", "黑猫", ""),
    ];
    graph.upsert(drafts).await.unwrap();
    for (query, title) in [
        ("怎样保存权重", "保存模型"),
        ("图片", "数据准备"),
        ("图", "数据准备"),
        ("黑猫", "猫"),
        ("猫", "猫"),
        ("gguf", "保存模型"),
        ("导出gguf", "保存模型"),
        ("модель", "Сохранение"),
        ("МОДЕЛЯМИ", "Сохранение"),
        ("モデル", "モデルの保存"),
    ] {
        assert_eq!(titles(&graph, query).await.first().map(String::as_str), Some(title), "{query}");
    }
    let result = search(&graph, "模型 冰淇淋 мороженое quux").await;
    assert_eq!(result.unmatched_terms, ["quux", "冰淇淋", "мороженое"]);
    graph.upsert(vec![draft("保存模型", "别的", "别的")]).await.unwrap();
    assert!(!titles(&graph, "权重").await.contains(&"保存模型".to_owned()));
}
