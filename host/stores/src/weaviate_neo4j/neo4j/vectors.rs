//! Records of the vectors that Weaviate has. A page names the models and collections of its vectors in `models`.

use std::{collections::HashMap, sync::Arc};

use gatehouse_core::Fault;

use super::{CypherStatement, Neo4jClient, cypher, rows::Parameters};
use crate::engine::VectorItem;

/// Time until the collection of an unused model is deleted: 30 days. Until then, switching back costs nothing, and hosts
/// with different models can share a graph.
const UNUSED_MODEL_MS: i64 = 30 * 24 * 60 * 60 * 1000;

impl Neo4jClient {
    /// Returns the unique id of this graph. `None` if nothing was ever stored.
    pub(crate) async fn graph_id(self: &Arc<Self>) -> Result<Option<String>, Fault> {
        self.check_schema().await?;
        let statement = cypher("MATCH (s:WikiState {name: 'wiki'}) RETURN s.graph AS graph");
        Ok(self.query_rows(statement, |row| Ok(row.get("graph")?)).await?.pop())
    }

    /// Returns up to `max` pages after the key `after` without a recorded vector.
    pub(crate) async fn waiting(
        self: &Arc<Self>,
        recorded: &str,
        after: &str,
        max: usize,
    ) -> Result<Vec<VectorItem>, Fault> {
        let statement = cypher(
            "MATCH (p:WikiPage) WHERE p.key > $after AND NOT $recorded IN coalesce(p.models, [])
             RETURN p.key AS key, p.version AS version ORDER BY p.key LIMIT $limit",
        );
        let statement = statement.with_param("recorded", recorded).with_param("after", after);
        self.query_rows(statement.with_param("limit", max as i64), |row| {
            Ok(VectorItem { key: row.get("key")?, version: row.get("version")? })
        })
        .await
    }

    pub(crate) async fn count_waiting(self: &Arc<Self>, recorded: &str) -> Result<u32, Fault> {
        let statement =
            cypher("MATCH (p:WikiPage) WHERE NOT $recorded IN coalesce(p.models, []) RETURN count(p) AS n");
        self.count(statement.with_param("recorded", recorded)).await
    }

    /// Records the vectors of pages whose version is unchanged, instead of those in other collections of the model.
    pub(crate) async fn record_vectors(
        self: &Arc<Self>,
        model: &str,
        recorded: &str,
        items: Vec<VectorItem>,
    ) -> Result<(), Fault> {
        let row = |item: VectorItem| -> Parameters {
            HashMap::from([("key", item.key.into()), ("version", item.version.into())])
        };
        let rows: Vec<Parameters> = items.into_iter().map(row).collect();
        let statement = cypher(
            "UNWIND $rows AS row MATCH (p:WikiPage {key: row.key}) WHERE p.version = row.version
             SET p.models = [name IN coalesce(p.models, []) WHERE NOT name STARTS WITH $prefix] + [$recorded]",
        );
        let statement =
            statement.with_param("prefix", format!("{model} in ")).with_param("recorded", recorded);
        self.run_write(statement.with_rows("rows", rows)).await
    }

    /// Counts the pages with a recorded vector.
    pub(crate) async fn count_recorded(self: &Arc<Self>, recorded: &str) -> Result<u32, Fault> {
        let statement =
            cypher("MATCH (p:WikiPage) WHERE $recorded IN coalesce(p.models, []) RETURN count(p) AS n");
        self.count(statement.with_param("recorded", recorded)).await
    }

    /// Removes the records of a collection, or of all without a name, from pages.
    pub(crate) async fn clear_records(
        self: &Arc<Self>,
        keys: Vec<String>,
        recorded: &str,
    ) -> Result<(), Fault> {
        let statement = cypher(
            "MATCH (p:WikiPage) WHERE p.key IN $keys
             SET p.models = [name IN coalesce(p.models, []) WHERE $recorded <> '' AND name <> $recorded]",
        );
        self.run_write(statement.with_param("keys", keys).with_param("recorded", recorded)).await
    }

    /// Removes the records of a collection from all pages.
    pub(crate) async fn clear_all_records(self: &Arc<Self>, recorded: &str) -> Result<(), Fault> {
        let statement = cypher(
            "MATCH (p:WikiPage) WHERE $recorded IN coalesce(p.models, [])
             SET p.models = [name IN p.models WHERE name <> $recorded]",
        );
        self.run_write(statement.with_param("recorded", recorded)).await
    }

    /// Records that a model is in use.
    pub(crate) async fn use_model(self: &Arc<Self>, name: &str) -> Result<(), Fault> {
        let statement = "MERGE (m:WikiModel {name: $name}) SET m.used = timestamp()";
        self.run_write(cypher(statement).with_param("name", name)).await
    }

    /// Returns the models that may have vectors.
    pub(crate) async fn models(self: &Arc<Self>) -> Result<Vec<String>, Fault> {
        self.query_rows(cypher("MATCH (m:WikiModel) RETURN m.name AS name"), |row| Ok(row.get("name")?)).await
    }

    /// Returns the models that no host has used for long, without those `in_use`.
    pub(crate) async fn unused_models(self: &Arc<Self>, in_use: Vec<String>) -> Result<Vec<String>, Fault> {
        let statement = cypher(
            "MATCH (m:WikiModel) WHERE m.used < timestamp() - $age AND NOT m.name IN $used RETURN m.name AS name",
        );
        let statement = statement.with_param("age", UNUSED_MODEL_MS).with_param("used", in_use);
        self.query_rows(statement, |row| Ok(row.get("name")?)).await
    }

    /// Removes a model whose collection is gone, and the records of its vectors.
    pub(crate) async fn forget_model(self: &Arc<Self>, name: &str) -> Result<(), Fault> {
        let pages = cypher(
            "MATCH (p:WikiPage) WHERE any(name IN coalesce(p.models, []) WHERE name STARTS WITH $prefix)
             SET p.models = [name IN p.models WHERE NOT name STARTS WITH $prefix]",
        );
        self.run_write(pages.with_param("prefix", format!("{name} in "))).await?;
        let model = cypher("MATCH (m:WikiModel {name: $name}) DELETE m");
        self.run_write(model.with_param("name", name)).await
    }

    async fn run_write(self: &Arc<Self>, statement: CypherStatement) -> Result<(), Fault> {
        self.writes(move |mut transaction| {
            let statement = statement.clone();
            async move {
                transaction.lock().await?;
                transaction.run(statement).await?;
                transaction.commit().await
            }
        })
        .await
    }
}
