//! Writes pages. Everything of one call is one transaction; what Weaviate has to see afterwards is written down
//! in the same one, so neither a crash nor a failure between the two servers is forgotten.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap, HashSet},
    sync::Arc,
};

use gatehouse_core::{
    Fault,
    page::{IndexReport, Unresolved},
};
use neo4rs::BoltType;

use super::{Neo4j, Transaction, Trouble, cypher, rows};
use crate::{
    engine::{Batch, Replacement, Takeover, WholeFolder},
    wiki::{
        file::FileSwap,
        record::{Origin, Record},
    },
};

impl Neo4j {
    /// Stores a batch of pages, and removes the pages of its folder that are no longer there.
    pub(in super::super) async fn sync(self: &Arc<Self>, batch: Batch) -> Result<IndexReport, Fault> {
        // Made what its files are now each time that the transaction is made.
        let batch = Arc::new(tokio::sync::Mutex::new(batch));
        self.writes(move |mut transaction| {
            let batch = Arc::clone(&batch);
            async move {
                transaction.lock().await?;
                let mut batch = batch.lock_owned().await;
                let looked = tokio::task::spawn_blocking(move || batch.refresh().map(|()| batch)).await;
                let batch = looked
                    .unwrap_or_else(|_| Err(Fault::internal("reading the wiki ended without an answer")))?;
                let report = transaction.sync(&batch).await?;
                transaction.commit().await?;
                Ok(report)
            }
        })
        .await
    }

    /// Puts a page in the place of another, if that one is still what the caller has seen; then makes the change
    /// of the file, last, so that it is not made where the rest fails.
    pub(in super::super) async fn replace(
        self: &Arc<Self>,
        change: Replacement,
    ) -> Result<Vec<Unresolved>, Fault> {
        let change = Arc::new(change);
        let me = Arc::clone(self);
        self.writes(move |mut transaction| {
            let (change, me) = (Arc::clone(&change), Arc::clone(&me));
            async move {
                let unresolved = transaction.replace(&change).await?;
                let Some(file) = &change.file else {
                    transaction.commit().await?;
                    return Ok(unresolved);
                };
                on_disk(&change, FileSwap::apply).await??;
                match transaction.commit().await {
                    Ok(()) => Ok(unresolved),
                    // The answer may have been lost on its way rather than the commit.
                    Err(_) if me.record(&change.after.id).await.is_ok_and(|now| now.as_ref() == Some(&change.after)) => {
                        Ok(unresolved)
                    }
                    Err(trouble) => {
                        tracing::debug!(file = %file.path.display(), "an edit is taken back, as it was not stored");
                        on_disk(&change, FileSwap::revert).await?;
                        Err(trouble)
                    }
                }
            }
        })
        .await
    }
}

/// Does something with the file of a change where it may block.
async fn on_disk<T: Send + 'static>(
    change: &Arc<Replacement>,
    work: impl FnOnce(&FileSwap) -> T + Send + 'static,
) -> Result<T, Trouble> {
    let change = Arc::clone(change);
    let done = tokio::task::spawn_blocking(move || change.file.as_ref().map(work)).await;
    done.ok()
        .flatten()
        .ok_or_else(|| Trouble::Fault(Fault::internal("changing a wiki file ended without an answer")))
}

impl Transaction {
    /// Runs under the lock.
    async fn sync(&mut self, batch: &Batch) -> Result<IndexReport, Trouble> {
        let (mut report, mut takeover) = (IndexReport::default(), Takeover::default());
        report.removed += self.clear_for(batch).await?;
        let mut stored = self.stored(batch).await?;
        let mut changed: BTreeMap<String, &Record> = BTreeMap::new();
        let mut added = Vec::new();
        for record in &batch.records {
            report.links += u32::try_from(record.links.len()).unwrap_or(u32::MAX);
            let key = rows::key(&record.id);
            let now = (record.hash.clone(), record.origin.clone());
            match stored.insert(key.clone(), now.clone()) {
                Some(before) if before == now => report.unchanged += 1,
                before => {
                    match before {
                        None => {
                            report.added += 1;
                            added.push(key.clone());
                        }
                        Some((_, origin)) => {
                            report.updated += 1;
                            takeover.note(origin.as_ref(), record);
                        }
                    }
                    changed.insert(key, record);
                }
            }
        }
        self.put(changed.into_values().collect(), added).await?;
        if let Some(folder) = &batch.folder {
            report.removed += self.remove_vanished(folder, &batch.records).await?;
        }
        let keys: BTreeSet<String> = batch.records.iter().map(|record| rows::key(&record.id)).collect();
        report.unresolved_links = self.unresolved(keys.into_iter().collect()).await?;
        report.taken_over = takeover.told();
        Ok(report)
    }

    async fn replace(&mut self, change: &Replacement) -> Result<Vec<Unresolved>, Trouble> {
        let meanwhile = || {
            Fault::invalid(format!("page '{}' has changed meanwhile", change.after.id))
                .hint("Read it again with get_wiki_page, then repeat the edit; nothing was changed.")
        };
        self.lock().await?;
        let key = rows::key(&change.after.id);
        let now = self.record(key.clone()).await?.ok_or_else(meanwhile)?;
        if now != change.before {
            return Err(meanwhile().into());
        }
        if now != change.after {
            self.put(vec![&change.after], Vec::new()).await?;
        }
        self.unresolved(vec![key]).await
    }

    /// Takes the lock that writers share: they come one after the other, whichever host they run in.
    pub(super) async fn lock(&mut self) -> Result<(), Trouble> {
        self.run(cypher("MATCH (s:WikiState {name: 'wiki'}) SET s.writes = coalesce(s.writes, 0) + 1")).await
    }

    /// Hash and origin of the stored pages of a batch.
    async fn stored(&mut self, batch: &Batch) -> Result<HashMap<String, (String, Option<Origin>)>, Trouble> {
        let keys: Vec<String> = batch.records.iter().map(|record| rows::key(&record.id)).collect();
        let statement = cypher(
            "MATCH (p:WikiPage) WHERE p.key IN $keys
             RETURN p.key AS key, p.hash AS hash, p.root AS root, p.file AS file",
        );
        let mut stored = HashMap::new();
        for row in self.rows(statement.with("keys", keys)).await? {
            let (root, file): (Option<String>, Option<String>) = (row.get("root")?, row.get("file")?);
            let origin = root.zip(file).map(|(root, file)| Origin { root, file });
            stored.insert(row.get("key")?, (row.get("hash")?, origin));
        }
        Ok(stored)
    }

    /// Writes pages with their links and domains. Those in `added` were not there before: links that waited for
    /// them find them.
    async fn put(&mut self, records: Vec<&Record>, added: Vec<String>) -> Result<(), Trouble> {
        if records.is_empty() {
            return Ok(());
        }
        let keys: Vec<String> = records.iter().map(|record| rows::key(&record.id)).collect();
        let mut pages = Vec::with_capacity(records.len());
        for record in &records {
            let set = BoltType::from(rows::properties(record)?);
            let row = HashMap::from([("key", rows::key(&record.id).into()), ("set", set)]);
            pages.push((record.content.len() + record.overview.len(), row));
        }
        self.in_parts(pages, || {
            cypher("UNWIND $rows AS row MERGE (p:WikiPage {key: row.key}) SET p = row.set")
        })
        .await?;
        for statement in [
            "MATCH (p:WikiPage)-[l:LINKS]->() WHERE p.key IN $keys DELETE l",
            "MATCH (p:WikiPage)-[i:IN_DOMAIN]->() WHERE p.key IN $keys DELETE i",
        ] {
            self.run(cypher(statement).with("keys", keys.clone())).await?;
        }
        self.adopt(added).await?;
        self.link(&records).await?;
        let domains = records.iter().flat_map(|record| rows::domains(record)).map(|row| (0, row)).collect();
        self.in_parts(domains, || {
            cypher(
                "UNWIND $rows AS row MATCH (p:WikiPage {key: row.page})
                 MERGE (d:WikiDomain {key: row.domain}) CREATE (p)-[:IN_DOMAIN]->(d)",
            )
        })
        .await?;
        self.sweep().await?;
        let waiting = records.iter().map(|record| {
            (0, HashMap::from([("key", rows::key(&record.id).into()), ("hash", record.hash.clone().into())]))
        });
        self.in_parts(waiting.collect(), || {
            cypher("UNWIND $rows AS row MERGE (w:WikiWaiting {key: row.key}) SET w.hash = row.hash, w.text = false, w.seen = false")
        })
        .await
    }

    /// Links pages as they declare it: to the target where it exists, else to what stands for it.
    async fn link(&mut self, records: &[&Record]) -> Result<(), Trouble> {
        let links: Vec<_> = records.iter().flat_map(|record| rows::links(record)).collect();
        let targets: BTreeSet<String> =
            records.iter().flat_map(|record| &record.links).map(|link| rows::key(&link.target)).collect();
        let targets: Vec<String> = targets.into_iter().collect();
        let statement = cypher("MATCH (t:WikiPage) WHERE t.key IN $keys RETURN t.key AS key");
        let found = self.rows(statement.with("keys", targets)).await?;
        let found: HashSet<String> = found.iter().map(|row| row.get("key")).collect::<Result<_, _>>()?;
        let is_there = |row: &rows::Parameters| match row.get("target") {
            Some(BoltType::String(target)) => found.contains(target.value.as_str()),
            _ => false,
        };
        let (there, missing): (Vec<_>, Vec<_>) = links.into_iter().partition(is_there);
        self.in_parts(there.into_iter().map(|row| (0, row)).collect(), || {
            cypher(
                "UNWIND $rows AS row MATCH (p:WikiPage {key: row.page}) MATCH (t:WikiPage {key: row.target})
                 CREATE (p)-[l:LINKS]->(t) SET l = row.set",
            )
        })
        .await?;
        self.in_parts(missing.into_iter().map(|row| (0, row)).collect(), || {
            cypher(
                "UNWIND $rows AS row MATCH (p:WikiPage {key: row.page}) MERGE (t:WikiMissing {key: row.target})
                 CREATE (p)-[l:LINKS]->(t) SET l = row.set",
            )
        })
        .await
    }

    /// Turns links that waited for these pages to them.
    async fn adopt(&mut self, added: Vec<String>) -> Result<(), Trouble> {
        if added.is_empty() {
            return Ok(());
        }
        let statement = cypher(
            "MATCH (m:WikiMissing)<-[l:LINKS]-(p:WikiPage) WHERE m.key IN $keys
             MATCH (n:WikiPage {key: m.key}) CREATE (p)-[k:LINKS]->(n) SET k = properties(l) DELETE l",
        );
        self.run(statement.with("keys", added)).await
    }

    /// Removes these pages; links to them wait for their return.
    pub(super) async fn remove(&mut self, keys: Vec<String>) -> Result<(), Trouble> {
        if keys.is_empty() {
            return Ok(());
        }
        for statement in [
            "MATCH (p:WikiPage)<-[l:LINKS]-(o:WikiPage) WHERE p.key IN $keys AND NOT o.key IN $keys
             MERGE (m:WikiMissing {key: p.key}) CREATE (o)-[k:LINKS]->(m) SET k = properties(l) DELETE l",
            "MATCH (p:WikiPage) WHERE p.key IN $keys DETACH DELETE p",
            "MATCH (v:WikiVector) WHERE v.page IN $keys DELETE v",
            "UNWIND $keys AS key MERGE (w:WikiWaiting {key: key}) SET w.hash = null, w.text = false, w.seen = false",
        ] {
            self.run(cypher(statement).with("keys", keys.clone())).await?;
        }
        self.sweep().await
    }

    async fn remove_vanished(&mut self, folder: &WholeFolder, records: &[Record]) -> Result<u32, Trouble> {
        let files =
            records.iter().filter_map(|record| record.origin.as_ref()).map(|origin| origin.file.as_str());
        let present: HashSet<&str> = files.chain(folder.unreadable.iter().map(String::as_str)).collect();
        let statement = cypher("MATCH (p:WikiPage {root: $root}) RETURN p.key AS key, p.file AS file");
        let mut gone = Vec::new();
        for row in self.rows(statement.with("root", folder.root.clone())).await? {
            let file: String = row.get("file")?;
            if !present.contains(file.as_str()) {
                gone.push(row.get("key")?);
            }
        }
        let removed = u32::try_from(gone.len()).unwrap_or(u32::MAX);
        self.remove(gone).await?;
        Ok(removed)
    }

    /// Removes what stands for missing pages and domains that nothing points to any more.
    async fn sweep(&mut self) -> Result<(), Trouble> {
        self.run(cypher("MATCH (m:WikiMissing) WHERE NOT EXISTS { MATCH (m)<-[:LINKS]-() } DELETE m"))
            .await?;
        self.run(cypher("MATCH (d:WikiDomain) WHERE NOT EXISTS { MATCH (d)<-[:IN_DOMAIN]-() } DELETE d"))
            .await
    }
}
