//! Tool catalog on SQLite. It has its own file, because it can be requested again and must never delay permanent data.

use std::sync::Arc;

use gatehouse_core::{
    Fault, SourceId, ToolSpec,
    ports::tool_index::{DeclaredEffect, KnownListing, PendingChange},
};

use rusqlite::Connection;

pub(crate) use super::current::SqliteTools;
use super::{current::ToolDatabase, read, write};
use crate::{engine::QueryVector, sql::Result as StoreResult};

/// A tool with its row number. `quarantined` is true if it is quarantined.
pub(crate) struct StoredTool {
    pub(crate) number: i64,
    pub(crate) spec: Arc<ToolSpec>,
    pub(crate) quarantined: bool,
}

pub(crate) struct StoredServer {
    pub(crate) server: SourceId,
    pub(crate) tools: Vec<StoredTool>,
}

impl SqliteTools {
    /// Approves a change. Refuses if the approval would apply to this process only.
    pub(crate) async fn approve(&self, server: &str, label: &str, digest: &str) -> Result<bool, Fault> {
        let [server, label, digest] = [server, label, digest].map(str::to_owned);
        self.decide(move |db| write::approve(db, &server, &label, &digest)).await
    }

    /// Declares effects of tools. Refuses if they would apply to this process only.
    pub(crate) async fn declare_effects(
        &self,
        server: &str,
        declared: Vec<DeclaredEffect>,
    ) -> Result<bool, Fault> {
        let server = server.to_owned();
        self.decide(move |db| write::declare_effects(db, &server, &declared)).await
    }

    pub(crate) async fn drop_declared_effects(&self, server: &str) -> Result<(), Fault> {
        let server = server.to_owned();
        self.write(move |db| write::drop_declared_effects(db, &server)).await
    }

    async fn decide(
        &self,
        decision: impl FnOnce(&Connection) -> StoreResult<bool> + Clone + Send + 'static,
    ) -> Result<bool, Fault> {
        // Test whether the file is writable.
        self.write(|db| write::changed(db)).await?;
        self.check_writable()?;
        let decided = self.write(move |db| decision(db)).await?;
        self.check_writable()?;
        Ok(decided)
    }

    /// Refuses if the database is in memory.
    fn check_writable(&self) -> Result<(), Fault> {
        let Some(reason) = self.reason() else { return Ok(()) };
        Err(Fault::unavailable(format!("cannot store the approval: {reason}"))
            .hint("Make the file usable and approve again."))
    }

    pub(crate) async fn known_listing(&self, server: &str) -> Result<Option<KnownListing>, Fault> {
        let server = server.to_owned();
        self.read(move |db, _| read::known_listing(db, &server)).await
    }

    pub(crate) async fn connection_start(&self, server: &str) -> Result<Option<String>, Fault> {
        let server = server.to_owned();
        self.read(move |db, _| read::connection_start(db, &server)).await
    }

    pub(crate) async fn set_connection_start(
        &self,
        server: &str,
        start: Option<String>,
    ) -> Result<(), Fault> {
        let server = server.to_owned();
        self.write(move |db| write::set_connection_start(db, &server, start.as_deref())).await
    }

    pub(crate) async fn pending_changes(&self) -> Result<Vec<PendingChange>, Fault> {
        self.read(|db, _| read::pending_changes(db)).await
    }

    /// Returns a number that increases with every change.
    pub(crate) async fn generation(&self) -> Result<i64, Fault> {
        self.read(|db, opened| Ok(opened.generation(read::generation(db)?))).await
    }

    pub(crate) async fn all(&self) -> Result<(i64, Vec<StoredServer>), Fault> {
        let work =
            |db: &_, opened: &ToolDatabase| Ok((opened.generation(read::generation(db)?), read::all(db)?));
        self.read(work).await
    }

    /// Returns the similarity of each tool to a vector by number, and the number of tools without a vector.
    pub(crate) async fn cosines(&self, vector: QueryVector) -> Result<(Vec<(i64, f32)>, usize), Fault> {
        let work = move |db: &_, opened: &ToolDatabase| {
            let total = read::count(db)?;
            let Some(cached) = opened.cache.load(db, &vector)? else {
                return Ok((Vec::new(), total));
            };
            Ok((cached.cosines(&vector.values), total.saturating_sub(cached.items())))
        };
        self.read(work).await
    }

    pub(crate) async fn specs(&self, keys: &[String]) -> Result<Vec<Option<ToolSpec>>, Fault> {
        let keys = keys.to_vec();
        self.read(move |db, _| keys.iter().map(|key| read::spec(db, key)).collect()).await
    }
}
