//! States of the server: other schema versions, other encodings, no pgvector, concurrent hosts.

use std::time::Duration;

use gatehouse_core::{
    outcome::FaultKind,
    ports::{
        KnowledgeGraph as _,
        knowledge::{IndexOptions, PageFilters},
    },
};
use gatehouse_stores::WikiRoots;

use super::{OTHER_VERSIONS, Postgres, graph_on};
use crate::{
    embedder::TestEmbedder,
    engines::{Fixture as _, Setup},
    support::{House, counts, index, page},
};

async fn house() -> Option<House<Postgres>> {
    Some(House::small(Postgres::fresh().await?))
}

#[tokio::test]
async fn newer_and_older_schemas_are_refused_and_not_touched() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    let old = house.open();
    index(&old, &house.wiki()).await;
    for (version, reason) in OTHER_VERSIONS {
        let set = format!("UPDATE gatehouse.schema_version SET version = {version} WHERE part = 'knowledge'");
        database.run(&set).await;
        // A host that was running before the change, and a new one.
        for graph in [&old, &house.open()] {
            let faults = [
                graph.search("yeast", &PageFilters::default(), 5).await.unwrap_err(),
                graph.index(Some(house.wiki()), IndexOptions::default(), &|_, _| {}).await.unwrap_err(),
                graph.health().await.unwrap_err(),
            ];
            for fault in faults {
                assert_eq!(fault.kind, FaultKind::Unavailable);
                assert!(fault.message.contains(reason), "{fault:?}");
                assert!(fault.hint.is_some() && !fault.retryable);
            }
        }
    }
    assert_eq!(database.number("SELECT count(*) FROM gatehouse.page").await, 5);
}

#[tokio::test]
async fn missing_tables_are_created_again() {
    let Some(house) = house().await else { return };
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    house.engine.database.run("DROP SCHEMA gatehouse CASCADE").await;
    assert!(graph.stats().await.is_err());
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (5, 0, 0, 0));
}

#[tokio::test]
async fn a_database_that_cannot_hold_every_text_is_refused() {
    let Some(house) = house().await else { return };
    let latin = "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0";
    let database = house.engine.database.beside(latin).await;
    let graph = graph_on(&database.url(), Setup::of(WikiRoots::Any));
    let fault = graph.stats().await.unwrap_err();
    assert!(fault.message.contains("LATIN1") && fault.hint.unwrap().contains("UTF8"));
}

#[tokio::test]
async fn without_pgvector_words_find_pages_and_health_reports_it() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    // A user who owns the schema but can create neither schemas nor extensions.
    let role = format!("{}_user", database.name);
    database.run(&format!("CREATE ROLE {role} LOGIN; CREATE SCHEMA gatehouse AUTHORIZATION {role}")).await;
    let url = database.url().replace("gatehouse@", &format!("{role}@"));
    let setup = Setup { embedder: Some(TestEmbedder::new("test/one", 64)), ..Setup::of(WikiRoots::Any) };
    let graph = graph_on(&url, setup.clone());
    assert_eq!(counts(&index(&graph, &house.wiki()).await).0, 5);
    let found = graph.search("yeast", &PageFilters::default(), 5).await.unwrap();
    assert!(!found.hits.is_empty());
    assert!(
        found.note.unwrap().starts_with("Searched by words only: the database has no extension 'vector'")
    );
    let embedding = graph.health().await.unwrap().embedding.unwrap();
    assert_eq!(embedding.waiting, 5);
    assert!(embedding.failing.unwrap().contains("CREATE EXTENSION vector"));
    // An added extension is used without a restart. Grant the privilege first, because the background task can check at
    // any time.
    database.run(&format!("CREATE SCHEMA other; GRANT USAGE ON SCHEMA other TO {role}")).await;
    database.run("CREATE EXTENSION vector SCHEMA other").await;
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 0, 5, 0));
    let embedding = graph.health().await.unwrap().embedding.unwrap();
    assert_eq!((embedding.waiting, embedding.failing), (0, None));
    drop(graph);
    database.run(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn a_user_without_rights_hears_which_are_missing() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    let role = format!("{}_guest", database.name);
    database.run(&format!("CREATE ROLE {role} LOGIN")).await;
    let graph =
        graph_on(&database.url().replace("gatehouse@", &format!("{role}@")), Setup::of(WikiRoots::Any));
    let fault = graph.stats().await.unwrap_err();
    assert!(fault.message.contains("the user lacks a privilege"), "{fault:?}");
    assert!(fault.hint.unwrap().contains("CREATE on the database"));
    drop(graph);
    database.run(&format!("DROP ROLE {role}")).await;
}

#[tokio::test]
async fn queries_with_unencodable_characters_still_run() {
    let Some(house) = house().await else { return };
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let domain = PageFilters { domains: vec!["A\0B".into()], ..PageFilters::default() };
    assert_eq!(graph.search("yeast\0dough", &domain, 5).await.unwrap().hits, []);
    assert!(!graph.search("yeast\0dough", &PageFilters::default(), 5).await.unwrap().hits.is_empty());
    assert_eq!(graph.neighbors("Principle/\0").await.unwrap(), []);
}

#[tokio::test]
async fn two_hosts_that_start_and_write_together_take_turns() {
    let Some(house) = house().await else { return };
    let houses: Vec<_> = (0..4)
        .map(|_| {
            let (graph, wiki) = (house.open(), house.wiki());
            tokio::spawn(async move { index(&graph, &wiki).await })
        })
        .collect();
    let mut added = 0;
    for host in houses {
        let report = host.await.unwrap();
        assert_eq!(report.added + report.unchanged, 5, "{report:?}");
        added += report.added;
    }
    assert_eq!((added, house.open().stats().await.unwrap().pages), (5, 5));
}

#[tokio::test]
async fn a_migration_waits_for_a_write_before_it_locks_a_table() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    index(&house.open(), &house.wiki()).await;
    // A write of another host, which has read the pages and will change the items.
    let writer = database.connect().await;
    let gate = i32::from_be_bytes(*b"gate");
    let begin = format!("BEGIN; SELECT pg_advisory_xact_lock({gate}, 1); SELECT key FROM gatehouse.page");
    writer.batch_execute(&begin).await.unwrap();
    let graph = house.open_by_meaning(&TestEmbedder::new("test/one", 64));
    let vectors = tokio::spawn(async move { graph.wait_for_vectors(Duration::from_secs(60)).await });
    let waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())";
    while database.number(waiting).await == 0 {
        tokio::task::yield_now().await;
    }
    writer.batch_execute("UPDATE gatehouse.item SET version = version; COMMIT").await.unwrap();
    assert!(vectors.await.unwrap());
}

#[tokio::test]
async fn a_migration_does_not_wait_for_writes_to_other_tables() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    index(&house.open(), &house.wiki()).await;
    // A write of documents on another host.
    let writer = database.connect().await;
    let gate = i32::from_be_bytes(*b"gate");
    writer.batch_execute(&format!("BEGIN; SELECT pg_advisory_xact_lock({gate}, 2)")).await.unwrap();
    let graph = house.open_by_meaning(&TestEmbedder::new("test/one", 64));
    assert!(graph.wait_for_vectors(Duration::from_secs(60)).await);
    writer.batch_execute("COMMIT").await.unwrap();
}

#[tokio::test]
async fn texts_of_any_length_are_stored_and_found() {
    let Some(house) = house().await else { return };
    let title = "Long ".repeat(5_000);
    let target = "x".repeat(5_000);
    let words: String = (0..200_000).map(|n| format!("word{n} ")).collect();
    let text =
        format!("# Principle: {title}\n[[domain::{target}]] [[related::Principle:{target}]]\n{words}\n");
    house.write("principles/Acme_Long.md", &text);
    let graph = house.open();
    assert_eq!(counts(&index(&graph, &house.wiki()).await).0, 6);
    let hits = graph.search("word7", &PageFilters::default(), 1).await.unwrap().hits;
    assert_eq!(hits[0].page.id, "Principle/Acme_Long");
    assert_eq!(page(&graph, title.trim()).await.id, "Principle/Acme_Long");
}
