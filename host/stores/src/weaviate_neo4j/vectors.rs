//! Vectors of pages in Weaviate. Each model has a collection, and Neo4j records the pages whose vectors are in it.

use std::{
    hash::{BuildHasher as _, Hasher as _, RandomState},
    sync::Arc,
};

use async_trait::async_trait;
use gatehouse_core::Fault;

use super::{
    ServerPair,
    neo4j::Neo4jClient,
    weaviate::{CollectionFacts, PageVector, collection_name},
};
use crate::engine::{NewVector, VectorItem, VectorModel, VectorStore};

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
        Ok(facts.filter(|facts| dimension.is_none_or(|dimension| facts.dimension == dimension)))
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
        if let Some(facts) = self.collection(graph, model, dimension).await? {
            return Ok(facts);
        }
        let (name, random) = (collection_name(graph, model), || RandomState::new().build_hasher().finish());
        self.weaviate.delete_collection(&name).await?;
        let id = format!("{:016x}{:016x}", random(), random());
        let facts = CollectionFacts { id, dimension: dimension.unwrap_or(0), model: model.to_owned() };
        self.weaviate.create_collection(&name, &facts).await
    }

    /// Deletes the vectors of these pages, by key, from the collections of all models.
    pub(super) async fn remove_vectors(&self, keys: &[String]) -> Result<(), Fault> {
        let Some(graph) = self.neo4j.graph_id().await? else { return Ok(()) };
        for model in self.neo4j.models().await? {
            self.weaviate.remove(&collection_name(&graph, &model), keys).await?;
        }
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
        self.neo4j.use_model(&model.name).await?;
        let dimension = vectors.iter().find_map(|new| new.vector.as_ref().map(Vec::len)).or(model.dimension);
        let facts = self.ensure_collection(&graph, &model.name, dimension).await?;
        let (mut objects, mut items) = (Vec::new(), Vec::new());
        for NewVector { item, vector } in vectors {
            // The model returned no vector for some pages, which are only recorded.
            objects.extend(vector.map(|vector| PageVector { item: item.clone(), vector }));
            items.push(item);
        }
        let refused = self.weaviate.put(&collection_name(&graph, &model.name), &objects).await?;
        items.retain(|item| refused.iter().all(|(key, _)| *key != item.key));
        self.neo4j.record_vectors(&model.name, &recorded_name(&model.name, Some(&facts)), items).await?;
        match refused.first() {
            Some((key, reason)) => Err(self.weaviate.refused_page(key, reason)),
            None => self.drop_unused(&graph, model).await,
        }
    }
}

/// Returns the neighbors of a search that Neo4j still has with the same version, and the keys of the others.
pub(super) async fn current(
    neo4j: &Arc<Neo4jClient>,
    near: Vec<(VectorItem, f32)>,
) -> Result<(Vec<(String, f32)>, Vec<String>), Fault> {
    let keys = near.iter().map(|(item, _)| item.key.clone()).collect();
    let versions = neo4j.versions(keys).await?;
    let (mut current, mut outdated) = (Vec::new(), Vec::new());
    for (VectorItem { key, version }, cosine) in near {
        match versions.get(&key) {
            Some(stored) if *stored == version => current.push((key, cosine)),
            // A changed page waits for its new vector, which replaces this one.
            Some(_) => {}
            None => outdated.push(key),
        }
    }
    Ok((current, outdated))
}
