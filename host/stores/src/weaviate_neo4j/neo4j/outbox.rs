//! The queue of changes to deliver to Weaviate.
//!
//! Storing or removing a page, or storing its vector, queues it in the same transaction. Delivery removes the entry
//! only if the page has not changed since.

use std::{collections::HashMap, sync::Arc, time::Duration};

use gatehouse_core::Fault;
use neo4rs::Row;

use super::{
    super::space,
    CypherStatement, Neo4jClient, Neo4jError, cypher,
    rows::{self, Parameters},
};
use crate::{embedding::VectorModel, wiki::record::PageRecord};

const MAX_BATCH_PAGES: i64 = 64;

/// Bytes of text per batch. A larger page forms its own batch.
const MAX_BATCH_BYTES: i64 = 8 << 20;

/// State of the graph and of the queue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Unique id of this graph, to recognize its collections.
    pub(crate) graph: String,
    /// Vector space that Weaviate holds. `None` if it holds no vectors.
    pub(crate) space: Option<String>,
    pub(crate) pages: u32,
    /// Pages whose text has not been delivered.
    pub(crate) waiting: u32,
    /// All queued pages, including those that lack only a vector.
    pub(crate) queued: u32,
}

#[derive(Debug)]
pub(crate) struct PendingPage {
    pub(crate) key: String,
    /// Changes each time the page is queued.
    pub(crate) turn: String,
    /// True if only the vector is missing.
    pub(crate) text_is_there: bool,
    pub(crate) page: Option<PageRecord>,
    pub(crate) vector: Option<Vec<f32>>,
}

impl Neo4jClient {
    /// Returns the state. `None` if nothing was ever stored.
    pub(crate) async fn state(self: &Arc<Self>) -> Result<Option<State>, Fault> {
        self.reading(|mut transaction| async move {
            let statement = cypher(
                "MATCH (s:WikiState {name: 'wiki'}) OPTIONAL MATCH (w:WikiWaiting)
                 RETURN s.graph AS graph, s.space AS space,
                     count(CASE WHEN w.text THEN null ELSE w.key END) AS waiting, count(w.key) AS queued",
            );
            let rows = transaction.rows(statement).await?;
            let pages = transaction.count(cypher("MATCH (p:WikiPage) RETURN count(p) AS n")).await?;
            transaction.rollback().await;
            let state = |row: &Row| {
                Ok::<_, Neo4jError>(State {
                    graph: row.get("graph")?,
                    space: row.get("space")?,
                    pages,
                    waiting: row.get("waiting")?,
                    queued: row.get("queued")?,
                })
            };
            rows.first().map(state).transpose()
        })
        .await
    }

    /// Acquires or renews the delivery lease. Returns `false` if another host holds it. With two deliverers, the slower
    /// one could overwrite a page with an older text.
    pub(crate) async fn lease(self: &Arc<Self>, holder: &str, lease: Duration) -> Result<bool, Fault> {
        let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
        let statement = cypher(
            "MATCH (s:WikiState {name: 'wiki'})
             WHERE s.holder IS NULL OR s.holder = $holder OR s.held_until < timestamp()
             SET s.holder = $holder, s.held_until = timestamp() + $lease RETURN count(*) AS n",
        );
        let statement = statement.with_param("holder", holder).with_param("lease", lease);
        self.writes(move |mut transaction| {
            let statement = statement.clone();
            async move {
                let count = transaction.count(statement).await?;
                transaction.commit().await?;
                Ok(count > 0)
            }
        })
        .await
    }

    pub(crate) async fn release(self: &Arc<Self>, holder: &str) -> Result<(), Fault> {
        let statement = "MATCH (s:WikiState {name: 'wiki'}) WHERE s.holder = $holder SET s.holder = null";
        self.run_write(cypher(statement).with_param("holder", holder)).await
    }

    /// Returns the next queued pages after the key `after`, with their vectors of this model.
    pub(crate) async fn pending(
        self: &Arc<Self>,
        after: &str,
        model: Option<&VectorModel>,
    ) -> Result<Vec<PendingPage>, Fault> {
        let (after, space) = (after.to_owned(), model.and_then(space));
        self.reading(move |mut transaction| async move {
            let statement = cypher(
                "MATCH (w:WikiWaiting) WHERE w.key > $after WITH w ORDER BY w.key LIMIT $limit
                 OPTIONAL MATCH (p:WikiPage {key: w.key})
                 RETURN w.key AS key, w.turn AS turn, coalesce(w.text, false) AS text,
                     coalesce(size(p.content), 0) AS size ORDER BY w.key",
            );
            let (mut pending_pages, mut bytes) = (Vec::new(), 0_i64);
            for row in transaction
                .rows(statement.with_param("after", after).with_param("limit", MAX_BATCH_PAGES))
                .await?
            {
                bytes += row.get::<i64>("size")?;
                if !pending_pages.is_empty() && bytes > MAX_BATCH_BYTES {
                    break;
                }
                let (key, turn, text_is_there) = (row.get("key")?, row.get("turn")?, row.get("text")?);
                pending_pages.push(PendingPage { key, turn, text_is_there, page: None, vector: None });
            }
            let keys: Vec<String> =
                pending_pages.iter().map(|pending_page| pending_page.key.clone()).collect();
            let rows = transaction.pages(&keys).await?;
            let mut vectors = match space {
                Some(space) => transaction.vectors(&space, keys).await?,
                None => HashMap::new(),
            };
            transaction.rollback().await;
            let pages = rows.iter().map(|row| Ok((row.get("key")?, rows::record(row)?)));
            let mut pages = pages.collect::<Result<HashMap<String, PageRecord>, Neo4jError>>()?;
            for pending_page in &mut pending_pages {
                (pending_page.page, pending_page.vector) =
                    (pages.remove(&pending_page.key), vectors.remove(&pending_page.key));
            }
            Ok(pending_pages)
        })
        .await
    }

    /// Removes delivered entries, as (key, turn). Entries that were queued again stay.
    pub(crate) async fn mark_delivered(self: &Arc<Self>, done: Vec<(String, String)>) -> Result<(), Fault> {
        let row = |(key, turn): (String, String)| -> Parameters {
            HashMap::from([("key", key.into()), ("turn", turn.into())])
        };
        let statement =
            "UNWIND $rows AS row MATCH (w:WikiWaiting {key: row.key}) WHERE w.turn = row.turn DELETE w";
        self.run_write(cypher(statement).with_rows("rows", done.into_iter().map(row).collect())).await
    }

    /// Queues all pages with their texts.
    pub(crate) async fn requeue_all_texts(self: &Arc<Self>) -> Result<(), Fault> {
        let statement =
            "MATCH (p:WikiPage) MERGE (w:WikiWaiting {key: p.key}) SET w.text = false, w.turn = randomUUID()";
        self.run_write(cypher(statement)).await
    }

    /// Queues all pages that have a vector of this model.
    pub(crate) async fn requeue_all_vectors(self: &Arc<Self>, model: &VectorModel) -> Result<(), Fault> {
        let statement = "MATCH (i:WikiItem {corpus: 'page'})-[:VECTOR]->(v:WikiVector) WHERE v.space = $space
             MERGE (w:WikiWaiting {key: i.key}) ON CREATE SET w.text = true SET w.turn = randomUUID()";
        self.run_write(cypher(statement).with_param("space", space(model))).await
    }

    /// Records the vector space that Weaviate holds.
    pub(crate) async fn set_space(self: &Arc<Self>, space: Option<String>) -> Result<(), Fault> {
        let statement = cypher("MATCH (s:WikiState {name: 'wiki'}) SET s.space = $space");
        self.run_write(statement.with_param("space", space)).await
    }

    async fn run_write(self: &Arc<Self>, statement: CypherStatement) -> Result<(), Fault> {
        self.writes(move |mut transaction| {
            let statement = statement.clone();
            async move {
                transaction.run(statement).await?;
                transaction.commit().await
            }
        })
        .await
    }
}
