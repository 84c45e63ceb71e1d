//! What Weaviate has not seen yet, and how far a rebuild is: written down here, where the pages are, since
//! Weaviate's part can always be made again from them.
//!
//! A page that is stored or removed stands in the queue from the same transaction on. It leaves the queue when
//! Weaviate has it, if it is still the one that Weaviate has.

use std::{collections::HashMap, sync::Arc, time::Duration};

use gatehouse_core::Fault;
use neo4rs::Row;

use super::{
    Neo4j, Statement, Transaction, Trouble, cypher,
    rows::{self, Parameters, page_columns},
};
use crate::wiki::record::Record;

/// Pages that are taken at once.
const PAGES: i64 = 64;

/// Bytes of text that are taken at once; a page that is larger is taken alone.
const BYTES: i64 = 8 << 20;

/// How far a rebuild for vectors of another kind is. Each step is written down before it begins, so it goes on
/// after a crash.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum Stage {
    /// There is none: the collection holds everything.
    Steady,
    /// The stand-in is being filled with texts; the collection serves.
    Copy,
    /// The stand-in serves; the collection is to be made anew.
    Swap,
    /// The stand-in serves; the collection is being filled with texts and vectors.
    Fill,
}

/// What is written down beside the pages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(in super::super) struct State {
    /// Names this graph, so that the collection of another one is not taken for its own.
    pub(in super::super) graph: String,
    /// What the vectors in the collection are of: model and dimension; none where it has none.
    pub(in super::super) space: Option<String>,
    /// Whether pages were brought without vectors since no model was configured.
    pub(in super::super) bare: bool,
    /// How far a rebuild is.
    pub(in super::super) stage: Stage,
    /// Pages there are.
    pub(in super::super) pages: u32,
    /// Pages that search by words does not see as they are.
    pub(in super::super) waiting: u32,
    /// Those, pages that lack their vector alone, and pages that have yet to come from the stand-in.
    pub(in super::super) queued: u32,
}

/// A page that waits.
#[derive(Debug)]
pub(in super::super) struct Pending {
    pub(in super::super) key: String,
    /// As it was when this was read; none where the page is gone.
    pub(in super::super) hash: Option<String>,
    /// The page; none where it is gone.
    pub(in super::super) page: Option<Record>,
}

impl Stage {
    fn of(text: Option<&str>) -> Self {
        match text {
            Some("copy") => Self::Copy,
            Some("swap") => Self::Swap,
            Some("fill") => Self::Fill,
            _ => Self::Steady,
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Steady => "steady",
            Self::Copy => "copy",
            Self::Swap => "swap",
            Self::Fill => "fill",
        }
    }
}

impl Neo4j {
    /// The state; none where nothing has been stored yet.
    pub(in super::super) async fn state(self: &Arc<Self>) -> Result<Option<State>, Fault> {
        self.reading(|mut transaction| async move {
            let statement = cypher(
                "MATCH (s:WikiState {name: 'wiki'}) OPTIONAL MATCH (w:WikiWaiting)
                 RETURN s.graph AS graph, s.space AS space, coalesce(s.bare, false) AS bare, s.stage AS stage,
                     count(CASE WHEN w.text OR w.seen THEN null ELSE w.key END) AS waiting,
                     count(w.key) AS queued",
            );
            let rows = transaction.rows(statement).await?;
            let pages = transaction.count(cypher("MATCH (p:WikiPage) RETURN count(p) AS n")).await?;
            transaction.rollback().await;
            let state = |row: &Row| {
                Ok::<_, Trouble>(State {
                    graph: row.get("graph")?,
                    space: row.get("space")?,
                    bare: row.get("bare")?,
                    stage: Stage::of(row.get::<Option<String>>("stage")?.as_deref()),
                    pages,
                    waiting: row.get("waiting")?,
                    queued: row.get("queued")?,
                })
            };
            rows.first().map(state).transpose()
        })
        .await
    }

    /// Claims the right to bring pages to Weaviate, or keeps it; false where another host has it. One at a time:
    /// of two that bring a page, the slower one would leave the older text.
    pub(in super::super) async fn claim(
        self: &Arc<Self>,
        holder: &str,
        lease: Duration,
    ) -> Result<bool, Fault> {
        let holder = holder.to_owned();
        let lease = i64::try_from(lease.as_millis()).unwrap_or(i64::MAX);
        self.writes(move |mut transaction| {
            let holder = holder.clone();
            async move {
                let statement = cypher(
                    "MATCH (s:WikiState {name: 'wiki'})
                     WHERE s.holder IS NULL OR s.holder = $holder OR s.held_until < timestamp()
                     SET s.holder = $holder, s.held_until = timestamp() + $lease RETURN count(*) AS n",
                );
                let claimed =
                    transaction.count(statement.with("holder", holder).with("lease", lease)).await?;
                transaction.commit().await?;
                Ok(claimed > 0)
            }
        })
        .await
    }

    /// Gives the right back.
    pub(in super::super) async fn release(self: &Arc<Self>, holder: &str) -> Result<(), Fault> {
        let holder = holder.to_owned();
        self.write_down(move || {
            cypher("MATCH (s:WikiState {name: 'wiki'}) WHERE s.holder = $holder SET s.holder = null")
                .with("holder", holder.clone())
        })
        .await
    }

    /// The next pages that wait, by key, behind `after`. Without `vectors`, those that lack their vector alone
    /// are passed over.
    pub(in super::super) async fn pending(
        self: &Arc<Self>,
        after: &str,
        vectors: bool,
    ) -> Result<Vec<Pending>, Fault> {
        let after = after.to_owned();
        self.reading(move |mut transaction| async move {
            let statement = cypher(
                "MATCH (w:WikiWaiting) WHERE w.key > $after AND ($vectors OR NOT coalesce(w.text, false))
                 WITH w ORDER BY w.key LIMIT $limit
                 OPTIONAL MATCH (p:WikiPage {key: w.key})
                 RETURN w.key AS key, w.hash AS hash, coalesce(size(p.content), 0) AS size ORDER BY w.key",
            );
            let statement = statement.with("after", after).with("vectors", vectors).with("limit", PAGES);
            let (mut taken, mut bytes) = (Vec::new(), 0_i64);
            for row in transaction.rows(statement).await? {
                bytes += row.get::<i64>("size")?;
                if !taken.is_empty() && bytes > BYTES {
                    break;
                }
                taken.push(Pending { key: row.get("key")?, hash: row.get("hash")?, page: None });
            }
            let keys: Vec<String> = taken.iter().map(|one| one.key.clone()).collect();
            let statement =
                cypher(concat!("MATCH (p:WikiPage) WHERE p.key IN $keys RETURN ", page_columns!()));
            let rows = transaction.rows(statement.with("keys", keys)).await?;
            transaction.rollback().await;
            let pages = rows.iter().map(|row| Ok((row.get("key")?, rows::record(row)?)));
            let mut pages = pages.collect::<Result<HashMap<String, Record>, Trouble>>()?;
            for one in &mut taken {
                one.page = pages.remove(&one.key);
                // What is brought is what was read just now.
                one.hash = one.page.as_ref().map(|page| page.hash.clone());
            }
            Ok(taken)
        })
        .await
    }

    /// Weaviate has these as they were read: (key, hash), no hash for a page that is gone. Those that are others
    /// by now stay.
    pub(in super::super) async fn brought(
        self: &Arc<Self>,
        whole: Vec<(String, Option<String>)>,
        text_only: Vec<(String, Option<String>)>,
    ) -> Result<(), Fault> {
        let rows = |items: &[(String, Option<String>)]| -> Vec<Parameters> {
            items
                .iter()
                .map(|(key, hash)| {
                    HashMap::from([("key", key.clone().into()), ("hash", hash.clone().into())])
                })
                .collect()
        };
        self.writes(move |mut transaction| {
            let (whole, text_only) = (rows(&whole), rows(&text_only));
            async move {
                let same = "UNWIND $rows AS row MATCH (w:WikiWaiting {key: row.key})
                     WHERE w.hash = row.hash OR (w.hash IS NULL AND row.hash IS NULL) DELETE w";
                transaction.run(cypher(same).with_rows("rows", whole)).await?;
                let text = "UNWIND $rows AS row MATCH (w:WikiWaiting {key: row.key})
                     WHERE w.hash = row.hash SET w.text = true";
                transaction.run(cypher(text).with_rows("rows", text_only)).await?;
                transaction.commit().await
            }
        })
        .await
    }

    /// Every page waits again. `seen` says whether search by words sees them all the while.
    pub(in super::super) async fn all_wait(
        self: &Arc<Self>,
        space: Option<String>,
        stage: Stage,
        seen: bool,
    ) -> Result<(), Fault> {
        self.writes(move |mut transaction| {
            let space = space.clone();
            async move {
                let every = "MATCH (p:WikiPage) MERGE (w:WikiWaiting {key: p.key})
                     SET w.seen = coalesce(w.seen, $seen) AND $seen, w.hash = p.hash, w.text = false";
                transaction.run(cypher(every).with("seen", seen)).await?;
                let set = cypher(
                    "MATCH (s:WikiState {name: 'wiki'}) SET s.space = $space, s.stage = $stage, s.bare = false",
                );
                transaction.run(set.with("space", space).with("stage", stage.name())).await?;
                transaction.commit().await
            }
        })
        .await
    }

    /// The next stage of a rebuild, if nothing waits; false where something does.
    pub(in super::super) async fn advance(self: &Arc<Self>, stage: Stage) -> Result<bool, Fault> {
        self.writes(move |mut transaction| async move {
            transaction.lock().await?;
            let waiting = transaction
                .count(cypher("MATCH (w:WikiWaiting) WHERE NOT coalesce(w.text, false) RETURN count(w) AS n"))
                .await?;
            if waiting > 0 {
                transaction.rollback().await;
                return Ok(false);
            }
            transaction.set_stage(stage).await?;
            transaction.commit().await?;
            Ok(true)
        })
        .await
    }

    /// The stage of a rebuild, whatever waits.
    pub(in super::super) async fn set_stage(self: &Arc<Self>, stage: Stage) -> Result<(), Fault> {
        self.writes(move |mut transaction| async move {
            transaction.set_stage(stage).await?;
            transaction.commit().await
        })
        .await
    }

    /// Pages were brought without vectors, since no model was configured.
    pub(in super::super) async fn set_bare(self: &Arc<Self>) -> Result<(), Fault> {
        self.write_down(|| cypher("MATCH (s:WikiState {name: 'wiki'}) SET s.bare = true")).await
    }

    /// Runs one statement that writes.
    async fn write_down(
        self: &Arc<Self>,
        statement: impl Fn() -> Statement + Send + 'static,
    ) -> Result<(), Fault> {
        self.writes(move |mut transaction| {
            let statement = statement();
            async move {
                transaction.run(statement).await?;
                transaction.commit().await
            }
        })
        .await
    }
}

impl Transaction {
    async fn set_stage(&mut self, stage: Stage) -> Result<(), Trouble> {
        let set = cypher("MATCH (s:WikiState {name: 'wiki'}) SET s.stage = $stage");
        self.run(set.with("stage", stage.name())).await
    }
}
