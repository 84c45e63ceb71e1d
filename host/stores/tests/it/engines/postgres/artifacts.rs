//! Artifacts on PostgreSQL.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    outcome::FaultKind,
    ports::{ArtifactService as _, Clock, Embedder, artifacts::ArtifactPart},
};
use gatehouse_stores::{ArtifactLimits, ArtifactStore, PostgresConfig, WikiRoots};

use super::{OTHER_VERSIONS, Postgres, Setup, graph_on, server::Database};
use crate::{
    artifact_behaviours::{
        HOUR, LOCAL, artifact_behaviours, draft, limits, meaning::until_complete, shelf, shelf_by_meaning,
    },
    embedder::TestEmbedder,
    engines::{ArtifactFixture, Fixture},
    support::clock,
};

impl ArtifactFixture for Postgres {
    fn open_artifacts(
        &self,
        limits: ArtifactLimits,
        clock: Arc<dyn Clock>,
        embedder: Option<Arc<dyn Embedder>>,
    ) -> ArtifactStore {
        let server = PostgresConfig::parse(&self.database.url()).unwrap();
        ArtifactStore::postgres(server, limits, clock, embedder)
    }
}

artifact_behaviours!(Postgres);

#[tokio::test]
async fn asking_after_its_health_and_sweeping_make_no_table() {
    let Some(place) = Postgres::fresh().await else { return };
    let shelf = shelf(&place);
    assert_eq!(shelf.store.sweep().await, Ok(0));
    let health = shelf.store.health().await.unwrap();
    assert_eq!((health.engine, health.schema, health.address), ("postgres", None, place.address()));
    let schemas = "SELECT count(*) FROM pg_namespace WHERE nspname = 'gatehouse'";
    assert_eq!(place.database.number(schemas).await, 0);
    shelf.put(draft("x", "")).await;
    assert_eq!(shelf.store.health().await.unwrap().schema, Some((101, 101)));
}

#[tokio::test]
async fn without_pgvector_health_reports_what_waits() {
    let Some(place) = Postgres::fresh().await else { return };
    // A user who owns the schema but can create neither schemas nor extensions.
    let role = format!("{}_user", place.database.name);
    place
        .database
        .run(&format!("CREATE ROLE {role} LOGIN; CREATE SCHEMA gatehouse AUTHORIZATION {role}"))
        .await;
    let url = place.database.url().replace("gatehouse@", &format!("{role}@"));
    let embedder: Arc<dyn Embedder> = TestEmbedder::new("test/one", 64);
    let server = PostgresConfig::parse(&url).unwrap();
    let store = ArtifactStore::postgres(server, limits(1 << 30), clock(), Some(embedder));
    store.put(&LOCAL, draft("text", "yeast")).await.unwrap();
    let embedding = store.health().await.unwrap().embedding.unwrap();
    assert_eq!(embedding.waiting, 1);
    assert!(embedding.failing.unwrap().contains("CREATE EXTENSION vector"));
    drop(store);
    place.database.run(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn swept_artifacts_are_in_no_table() {
    let Some(place) = Postgres::fresh().await else { return };
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&place, &embedder);
    shelf.put(draft("short", "yeast")).await;
    until_complete(&shelf).await;
    shelf.clock.advance(3 * HOUR);
    assert_eq!(shelf.store.sweep().await, Ok(1));
    for table in ["artifact", "artifact_text", "artifact_block", "item", "item_vector"] {
        let rows = format!("SELECT count(*) FROM gatehouse.{table}");
        assert_eq!(place.database.number(&rows).await, 0, "{table}");
    }
}

#[tokio::test]
async fn pages_and_artifacts_live_side_by_side() {
    let Some(place) = Postgres::fresh().await else { return };
    let embedder = TestEmbedder::new("test/one", 64);
    let shelf = shelf_by_meaning(&place, &embedder);
    let id = shelf.put(draft("x", "yeast")).await.id;
    until_complete(&shelf).await;
    let model: Arc<dyn Embedder> = embedder.clone();
    let graph = graph_on(&place.database.url(), Setup { embedder: Some(model), ..Setup::of(WikiRoots::Any) });
    assert!(graph.wait_for_vectors(Duration::from_secs(60)).await);
    assert_eq!(graph.health().await.unwrap().items, 0);
    assert_eq!((embedder.documents(), shelf.find("leaven").await), (1, vec![id]));
}

#[tokio::test]
async fn texts_whose_ids_would_be_the_same_get_longer_ones() {
    let Some(place) = Postgres::fresh().await else { return };
    let shelf = shelf(&place);
    let first = shelf.put(draft("first", "")).await.id;
    let digits = shelf.put(draft("second", "")).await.id;
    shelf.store.delete(&LOCAL, &digits).await.unwrap();
    // Force the collision: finding two texts with twelve equal digits would take days.
    place.database.run(&format!("UPDATE gatehouse.artifact SET id = '{digits}' WHERE id = '{first}'")).await;
    let second = shelf.put(draft("second", "")).await.id;
    assert!(second.starts_with(&digits) && second.len() == digits.len() + 4, "{second}");
    assert_eq!((shelf.text(&digits).await, shelf.text(&second).await), ("first".into(), "second".into()));
    shelf.clock.advance(3 * HOUR);
    assert_eq!(shelf.put(draft("second", "")).await.id, digits);
}

#[tokio::test]
async fn newer_and_older_schemas_are_refused_and_not_touched() {
    let Some(place) = Postgres::fresh().await else { return };
    let old = shelf(&place);
    old.put(draft("x", "")).await;
    for (version, reason) in OTHER_VERSIONS {
        let set = format!("UPDATE gatehouse.schema_version SET version = {version} WHERE part = 'artifacts'");
        place.database.run(&set).await;
        for shelf in [&old, &shelf(&place)] {
            let faults = [
                shelf.store.put(&LOCAL, draft("y", "")).await.unwrap_err(),
                shelf.store.sweep().await.unwrap_err(),
                shelf.store.health().await.unwrap_err(),
            ];
            for fault in faults {
                assert!(fault.message.contains(reason) && fault.hint.is_some(), "{fault}");
            }
        }
    }
    assert_eq!(place.database.number("SELECT count(*) FROM gatehouse.artifact").await, 1);
}

#[tokio::test]
async fn a_stopped_server_is_unavailable_until_it_runs_again() {
    let Some(mut database) = Database::breakable().await else { return };
    let open = |url: &str| {
        let mut server = PostgresConfig::parse(url).unwrap();
        server.times.first_pause = Duration::ZERO;
        server.times.longest_pause = Duration::ZERO;
        ArtifactStore::postgres(server, limits(1 << 30), clock(), None)
    };
    let (here, there) = (open(&database.url()), open(&database.url()));
    let kept = here.put(&LOCAL, draft("kept", "bread")).await.unwrap();
    database.server.as_mut().unwrap().crash();
    for store in [&here, &there] {
        let fault = store.put(&LOCAL, draft("lost", "")).await.unwrap_err();
        assert_eq!(fault.kind, FaultKind::Unavailable);
        assert!(fault.message.starts_with("artifact store 'postgres' at 127.0.0.1"), "{fault}");
        assert!(store.read(&LOCAL, &kept.id, &ArtifactPart::Whole).await.is_err());
        assert!(store.sweep().await.is_err());
    }
    database.server.as_mut().unwrap().run();
    for store in [&here, &there] {
        assert_eq!(store.read(&LOCAL, &kept.id, &ArtifactPart::Whole).await.unwrap().text, "kept");
        assert_eq!(store.search(&LOCAL, "bread", 5).await.unwrap().len(), 1);
    }
}
