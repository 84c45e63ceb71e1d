//! Writes pages. One transaction contains all changes of a call .

use std::{
    collections::{BTreeSet, HashSet},
    sync::Arc,
};

use gatehouse_core::Fault;
use neo4rs::BoltType;

use super::{Neo4jClient, Neo4jError, Neo4jTransaction, cypher, rows, transaction::unweighted_rows};
use crate::{
    engine::{PageWrites, WriteOutcome, WritePlan},
    weaviate_neo4j::tokenizer::Tokenizer,
    wiki::record::PageRecord,
    worker::{run_blocking, run_detached},
};

impl Neo4jClient {
    /// Applies a plan if it is still valid; returns a conflict otherwise. Also returns the keys of removed pages.
    pub(crate) async fn apply(
        self: &Arc<Self>,
        plan: Arc<dyn WritePlan>,
    ) -> Result<(WriteOutcome, Vec<String>), Fault> {
        let me = Arc::clone(self);
        run_detached(async move {
            me.prepare().await?;
            let _one = me.writing.lock().await;
            let mut transaction = me.begin().await?;
            let removed = match transaction.apply(&plan).await {
                Ok(Some(removed)) => removed,
                Ok(None) => {
                    transaction.rollback().await;
                    return Ok((WriteOutcome::Conflict, Vec::new()));
                }
                Err(error) if error.is_conflict() => return Ok((WriteOutcome::Conflict, Vec::new())),
                Err(error) => return Err(me.fault(error)),
            };
            match transaction.commit().await {
                Ok(()) => Ok((WriteOutcome::Done, removed)),
                Err(error) if error.is_conflict() => Ok((WriteOutcome::Conflict, Vec::new())),
                // The commit can have succeeded even if its confirmation was lost.
                Err(error) => Ok((WriteOutcome::Unknown(me.fault(error)), Vec::new())),
            }
        })
        .await
    }
}

impl Neo4jTransaction {
    /// Returns the keys of removed pages. `None` if the plan must not be applied.
    async fn apply(&mut self, plan: &Arc<dyn WritePlan>) -> Result<Option<Vec<String>>, Neo4jError> {
        self.lock().await?;
        let own = Arc::clone(plan);
        let scope = run_blocking(move || own.scope()).await?;
        let heads = self.heads(&scope).await?;
        let existing_keys: HashSet<String> = heads.iter().map(|page| rows::key(&page.id)).collect();
        let own = Arc::clone(plan);
        let writes = run_blocking(move || own.writes(&heads)).await?;
        let Some(PageWrites { remove, put }) = writes else { return Ok(None) };
        let mut removed: Vec<String> = remove.iter().map(|id| rows::key(id)).collect();
        self.remove(removed.clone()).await?;
        let keys: HashSet<String> = put.iter().map(|page| rows::key(&page.id)).collect();
        removed.retain(|key| !keys.contains(key));
        let added = keys.into_iter().filter(|key| !existing_keys.contains(key)).collect();
        self.put(put, added).await?;
        let own = Arc::clone(plan);
        run_blocking(move || own.finish()).await?;
        Ok(Some(removed))
    }

    /// Acquires the lock that serializes writers across hosts.
    pub(super) async fn lock(&mut self) -> Result<(), Neo4jError> {
        self.run(cypher("MATCH (s:WikiState {name: 'wiki'}) SET s.writes = coalesce(s.writes, 0) + 1")).await
    }

    /// Writes pages with their links and domains. `added` contains the keys of new pages, to which waiting links are
    /// redirected.
    async fn put(&mut self, records: Vec<PageRecord>, added: Vec<String>) -> Result<(), Neo4jError> {
        if records.is_empty() {
            return Ok(());
        }
        let keys: Vec<String> = records.iter().map(|record| rows::key(&record.id)).collect();
        let (records, pages) = run_blocking(move || {
            let tokenizer = Tokenizer::new().map_err(Neo4jError::invalid);
            let pages = tokenizer.and_then(|tokenizer| {
                records.iter().map(|record| rows::page(&tokenizer, record)).collect::<Result<Vec<_>, _>>()
            });
            Ok((records, pages))
        })
        .await?;
        // A page keeps its vectors if the text to embed is the same.
        let statement = "UNWIND $rows AS row MERGE (p:WikiPage {key: row.key})
             WITH p, row, CASE WHEN p.version = row.set.version THEN p.models END AS models
             SET p = row.set SET p.models = models";
        self.run_batched(pages?, statement).await?;
        for statement in [
            "MATCH (p:WikiPage)-[l:LINKS]->() WHERE p.key IN $keys DELETE l",
            "MATCH (p:WikiPage)-[i:IN_DOMAIN]->() WHERE p.key IN $keys DELETE i",
        ] {
            self.run(cypher(statement).with_param("keys", keys.clone())).await?;
        }
        self.resolve_waiting_links(added).await?;
        self.link(&records).await?;
        let domains = records.iter().flat_map(|record| rows::domains(record)).collect();
        let statement = "UNWIND $rows AS row MATCH (p:WikiPage {key: row.page})
             MERGE (d:WikiDomain {key: row.domain}) CREATE (p)-[:IN_DOMAIN]->(d)";
        self.run_batched(unweighted_rows(domains), statement).await?;
        self.sweep().await
    }

    /// Creates the declared links. A link to a missing page points to a placeholder node.
    async fn link(&mut self, records: &[PageRecord]) -> Result<(), Neo4jError> {
        let links: Vec<_> = records.iter().flat_map(|record| rows::links(record)).collect();
        let targets: BTreeSet<String> =
            records.iter().flat_map(|record| &record.links).map(|link| rows::key(&link.target)).collect();
        let targets: Vec<String> = targets.into_iter().collect();
        let statement = cypher("MATCH (t:WikiPage) WHERE t.key IN $keys RETURN t.key AS key");
        let target_rows = self.rows(statement.with_param("keys", targets)).await?;
        let existing_targets: HashSet<String> =
            target_rows.iter().map(|row| row.get("key")).collect::<Result<_, _>>()?;
        let is_there = |row: &rows::Parameters| match row.get("target") {
            Some(BoltType::String(target)) => existing_targets.contains(target.value.as_str()),
            _ => false,
        };
        let (resolved_links, missing_links): (Vec<_>, Vec<_>) = links.into_iter().partition(is_there);
        let statement =
            "UNWIND $rows AS row MATCH (p:WikiPage {key: row.page}) MATCH (t:WikiPage {key: row.target})
             CREATE (p)-[l:LINKS]->(t) SET l = row.set";
        self.run_batched(unweighted_rows(resolved_links), statement).await?;
        let statement =
            "UNWIND $rows AS row MATCH (p:WikiPage {key: row.page}) MERGE (t:WikiMissing {key: row.target})
             CREATE (p)-[l:LINKS]->(t) SET l = row.set";
        self.run_batched(unweighted_rows(missing_links), statement).await
    }

    /// Redirects links from placeholder nodes to these new pages.
    async fn resolve_waiting_links(&mut self, added: Vec<String>) -> Result<(), Neo4jError> {
        if added.is_empty() {
            return Ok(());
        }
        let statement = cypher(
            "MATCH (m:WikiMissing)<-[l:LINKS]-(p:WikiPage) WHERE m.key IN $keys
             MATCH (n:WikiPage {key: m.key}) CREATE (p)-[k:LINKS]->(n) SET k = properties(l) DELETE l",
        );
        self.run(statement.with_param("keys", added)).await
    }

    /// Removes pages. Links to them point to placeholder nodes from then on.
    pub(super) async fn remove(&mut self, keys: Vec<String>) -> Result<(), Neo4jError> {
        if keys.is_empty() {
            return Ok(());
        }
        for statement in [
            "MATCH (p:WikiPage)<-[l:LINKS]-(o:WikiPage) WHERE p.key IN $keys AND NOT o.key IN $keys
             MERGE (m:WikiMissing {key: p.key}) CREATE (o)-[k:LINKS]->(m) SET k = properties(l) DELETE l",
            "MATCH (p:WikiPage) WHERE p.key IN $keys DETACH DELETE p",
        ] {
            self.run(cypher(statement).with_param("keys", keys.clone())).await?;
        }
        self.sweep().await
    }

    /// Removes placeholder nodes and domains without incoming links.
    async fn sweep(&mut self) -> Result<(), Neo4jError> {
        self.run(cypher("MATCH (m:WikiMissing) WHERE NOT EXISTS { MATCH (m)<-[:LINKS]-() } DELETE m"))
            .await?;
        self.run(cypher("MATCH (d:WikiDomain) WHERE NOT EXISTS { MATCH (d)<-[:IN_DOMAIN]-() } DELETE d"))
            .await
    }
}
