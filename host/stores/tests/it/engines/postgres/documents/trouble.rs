//! Server failures as seen by callers, for tables of gatehouse and of another program.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::{
        DocumentReader as _,
        documents::{DocumentStore as _, SearchMode},
    },
};
use gatehouse_stores::{DocumentLibrary, DocumentTables, PostgresConfig};

use super::{super::server::Database, Postgres, existing, library_on, library_with};
use crate::{
    document_behaviours::{add, file, put, shelf},
    engines::{DocumentFixture as _, Fixture as _},
};

/// Opens a library that retries without delay and has short timeouts.
fn hasty(url: &str) -> DocumentLibrary {
    let mut config = PostgresConfig::parse(url).unwrap();
    config.times.first_pause = Duration::ZERO;
    config.times.longest_pause = Duration::ZERO;
    config.times.connect = Duration::from_secs(2);
    library_with(config, DocumentTables::default(), None)
}

/// Checks that the fault names the store and its address, and returns the cause.
fn cause(fault: &Fault, address: &str) -> String {
    assert_eq!(fault.kind, FaultKind::Unavailable, "{fault:?}");
    assert!(fault.hint.is_some(), "{fault:?}");
    let start = format!("document store 'postgres' at {address}: ");
    let cause = fault.message.strip_prefix(&start);
    cause.unwrap_or_else(|| panic!("{} does not begin with {start}", fault.message)).to_owned()
}

async fn asked(library: &DocumentLibrary) -> Result<usize, Fault> {
    Ok(library.search("shelf", "yeast", SearchMode::Text, 5).await?.hits.len())
}

const WAITING: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gatehouse'
    AND datname = current_database() AND wait_event_type = 'Lock'";

#[tokio::test]
async fn a_server_that_starts_late_or_dies_in_a_search_is_reconnected() {
    for foreign in [false, true] {
        let Some(mut database) = Database::breakable().await else { return };
        let (url, address) = (database.url(), database.address());
        if foreign {
            existing::fill(&database, &[existing::TSVECTOR]).await;
        }
        database.server.as_mut().unwrap().crash();
        let library = Arc::new(hasty(&url));
        for fault in [asked(&library).await.unwrap_err(), library.health().await.unwrap_err()] {
            assert!(cause(&fault, &address).contains("refused") && fault.retryable, "{fault:?}");
        }
        database.server.as_mut().unwrap().run();
        let table = if foreign { "repository_files" } else { "gatehouse.file" };
        if !foreign {
            put(&library, "shelf").await;
            add(&library, vec![file("a.md", "yeast")]).await;
        }
        assert!(asked(&library).await.unwrap() > 0);
        let held = database.connect().await;
        held.batch_execute(&format!("BEGIN; LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")).await.unwrap();
        let call = tokio::spawn({
            let library = Arc::clone(&library);
            async move { asked(&library).await }
        });
        let client = database.connect().await;
        let waits = async {
            while client.query_one(WAITING, &[]).await.unwrap().get::<_, i64>(0) == 0 {
                tokio::task::yield_now().await;
            }
        };
        tokio::time::timeout(Duration::from_secs(20), waits).await.unwrap();
        database.server.as_mut().unwrap().crash();
        let message = cause(&call.await.unwrap().unwrap_err(), &address);
        assert!(
            message.contains("stopping") || message.contains("lost") || message.contains("reset"),
            "{message}"
        );
        database.server.as_mut().unwrap().run();
        assert!(asked(&library).await.unwrap() > 0);
    }
}

#[tokio::test]
async fn a_wrong_password_is_reported_but_not_shown() {
    let Some(database) = Database::breakable().await else { return };
    database
        .run("SET password_encryption = 'scram-sha-256'; ALTER ROLE gatehouse PASSWORD 'the right one'")
        .await;
    let server = database.server.as_ref().unwrap();
    server.hba("host all all 127.0.0.1/32 scram-sha-256\n");
    let url = format!("postgres://gatehouse:wr0ng@127.0.0.1:{}/{}", server.port, database.name);
    // The server reloads its rules with a delay.
    let refused = async {
        loop {
            match hasty(&url).health().await {
                Err(fault) => return fault,
                Ok(_) => tokio::task::yield_now().await,
            }
        }
    };
    let fault = tokio::time::timeout(Duration::from_secs(20), refused).await.unwrap();
    assert!(cause(&fault, &database.address()).contains("rejected the user or password"), "{fault:?}");
    assert!(!format!("{fault:?}").contains("wr0ng") && !fault.retryable);
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended_on_the_server() {
    let Some(database) = Database::fresh().await else { return };
    existing::fill(&database, &[existing::TSVECTOR]).await;
    let mut config = PostgresConfig::parse(&database.url()).unwrap();
    config.times.statement = Duration::from_millis(300);
    let library = library_with(config, DocumentTables::Existing, None);
    assert!(asked(&library).await.unwrap() > 0);
    let held = database.connect().await;
    held.batch_execute("BEGIN; LOCK TABLE repository_files IN ACCESS EXCLUSIVE MODE").await.unwrap();
    let fault = asked(&library).await.unwrap_err();
    assert!(cause(&fault, &database.address()).contains("timed out"), "{fault:?}");
    held.batch_execute("ROLLBACK").await.unwrap();
    assert!(asked(&library).await.unwrap() > 0);
}

#[tokio::test]
async fn a_read_only_server_is_searched_and_not_changed() {
    let Some(place) = Postgres::fresh().await else { return };
    let library = shelf(&place).await;
    add(&library, vec![file("a.md", "yeast")]).await;
    let database = &place.database;
    database.run(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name)).await;
    let library = place.open_documents(None);
    assert_eq!(asked(&library).await.unwrap(), 1);
    let fault = library.change("shelf", vec![file("b.md", "x")], vec![]).await.unwrap_err();
    assert!(cause(&fault, &database.address()).starts_with("the server is read-only"), "{fault:?}");
    assert_eq!(library.heads("shelf").await.unwrap().len(), 1);
}

#[tokio::test]
async fn missing_tables_are_created_again() {
    let Some(place) = Postgres::fresh().await else { return };
    let library = shelf(&place).await;
    place.database.run("DROP SCHEMA gatehouse CASCADE").await;
    assert!(library.repositories(false).await.is_err());
    assert_eq!(library.repositories(false).await.unwrap(), []);
}

#[tokio::test]
async fn a_user_without_rights_hears_which_are_missing() {
    let Some(database) = Database::fresh().await else { return };
    let role = format!("{}_guest", database.name);
    database.run(&format!("CREATE ROLE {role} LOGIN")).await;
    let url = database.url().replace("gatehouse@", &format!("{role}@"));
    let fault = library_on(&url, None).repositories(false).await.unwrap_err();
    assert!(fault.message.contains("the user lacks a privilege"), "{fault:?}");
    assert!(fault.hint.unwrap().contains("CREATE on the database"));
    existing::fill(&database, &[existing::TSVECTOR]).await;
    let library = library_on(&url, None);
    let fault = asked(&library).await.unwrap_err();
    assert!(fault.message.contains("the user lacks a privilege"), "{fault:?}");
    assert!(fault.hint.unwrap().contains("SELECT on the tables"));
    // Read access is sufficient.
    database.run(&format!("GRANT SELECT ON repositories, repository_files TO {role}")).await;
    assert!(asked(&library).await.unwrap() > 0);
    drop(library);
    database.run(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}")).await;
}

#[tokio::test]
async fn without_pgvector_words_find_documents_and_health_reports_it() {
    let Some(database) = Database::fresh().await else { return };
    let role = format!("{}_user", database.name);
    database.run(&format!("CREATE ROLE {role} LOGIN; CREATE SCHEMA gatehouse AUTHORIZATION {role}")).await;
    let url = database.url().replace("gatehouse@", &format!("{role}@"));
    let library = library_on(&url, Some(crate::embedder::TestEmbedder::new("test/one", 64)));
    put(&library, "shelf").await;
    add(&library, vec![file("a.md", "yeast")]).await;
    let found = library.search("shelf", "yeast", SearchMode::Semantic, 5).await.unwrap();
    assert_eq!(found.hits.len(), 1);
    assert!(
        found.note.unwrap().starts_with("Searched by words only: the database has no extension 'vector'")
    );
    let health = library.health().await.unwrap();
    assert!(health.embedding.unwrap().failing.unwrap().contains("CREATE EXTENSION vector"));
    drop(library);
    database.run(&format!("DROP OWNED BY {role} CASCADE; DROP ROLE {role}")).await;
}
