//! Artifacts with vectors in ChromaDB and the rest in SQLite. Each test starts its own server, because vectors of other
//! tests would interfere, and some tests break the server.

mod server;
mod trouble;

use std::sync::Arc;

use gatehouse_core::ports::{ArtifactService as _, Clock, Embedder};
use gatehouse_stores::{ArtifactLimits, ArtifactStore, ChromaConfig, WikiKnowledge};

use self::server::Server;
use super::{Setup, sqlite::Sqlite};
use crate::{
    artifact_behaviours::{
        HOUR, LOCAL, artifact_behaviours, draft, meaning::until_complete, shelf_by_meaning,
    },
    embedder::TestEmbedder,
    engines::{ArtifactFixture, Fixture},
};

struct Chroma {
    files: Sqlite,
    server: Server,
}

impl Fixture for Chroma {
    const NAME: &'static str = "chroma";

    async fn fresh() -> Option<Self> {
        Some(Self { server: Server::start().await?, files: Sqlite::fresh().await? })
    }

    fn open(&self, setup: Setup) -> WikiKnowledge {
        self.files.open(setup)
    }

    fn address(&self) -> String {
        self.server.url()
    }
}

impl ArtifactFixture for Chroma {
    fn open_artifacts(
        &self,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> ArtifactStore {
        let database = self.files.folder().join("state/artifacts.db");
        let mut config = ChromaConfig::parse(&self.server.url()).unwrap();
        config.pauses = Default::default();
        ArtifactStore::sqlite(database, limits, clock, embedder).with_chroma(config)
    }
}

artifact_behaviours!(Chroma);

#[tokio::test]
async fn deleted_artifacts_have_no_vector_after_a_sweep() {
    let Some(place) = Chroma::fresh().await else { return };
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&place, &embedder);
    shelf.put(draft("short", "yeast")).await;
    let deleted = shelf.put(draft("deleted", "bread")).await.id;
    shelf.clock.advance(HOUR);
    let stays = shelf.put(draft("stays", "leaven")).await.id;
    until_complete(&shelf).await;
    assert_eq!(place.server.count().await, 3);
    assert_eq!(shelf.store.delete(&LOCAL, &deleted).await, Ok(true));
    assert_eq!(shelf.store.sweep().await, Ok(0));
    assert_eq!(place.server.count().await, 2);
    shelf.clock.advance(2 * HOUR);
    assert_eq!(shelf.find("leaven").await, std::slice::from_ref(&stays));
    assert_eq!(shelf.store.sweep().await, Ok(1));
    assert_eq!((place.server.count().await, shelf.find("yeast").await), (1, vec![stays]));
}

#[tokio::test]
async fn stores_that_share_it_do_not_see_each_other() {
    let Some(here) = Chroma::fresh().await else { return };
    let there = Chroma { files: Sqlite::fresh().await.unwrap(), server: here.server.shared() };
    let embedder = TestEmbedder::new("test/one", 64);
    let (one, two) = (shelf_by_meaning(&here, &embedder), shelf_by_meaning(&there, &embedder));
    let id = one.put(draft("one", "yeast")).await.id;
    two.put(draft("two", "trains")).await;
    until_complete(&one).await;
    until_complete(&two).await;
    assert_eq!((one.find("leaven").await, two.find("leaven").await), (vec![id], vec![]));
    assert_eq!((one.store.sweep().await, two.store.sweep().await), (Ok(0), Ok(0)));
    assert_eq!(here.server.count().await, 2);
}
