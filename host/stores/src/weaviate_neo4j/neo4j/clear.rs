//! Clearing the graph before a batch is stored, and what is looked at for it.

use super::{Transaction, Trouble, cypher, rows};
use crate::engine::{Batch, Clear, Head, would_lose};

impl Transaction {
    /// Removes what goes before this batch; gives how many pages that were.
    pub(super) async fn clear_for(&mut self, batch: &Batch) -> Result<u32, Trouble> {
        if batch.clear == Clear::No {
            return Ok(0);
        }
        if batch.clear == Clear::Filed {
            let heads = self.heads().await?.into_iter();
            let lost = heads.filter(|page| page.is_in_store_alone(batch.folder.as_ref()));
            let lost: Vec<String> = lost.map(|page| page.id).collect();
            if !lost.is_empty() {
                return Err(would_lose(&lost).into());
            }
        }
        self.clear().await
    }

    /// Every page, by id.
    pub(super) async fn heads(&mut self) -> Result<Vec<Head>, Trouble> {
        let statement = cypher(
            "MATCH (p:WikiPage) RETURN p.id AS id, p.title AS title, p.hash AS hash, p.root AS root, p.file AS file",
        );
        let rows = self.rows(statement).await?;
        let mut heads = rows.iter().map(rows::head).collect::<Result<Vec<_>, Trouble>>()?;
        heads.sort_by(|a, b| a.id.cmp(&b.id));
        Ok(heads)
    }

    async fn clear(&mut self) -> Result<u32, Trouble> {
        let rows = self.rows(cypher("MATCH (p:WikiPage) RETURN p.key AS key")).await?;
        let keys = rows.iter().map(|row| row.get("key")).collect::<Result<Vec<String>, _>>()?;
        let removed = u32::try_from(keys.len()).unwrap_or(u32::MAX);
        self.remove(keys).await?;
        Ok(removed)
    }
}
