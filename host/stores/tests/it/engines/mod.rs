//! The engines under test. A new one is a file here with its [`Fixture`], a line of [`behaviours!`], and below
//! it the tests of what is that engine's alone.

#[cfg(feature = "chroma")]
mod chroma;
#[cfg(all(unix, feature = "postgres"))]
mod postgres;
mod sqlite;
#[cfg(feature = "weaviate-neo4j")]
mod weaviate_neo4j;

use std::{path::PathBuf, sync::Arc};

use gatehouse_core::ports::{Clock, Embedder};
use gatehouse_stores::{ArtifactLimits, ArtifactStore, DocumentLibrary, WikiKnowledge, WikiRoots};

/// With what a graph is opened. A field that is new here is one that every engine has to answer for.
#[derive(Clone)]
pub(crate) struct Setup {
    pub(crate) roots: WikiRoots,
    pub(crate) default_root: Option<PathBuf>,
    pub(crate) embedder: Option<Arc<dyn Embedder>>,
}

impl Setup {
    /// These roots, and nothing else.
    pub(crate) fn of(roots: WikiRoots) -> Self {
        Self { roots, default_root: None, embedder: None }
    }
}

/// A place of one engine where a test keeps a graph; it goes when this is dropped.
pub(crate) trait Fixture: Send + Sync + Sized + 'static {
    /// The engine's name in configuration, faults and index files.
    const NAME: &'static str;

    /// A place that holds nothing and that no other test sees; none, and a loud word about how to get it,
    /// where the service that the engine needs is not here.
    async fn fresh() -> Option<Self>;

    /// The graph in that place, as a new process would open it: with [`clock`](crate::support::clock), and
    /// nothing shared with what was opened before.
    fn open(&self, setup: Setup) -> WikiKnowledge;

    /// What health and faults call the place.
    fn address(&self) -> String;
}

/// A place of an engine that keeps documents too.
pub(crate) trait DocumentFixture: Fixture {
    /// The library in that place, as a new process would open it.
    fn open_documents(&self, embedder: Option<Arc<dyn Embedder>>) -> DocumentLibrary;
}

/// A place of an engine that keeps artifacts too.
pub(crate) trait ArtifactFixture: Fixture {
    /// The store in that place, as a new process would open it.
    fn open_artifacts(
        &self,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> ArtifactStore;
}
