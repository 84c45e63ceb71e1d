//! An engine in memory, for tests: the least that one has to do. What it holds is gone with its [`MemoryStore`].

mod graph;

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use gatehouse_core::{
    Fault, lock,
    page::{EngineStatistics, KnowledgePage, PageType},
};
use serde_json::{Map, Value};

use self::graph::{IndexedPage, PageGraph};
use crate::{
    embedding::{NewVector, VectorItem, VectorModel, VectorStore, WaitingItem},
    engine::{
        EngineHealth, PageCandidates, PageEngine, PageHead, PageQuestion, PageScope, WriteOutcome, WritePlan,
    },
    wiki::{ids, record::PageRecord},
};

/// What engines in memory hold; those that share one are as processes that share a database.
#[derive(Default)]
pub struct MemoryStore(Mutex<PageGraph>);

/// The engine.
pub(crate) struct MemoryEngine(pub(crate) Arc<MemoryStore>);

#[async_trait]
impl PageEngine for MemoryEngine {
    fn name(&self) -> &'static str {
        "memory"
    }

    fn refs(&self) -> Map<String, Value> {
        Map::new()
    }

    async fn heads(&self, scope: &PageScope) -> Result<Vec<PageHead>, Fault> {
        Ok(lock(&self.0.0).heads(scope))
    }

    async fn records(&self, ids: &[String]) -> Result<Vec<PageRecord>, Fault> {
        let graph = lock(&self.0.0);
        Ok(ids.iter().filter_map(|id| Some(graph.pages.get(&ids::key(id))?.record.clone())).collect())
    }

    async fn pages(&self, ids: &[String]) -> Result<Vec<Option<KnowledgePage>>, Fault> {
        let graph = lock(&self.0.0);
        Ok(ids.iter().map(|id| graph.page(id)).collect())
    }

    async fn ids_by_title(&self, title: &str) -> Result<Vec<String>, Fault> {
        let graph = lock(&self.0.0);
        let is_meant = |page: &&IndexedPage| ids::key(&page.record.title) == ids::key(title);
        let found: BTreeSet<String> =
            graph.pages.values().filter(is_meant).map(|page| page.record.id.clone()).collect();
        Ok(found.into_iter().collect())
    }

    async fn domains(&self, among: Option<Vec<String>>) -> Result<Vec<String>, Fault> {
        let graph = lock(&self.0.0);
        let domains = graph.pages.values().flat_map(|page| &page.record.domains);
        let all: BTreeSet<String> = domains.map(|domain| ids::domain_key(domain)).collect();
        Ok(all.into_iter().filter(|domain| among.as_ref().is_none_or(|few| few.contains(domain))).collect())
    }

    async fn candidates(&self, question: &Arc<PageQuestion>) -> Result<PageCandidates, Fault> {
        lock(&self.0.0).candidates(question)
    }

    async fn apply(&self, plan: Arc<dyn WritePlan>) -> Result<WriteOutcome, Fault> {
        let store = Arc::clone(&self.0);
        plan.run_blocking(move |plan| lock(&store.0).apply(plan)).await
    }

    fn vectors(&self) -> Arc<dyn VectorStore> {
        Arc::clone(&self.0) as _
    }

    async fn stats(&self) -> Result<EngineStatistics, Fault> {
        let graph = lock(&self.0.0);
        let count = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let of = |kind: PageType| graph.pages.values().filter(|page| page.record.page_type == kind).count();
        let by_type = PageType::ALL.into_iter().map(|kind| (kind, count(of(kind)))).filter(|(_, n)| *n > 0);
        Ok(EngineStatistics {
            engine: self.name().to_owned(),
            pages: count(graph.pages.len()),
            links: count(graph.links().len()),
            by_type: by_type.collect(),
        })
    }

    async fn health(&self, model: Option<&VectorModel>) -> Result<EngineHealth, Fault> {
        let graph = lock(&self.0.0);
        Ok(EngineHealth {
            address: "memory".to_owned(),
            schema: (!graph.pages.is_empty()).then_some((1, 1)),
            pages: u32::try_from(graph.pages.len()).unwrap_or(u32::MAX),
            without_vector: model.map_or(0, |model| graph.waiting(model).count() as u32),
            ..EngineHealth::default()
        })
    }
}

#[async_trait]
impl VectorStore for MemoryStore {
    async fn waiting(
        &self,
        model: &VectorModel,
        after: Option<&VectorItem>,
        limit: usize,
    ) -> Result<Vec<WaitingItem>, Fault> {
        let graph = lock(&self.0);
        let waiting = graph.waiting(model).filter(|(item, _)| after.is_none_or(|after| *item > after));
        let one = |(item, version): (&VectorItem, &String)| WaitingItem {
            item: item.clone(),
            version: version.clone(),
        };
        Ok(waiting.take(limit).map(one).collect())
    }

    async fn store(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let mut graph = lock(&self.0);
        for NewVector { item, version, vector } in vectors {
            if graph.items.get(&item) == Some(&version) {
                graph.vectors.insert((item, model.name.clone()), vector);
            }
        }
        Ok(())
    }
}
