//! Engines under test. A new engine needs a file here with its [`Fixture`], a call of [`behaviours!`], and its own
//! tests.

#[cfg(feature = "chroma")]
mod chroma;
#[cfg(all(unix, feature = "postgres"))]
mod postgres;
mod sqlite;
#[cfg(feature = "weaviate-neo4j")]
mod weaviate_neo4j;

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::ports::{Clock, Embedder};
use gatehouse_stores::{
    ArtifactLimits, ArtifactStore, AuditTables, DocumentLibrary, KeyTables, KvTables, LedgerTables,
    ToolCatalogStore, WikiKnowledge, WikiRoots,
};

/// Parameters to open a graph. Every engine must handle each field.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) roots: WikiRoots,
    pub(crate) default_root: Option<PathBuf>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
}

impl Setup {
    pub(crate) fn of(roots: WikiRoots) -> Self {
        Self { roots, default_root: None, embedder: None }
    }
}

/// Isolated storage of one engine for a test. Deleted on drop.
pub(crate) trait Fixture: Send + Sync + Sized + 'static {
    const NAME: &'static str;

    /// Creates empty storage. If the engine's service is missing, prints how to get it and returns `None`.
    async fn fresh() -> Option<Self>;

    /// Opens the graph like a new process, with [`clock`](crate::support::clock).
    fn open(&self, setup: Setup) -> WikiKnowledge;

    fn address(&self) -> String;
}

pub(crate) trait DocumentFixture: Fixture {
    /// Opens the library like a new process.
    fn open_documents(&self, embedder: Option<Arc<dyn Embedder>>) -> DocumentLibrary;
}

pub(crate) trait ArtifactFixture: Fixture {
    /// Opens the store like a new process.
    fn open_artifacts(
        &self,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> ArtifactStore;
}

pub(crate) trait KvFixture: Fixture {
    /// Opens the store like a new process.
    fn open_kv(&self, clock: Arc<dyn Clock>) -> KvTables;

    /// Stores this many small values of the gate `a`, without the store.
    async fn fill_kv(&self, keys: u64);
}

pub(crate) trait KeyFixture: Fixture {
    /// Opens the store like a new process.
    fn open_keys(&self) -> KeyTables;
}

pub(crate) trait ToolFixture: Fixture {
    /// Opens the catalog like a new process.
    fn open_tools(&self, clock: Arc<dyn Clock>, embedder: Option<Arc<dyn Embedder>>) -> ToolCatalogStore;
}

pub(crate) trait AuditFixture: Fixture {
    /// Opens the audit like a new process. Entries are deleted after ten days.
    fn open_audit(&self, clock: Arc<dyn Clock>) -> AuditTables;

    /// Removes the triggers that refuse changes, as somebody with access to the database can.
    async fn unprotect_audit(&self);

    /// Runs statements without the audit.
    async fn change_audit(&self, sql: &str) -> Result<(), String>;
}

pub(crate) trait LedgerFixture: Fixture {
    /// Opens the ledger like a new process. Single calls are deleted after a week.
    fn open_ledger(&self, clock: Arc<dyn Clock>) -> LedgerTables;

    /// Returns the number of rows of a table, named without `ledger_`.
    async fn ledger_rows(&self, table: &str) -> i64;
}
