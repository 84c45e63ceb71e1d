//! Items to embed, and their vectors by model. With these, Weaviate can be rebuilt and an earlier model restored
//! without new calls to the model.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::Fault;

use super::{
    super::space, CypherStatement, Neo4jClient, Neo4jError, Neo4jTransaction, cypher, rows::Parameters,
    transaction::unweighted_rows,
};
use crate::{
    embedding::{NewVector, VectorItem, VectorModel},
    engine::PAGES,
};

/// Statement about items without a vector of `$model` with `$dimension`.
macro_rules! without_vector {
    ($and:literal, $then:literal) => {
        cypher(concat!(
            "MATCH (i:WikiItem) WHERE NOT EXISTS { MATCH (i)-[:VECTOR]->(v:WikiVector) WHERE v.model = $model
                AND ($dimension IS NULL OR v.dimension = 0 OR v.dimension = $dimension) } AND ",
            $and,
            " RETURN ",
            $then
        ))
    };
}

impl Neo4jClient {
    /// Returns up to `max` items after the key `after` that have no vector of this model.
    pub(crate) async fn items_without_vector(
        self: &Arc<Self>,
        model: &VectorModel,
        after: &str,
        max: usize,
    ) -> Result<Vec<VectorItem>, Fault> {
        // Migrate an older schema, which has no items. Do not create a schema in an empty database.
        if self.schema().await?.is_none() {
            return Ok(Vec::new());
        }
        self.prepare().await?;
        let statement = without_vector!(
            "i.corpus = $corpus AND i.id > $after",
            "i.key AS key, i.version AS version ORDER BY i.id LIMIT $limit"
        );
        let statement = about(statement, model).with_param("after", page_id(after));
        self.query_rows(statement.with_param("limit", max as i64), |row| {
            Ok(VectorItem { key: row.get("key")?, version: row.get("version")? })
        })
        .await
    }

    pub(crate) async fn without_vector(self: &Arc<Self>, model: &VectorModel) -> Result<u32, Fault> {
        self.count(about(without_vector!("i.corpus = $corpus", "count(i) AS n"), model)).await
    }

    pub(crate) async fn count_vectors(self: &Arc<Self>, model: &VectorModel) -> Result<u32, Fault> {
        let statement = cypher(
            "MATCH (i:WikiItem {corpus: 'page'})-[:VECTOR]->(v:WikiVector) WHERE v.space = $space RETURN count(v) AS n",
        );
        self.count(statement.with_param("space", space(model))).await
    }

    /// Stores vectors of items whose version is unchanged, and queues their pages for Weaviate.
    pub(crate) async fn store_vectors(
        self: &Arc<Self>,
        model: &VectorModel,
        vectors: Vec<NewVector>,
    ) -> Result<(), Fault> {
        let name = model.name.clone();
        let row = move |NewVector { item, vector }: &NewVector| -> Parameters {
            let numbers: Vec<f64> = vector.iter().flatten().map(|number| f64::from(*number)).collect();
            let dimension = i64::try_from(numbers.len()).unwrap_or(i64::MAX);
            HashMap::from([
                ("id", page_id(&item.key).into()),
                ("vector", format!("{name}\n{}", page_id(&item.key)).into()),
                ("key", item.key.clone().into()),
                ("version", item.version.clone().into()),
                ("model", name.clone().into()),
                ("dimension", dimension.into()),
                ("space", format!("{name} {dimension}").into()),
                ("numbers", numbers.into()),
            ])
        };
        self.writes(move |mut transaction| {
            let rows: Vec<Parameters> = vectors.iter().map(&row).collect();
            async move {
                transaction.lock().await?;
                for statement in [
                    "UNWIND $rows AS row MATCH (v:WikiVector {id: row.vector}) DETACH DELETE v",
                    "UNWIND $rows AS row MATCH (i:WikiItem {id: row.id}) WHERE i.version = row.version
                     CREATE (i)-[:VECTOR]->(v:WikiVector {id: row.vector, page: row.key, model: row.model,
                         dimension: row.dimension, space: row.space, numbers: row.numbers})",
                    "UNWIND $rows AS row MATCH (i:WikiItem {id: row.id}) WHERE i.version = row.version
                     MERGE (w:WikiWaiting {key: row.key}) ON CREATE SET w.text = true SET w.turn = randomUUID()",
                ] {
                    transaction.run_batched(unweighted_rows(rows.clone()), statement).await?;
                }
                transaction.commit().await
            }
        })
        .await
    }
}

impl Neo4jTransaction {
    pub(super) async fn vectors(
        &mut self,
        space: &str,
        keys: Vec<String>,
    ) -> Result<HashMap<String, Vec<f32>>, Neo4jError> {
        let ids: Vec<String> = keys.iter().map(|key| page_id(key)).collect();
        let statement = cypher(
            "MATCH (i:WikiItem)-[:VECTOR]->(v:WikiVector) WHERE i.id IN $ids AND v.space = $space
             RETURN i.key AS key, v.numbers AS numbers",
        );
        let rows = self.rows(statement.with_param("ids", ids).with_param("space", space)).await?;
        let entry = |row: &neo4rs::Row| {
            let numbers: Vec<f64> = row.get("numbers")?;
            Ok((row.get("key")?, numbers.into_iter().map(|number| number as f32).collect()))
        };
        rows.iter().map(entry).collect()
    }

    /// Stores items of pages, as (key, version). A changed version deletes the item's vectors.
    pub(super) async fn put_items(&mut self, pages: Vec<(String, String)>) -> Result<(), Neo4jError> {
        let row = |(key, version): (String, String)| -> Parameters {
            HashMap::from([
                ("id", page_id(&key).into()),
                ("key", key.into()),
                ("version", version.into()),
                ("corpus", PAGES.into()),
            ])
        };
        let rows: Vec<Parameters> = pages.into_iter().map(row).collect();
        for statement in [
            "UNWIND $rows AS row MATCH (i:WikiItem {id: row.id})-[:VECTOR]->(v:WikiVector)
             WHERE i.version <> row.version DETACH DELETE v",
            "UNWIND $rows AS row MERGE (i:WikiItem {id: row.id})
             SET i.corpus = row.corpus, i.key = row.key, i.version = row.version",
        ] {
            self.run_batched(unweighted_rows(rows.clone()), statement).await?;
        }
        Ok(())
    }

    pub(super) async fn remove_items(&mut self, keys: &[String]) -> Result<(), Neo4jError> {
        let ids: Vec<String> = keys.iter().map(|key| page_id(key)).collect();
        for statement in [
            "MATCH (i:WikiItem)-[:VECTOR]->(v:WikiVector) WHERE i.id IN $ids DETACH DELETE v",
            "MATCH (i:WikiItem) WHERE i.id IN $ids DETACH DELETE i",
        ] {
            self.run(cypher(statement).with_param("ids", ids.clone())).await?;
        }
        Ok(())
    }
}

/// Adds the parameters of [`without_vector`] and the corpus.
fn about(statement: CypherStatement, model: &VectorModel) -> CypherStatement {
    let dimension = model.dimension.and_then(|dimension| i64::try_from(dimension).ok());
    let statement = statement.with_param("model", model.name.clone()).with_param("dimension", dimension);
    statement.with_param("corpus", PAGES)
}

fn page_id(key: &str) -> String {
    format!("{PAGES}\n{key}")
}
