//! Vectors of pages in Weaviate. Each model has a collection, and Neo4j records the pages whose vectors are in it.

use async_trait::async_trait;
use gatehouse_core::{Fault, lock};

use super::{
    ServerPair,
    weaviate::{CollectionFacts, PageVector, collection_name},
};
use crate::{
    engine::{NewVector, VectorItem, VectorModel, VectorStore},
    random::random_id,
};

/// Returns the name under which Neo4j records the vectors of a collection. Without one, no page has such a vector.
pub(super) fn recorded_name(model: &str, collection: Option<&CollectionFacts>) -> String {
    format!("{model} in {}", collection.map_or("Weaviate", |facts| &facts.id))
}

impl ServerPair {
    /// Returns the collection of a model. `None` if it does not exist or has vectors of another dimension.
    pub(super) async fn collection(
        &self,
        graph: &str,
        model: &str,
        dimension: Option<usize>,
    ) -> Result<Option<CollectionFacts>, Fault> {
        let facts = self.weaviate.facts(&collection_name(graph, model)).await?;
        Ok(facts.filter(|facts| facts.has_vectors(dimension)))
    }

    /// Counts the pages without a vector of a model.
    pub(super) async fn without_vector(&self, graph: &str, model: &VectorModel) -> Result<u32, Fault> {
        let collection = self.collection(graph, &model.name, model.dimension).await?;
        self.neo4j.count_waiting(&recorded_name(&model.name, collection.as_ref())).await
    }

    /// Creates the collection of a model, or replaces one with vectors of another dimension.
    async fn ensure_collection(
        &self,
        graph: &str,
        model: &str,
        dimension: Option<usize>,
    ) -> Result<CollectionFacts, Fault> {
        let name = collection_name(graph, model);
        match self.weaviate.facts(&name).await? {
            Some(facts) if facts.has_vectors(dimension) => return Ok(facts),
            Some(_) => self.weaviate.delete_collection(&name).await?,
            // Another host may be creating it.
            None => {}
        }
        let facts =
            CollectionFacts { id: random_id(), dimension: dimension.unwrap_or(0), model: model.to_owned() };
        self.weaviate.create_collection(&name, &facts).await
    }

    /// Deletes the vectors of these pages, by key, from the collections of all models.
    pub(super) async fn remove_vectors(&self, keys: &[String]) -> Result<(), Fault> {
        let Some(graph) = self.neo4j.graph_id().await? else { return Ok(()) };
        for model in self.neo4j.models().await? {
            self.weaviate.remove(&collection_name(&graph, &model), keys).await?;
        }
        // A page that was added again meanwhile waits for its vector again.
        self.neo4j.clear_records(keys.to_vec(), "").await
    }

    /// Checks a collection when this process first uses it: marks its model as used, and lets all its pages wait if it
    /// lost some, as after a restored backup.
    pub(super) async fn check_once(&self, graph: &str, facts: &CollectionFacts) -> Result<(), Fault> {
        if lock(&self.checked).contains(&facts.id) {
            return Ok(());
        }
        self.neo4j.use_model(&facts.model).await?;
        let (name, recorded) =
            (collection_name(graph, &facts.model), recorded_name(&facts.model, Some(facts)));
        // Objects are stored before they are recorded, and removed after their pages.
        if self.neo4j.count_recorded(&recorded).await? > self.weaviate.count(&name).await?
            && self.neo4j.count_recorded(&recorded).await? > self.weaviate.count(&name).await?
        {
            tracing::warn!(model = facts.model, "Weaviate lost vectors of pages; they are made again");
            self.neo4j.clear_all_records(&recorded).await?;
        }
        lock(&self.checked).insert(facts.id.clone());
        Ok(())
    }

    /// Deletes the collections of models that no host has used for long.
    async fn drop_unused(&self, graph: &str, model: &VectorModel) -> Result<(), Fault> {
        let in_use = [Some(model.name.clone()), model.searched.clone()];
        for unused in self.neo4j.unused_models(in_use.into_iter().flatten().collect()).await? {
            self.weaviate.delete_collection(&collection_name(graph, &unused)).await?;
            self.neo4j.forget_model(&unused).await?;
        }
        Ok(())
    }
}

#[async_trait]
impl VectorStore for ServerPair {
    async fn waiting(&self, model: &VectorModel, after: &str, max: usize) -> Result<Vec<VectorItem>, Fault> {
        let Some(graph) = self.neo4j.graph_id().await? else { return Ok(Vec::new()) };
        let collection = self.collection(&graph, &model.name, model.dimension).await?;
        self.neo4j.waiting(&recorded_name(&model.name, collection.as_ref()), after, max).await
    }

    async fn put(&self, model: &VectorModel, vectors: Vec<NewVector>) -> Result<(), Fault> {
        let Some(graph) = self.neo4j.graph_id().await? else { return Ok(()) };
        let dimension = vectors.iter().find_map(|new| new.vector.as_ref().map(Vec::len)).or(model.dimension);
        let facts = self.ensure_collection(&graph, &model.name, dimension).await?;
        let (mut objects, mut items) = (Vec::new(), Vec::new());
        for NewVector { item, vector } in vectors {
            objects.push(PageVector { item: item.clone(), vector });
            items.push(item);
        }
        self.check_once(&graph, &facts).await?;
        let refused = self.weaviate.put(&collection_name(&graph, &model.name), &objects).await?;
        items.retain(|item| refused.iter().all(|(key, _)| *key != item.key));
        self.neo4j.record_vectors(&model.name, &recorded_name(&model.name, Some(&facts)), items).await?;
        match refused.first() {
            Some((key, reason)) => Err(self.weaviate.refused_page(key, reason)),
            None => self.drop_unused(&graph, model).await,
        }
    }
}

/// The results of a search in Weaviate, compared with the pages in Neo4j.
#[derive(Default)]
pub(super) struct ComparedPages {
    pub(super) current: Vec<(String, f32)>,
    /// Keys of removed pages.
    pub(super) removed: Vec<String>,
}

impl ServerPair {
    /// Compares results with the pages. A page whose recorded vector is of another text waits again: two hosts can store
    /// vectors of one page in the wrong order.
    pub(super) async fn compare(
        &self,
        recorded: &str,
        near: Vec<(VectorItem, f32)>,
    ) -> Result<ComparedPages, Fault> {
        let keys = near.iter().map(|(item, _)| item.key.clone()).collect();
        let versions = self.neo4j.versions(keys, recorded).await?;
        let (mut compared, mut outdated) = (ComparedPages::default(), Vec::new());
        for (VectorItem { key, version }, cosine) in near {
            match versions.get(&key) {
                Some((stored, _)) if *stored == version => compared.current.push((key, cosine)),
                Some((_, is_recorded)) => outdated.extend(is_recorded.then_some(key)),
                None => compared.removed.push(key),
            }
        }
        if !outdated.is_empty() {
            self.neo4j.clear_records(outdated, recorded).await?;
        }
        Ok(compared)
    }
}
