//! What Weaviate has not seen yet: written down here, where the pages are, since Weaviate's part can always be made
//! again from them.
//!
//! A page that is stored, removed or gets its vector waits from the same transaction on. It waits no more when
//! Weaviate has it, if it is still the one that Weaviate has.

use std::{collections::HashMap, sync::Arc, time::Duration};

use gatehouse_core::Fault;
use neo4rs::Row;

use super::{
    super::space,
    CypherStatement, Neo4jClient, Neo4jError, cypher,
    rows::{self, Parameters, page_columns},
};
use crate::{embedding::VectorModel, wiki::record::PageRecord};

/// Pages that are taken at once.
const MAX_BATCH_PAGES: i64 = 64;

/// Bytes of text that are taken at once; a page that is larger is taken alone.
const MAX_BATCH_BYTES: i64 = 8 << 20;

/// What is written down beside the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    /// Names this graph, so that the collection of another one is not taken for its own.
    pub(crate) graph: String,
    /// The kind of vectors that Weaviate has; none where it has none.
    pub(crate) space: Option<String>,
    /// Pages there are.
    pub(crate) pages: u32,
    /// Pages that search by words does not see as they are.
    pub(crate) waiting: u32,
    /// Those, and pages whose vector alone has to be brought.
    pub(crate) queued: u32,
}

/// A page that waits.
#[derive(Debug)]
pub(crate) struct PendingPage {
    pub(crate) key: String,
    /// Another one each time that it comes to wait.
    pub(crate) turn: String,
    /// Whether its vector alone has to be brought.
    pub(crate) text_is_there: bool,
    /// The page; none where it is gone.
    pub(crate) page: Option<PageRecord>,
    /// Its vector, where it has one.
    pub(crate) vector: Option<Vec<f32>>,
}

impl Neo4jClient {
    /// The state; none where nothing has been stored yet.
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

    /// Takes the right to bring pages to Weaviate, or keeps it; false where another host has it. One at a time:
    /// of two that bring a page, the slower one would leave the older text.
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
                let taken = transaction.count(statement).await?;
                transaction.commit().await?;
                Ok(taken > 0)
            }
        })
        .await
    }

    /// Gives the right back.
    pub(crate) async fn release(self: &Arc<Self>, holder: &str) -> Result<(), Fault> {
        let statement = "MATCH (s:WikiState {name: 'wiki'}) WHERE s.holder = $holder SET s.holder = null";
        self.run_write(cypher(statement).with_param("holder", holder)).await
    }

    /// The next pages that wait, by key, behind `after`, with their vectors of this model.
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
            let (mut taken, mut bytes) = (Vec::new(), 0_i64);
            for row in transaction
                .rows(statement.with_param("after", after).with_param("limit", MAX_BATCH_PAGES))
                .await?
            {
                bytes += row.get::<i64>("size")?;
                if !taken.is_empty() && bytes > MAX_BATCH_BYTES {
                    break;
                }
                let (key, turn, text_is_there) = (row.get("key")?, row.get("turn")?, row.get("text")?);
                taken.push(PendingPage { key, turn, text_is_there, page: None, vector: None });
            }
            let keys: Vec<String> = taken.iter().map(|one| one.key.clone()).collect();
            let statement =
                cypher(concat!("MATCH (p:WikiPage) WHERE p.key IN $keys RETURN ", page_columns!()));
            let rows = transaction.rows(statement.with_param("keys", keys.clone())).await?;
            let mut vectors = match space {
                Some(space) => transaction.vectors(&space, keys).await?,
                None => HashMap::new(),
            };
            transaction.rollback().await;
            let pages = rows.iter().map(|row| Ok((row.get("key")?, rows::record(row)?)));
            let mut pages = pages.collect::<Result<HashMap<String, PageRecord>, Neo4jError>>()?;
            for one in &mut taken {
                (one.page, one.vector) = (pages.remove(&one.key), vectors.remove(&one.key));
            }
            Ok(taken)
        })
        .await
    }

    /// Weaviate has these as they were read: (key, turn). Those that came to wait again stay.
    pub(crate) async fn mark_delivered(self: &Arc<Self>, done: Vec<(String, String)>) -> Result<(), Fault> {
        let row = |(key, turn): (String, String)| -> Parameters {
            HashMap::from([("key", key.into()), ("turn", turn.into())])
        };
        let statement =
            "UNWIND $rows AS row MATCH (w:WikiWaiting {key: row.key}) WHERE w.turn = row.turn DELETE w";
        self.run_write(cypher(statement).with_rows("rows", done.into_iter().map(row).collect())).await
    }

    /// Every page waits again, with its text.
    pub(crate) async fn requeue_all_texts(self: &Arc<Self>) -> Result<(), Fault> {
        let statement =
            "MATCH (p:WikiPage) MERGE (w:WikiWaiting {key: p.key}) SET w.text = false, w.turn = randomUUID()";
        self.run_write(cypher(statement)).await
    }

    /// Every page that has a vector of this model waits again, with that.
    pub(crate) async fn requeue_all_vectors(self: &Arc<Self>, model: &VectorModel) -> Result<(), Fault> {
        let statement = "MATCH (i:WikiItem {corpus: 'page'})-[:VECTOR]->(v:WikiVector) WHERE v.space = $space
             MERGE (w:WikiWaiting {key: i.key}) ON CREATE SET w.text = true SET w.turn = randomUUID()";
        self.run_write(cypher(statement).with_param("space", space(model))).await
    }

    /// Writes down which kind of vectors Weaviate has.
    pub(crate) async fn set_space(self: &Arc<Self>, space: Option<String>) -> Result<(), Fault> {
        let statement = cypher("MATCH (s:WikiState {name: 'wiki'}) SET s.space = $space");
        self.run_write(statement.with_param("space", space)).await
    }

    /// Runs one statement that writes.
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
