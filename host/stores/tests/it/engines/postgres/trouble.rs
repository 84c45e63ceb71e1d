//! Server failures as seen by callers, and recovery without a restart.

use std::{sync::Arc, time::Duration};

use gatehouse_core::{
    outcome::{Fault, FaultKind},
    ports::{
        KnowledgeGraph as _,
        knowledge::{IndexOptions, PageChanges, PageFilters},
    },
};
use gatehouse_stores::{PostgresConfig, WikiKnowledge, WikiRoots};
use tokio_postgres::Client;

use super::{Postgres, graph_with, server::Database};
use crate::{
    engines::Setup,
    support::{
        House, counts, index, page,
        proxy::{Network, Proxy},
    },
};

pub(super) async fn house() -> Option<House<Postgres>> {
    Some(House::small(Postgres { database: Database::breakable().await? }))
}

/// Opens a graph that retries without delay and has short timeouts.
pub(super) fn hasty(url: &str) -> WikiKnowledge {
    let mut config = PostgresConfig::parse(url).unwrap();
    config.times.first_pause = Duration::ZERO;
    config.times.longest_pause = Duration::ZERO;
    config.times.connect = Duration::from_secs(2);
    graph_with(config, Setup::of(WikiRoots::Any))
}

fn through(proxy: &Proxy, house: &House<Postgres>) -> String {
    house.engine.database.url_at(proxy.port())
}

pub(super) async fn asked(graph: &WikiKnowledge) -> Result<usize, Fault> {
    Ok(graph.search("yeast dough", &PageFilters::default(), 5).await?.hits.len())
}

/// Checks that the fault names the engine and its address, and returns the cause.
fn cause(fault: &Fault, address: &str) -> String {
    assert_eq!(fault.kind, FaultKind::Unavailable, "{fault:?}");
    assert!(fault.hint.is_some(), "{fault:?}");
    let start = format!("knowledge engine 'postgres' at {address}: ");
    let cause = fault.message.strip_prefix(&start);
    cause.unwrap_or_else(|| panic!("{} does not begin with {start}", fault.message)).to_owned()
}

/// Blocks all access to pages until the client is dropped.
async fn lock(database: &Database) -> Client {
    let client = database.connect().await;
    client.batch_execute("BEGIN; LOCK TABLE gatehouse.page IN ACCESS EXCLUSIVE MODE").await.unwrap();
    client
}

const WORKING: &str = "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'gatehouse'
    AND datname = current_database() AND state = 'active'";

async fn until(database: &Database, sql: &str, wanted: i64) {
    let client = database.connect().await;
    let reached = async {
        while client.query_one(sql, &[]).await.unwrap().get::<_, i64>(0) != wanted {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), reached).await.expect(sql);
}

#[tokio::test]
async fn a_server_that_starts_late_is_found_without_a_restart() {
    let Some(mut house) = house().await else { return };
    let address = house.engine.database.address();
    house.engine.database.server.as_mut().unwrap().crash();
    let graph = hasty(&house.engine.database.url());
    for fault in [asked(&graph).await.unwrap_err(), graph.health().await.unwrap_err()] {
        assert!(cause(&fault, &address).contains("refused"), "{fault:?}");
        assert!(fault.retryable);
    }
    house.engine.database.server.as_mut().unwrap().run();
    assert_eq!(counts(&index(&graph, &house.wiki()).await).0, 5);
    assert!(asked(&graph).await.unwrap() > 0);
}

#[tokio::test]
async fn a_server_that_dies_during_a_call_is_reported_and_reconnected() {
    let Some(mut house) = house().await else { return };
    let graph = Arc::new(hasty(&house.engine.database.url()));
    index(&graph, &house.wiki()).await;
    let held = lock(&house.engine.database).await;
    let call = tokio::spawn({
        let graph = Arc::clone(&graph);
        async move { asked(&graph).await }
    });
    until(&house.engine.database, WORKING, 1).await;
    house.engine.database.server.as_mut().unwrap().crash();
    let fault = call.await.unwrap().unwrap_err();
    let message = cause(&fault, &house.engine.database.address());
    assert!(
        message.contains("stopping") || message.contains("lost") || message.contains("reset"),
        "{message}"
    );
    drop(held);
    house.engine.database.server.as_mut().unwrap().run();
    assert!(asked(&graph).await.unwrap() > 0);
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 0, 5, 0));
}

#[tokio::test]
async fn a_wrong_password_is_reported_but_not_shown() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    database
        .run("SET password_encryption = 'scram-sha-256'; ALTER ROLE gatehouse PASSWORD 'the right one'")
        .await;
    database.server.as_ref().unwrap().hba("host all all 127.0.0.1/32 scram-sha-256\n");
    let server = database.server.as_ref().unwrap();
    let url = |password: &str| {
        format!("postgres://gatehouse:{password}@127.0.0.1:{}/{}", server.port, database.name)
    };
    // The server reloads its rules with a delay.
    let refused = async {
        loop {
            match hasty(&url("wr0ng")).health().await {
                Err(fault) => return fault,
                Ok(_) => tokio::task::yield_now().await,
            }
        }
    };
    let fault = tokio::time::timeout(Duration::from_secs(20), refused).await.unwrap();
    assert!(cause(&fault, &database.address()).contains("rejected the user or password"), "{fault:?}");
    assert!(!format!("{fault:?}").contains("wr0ng") && !fault.retryable);
    let none = hasty(&format!("postgres://gatehouse@127.0.0.1:{}/{}", server.port, database.name));
    assert!(cause(&none.health().await.unwrap_err(), &database.address()).contains("password"));
    let graph = hasty(&url("the%20right%20one"));
    assert_eq!(counts(&index(&graph, &house.wiki()).await).0, 5);
}

#[tokio::test]
async fn while_a_server_is_silent_calls_fail_at_once_and_it_is_left_alone() {
    let Some(house) = house().await else { return };
    let proxy = Proxy::to(house.engine.database.server.as_ref().unwrap().port, Network::Silent).await;
    let mut config = PostgresConfig::parse(&through(&proxy, &house)).unwrap();
    config.times.connect = Duration::from_millis(300);
    config.times.first_pause = Duration::from_secs(3600);
    config.times.longest_pause = Duration::from_secs(3600);
    let address = config.address().to_owned();
    let graph = graph_with(config, Setup::of(WikiRoots::Any));
    let fault = asked(&graph).await.unwrap_err();
    assert!(cause(&fault, &address).contains("no answer within 0.3 s"), "{fault:?}");
    assert_eq!(proxy.accepted(), 1);
    for _ in 0..100 {
        let fault = asked(&graph).await.unwrap_err();
        let message = cause(&fault, &address);
        assert!(message.contains("no answer within") && message.contains("next try in 3"), "{message}");
    }
    assert_eq!(proxy.accepted(), 1);
}

#[tokio::test]
async fn a_connection_that_goes_silent_ends_the_call_and_no_other() {
    let Some(house) = house().await else { return };
    let proxy = Proxy::to(house.engine.database.server.as_ref().unwrap().port, Network::Whole).await;
    let mut config = PostgresConfig::parse(&through(&proxy, &house)).unwrap();
    config.times.connect = Duration::from_millis(500);
    config.times.statement = Duration::from_millis(500);
    config.times.first_pause = Duration::ZERO;
    let address = config.address().to_owned();
    let graph = graph_with(config, Setup::of(WikiRoots::Any));
    index(&graph, &house.wiki()).await;
    proxy.turn(Network::Silent);
    let fault = asked(&graph).await.unwrap_err();
    assert!(cause(&fault, &address).contains("no answer within"), "{fault:?}");
    proxy.turn(Network::Whole);
    assert!(asked(&graph).await.unwrap() > 0);
}

#[tokio::test]
async fn a_statement_that_takes_too_long_is_ended_on_the_server() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    let mut config = PostgresConfig::parse(&database.url()).unwrap();
    config.times.statement = Duration::from_millis(300);
    let graph = graph_with(config, Setup::of(WikiRoots::Any));
    index(&graph, &house.wiki()).await;
    let held = lock(database).await;
    let fault = asked(&graph).await.unwrap_err();
    assert!(cause(&fault, &database.address()).contains("timed out"), "{fault:?}");
    assert_eq!(database.number(WORKING).await, 0);
    drop(held);
    assert!(asked(&graph).await.unwrap() > 0);
}

#[tokio::test]
async fn calls_beyond_the_connections_wait_and_then_say_so() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    let mut config = PostgresConfig::parse(&database.url()).unwrap();
    config.times.wait = Duration::from_millis(300);
    let graph = Arc::new(graph_with(config, Setup::of(WikiRoots::Any)));
    index(&graph, &house.wiki()).await;
    let held = lock(database).await;
    let calls: Vec<_> = (0..8)
        .map(|_| {
            let graph = Arc::clone(&graph);
            tokio::spawn(async move { asked(&graph).await })
        })
        .collect();
    until(database, WORKING, 8).await;
    let fault = asked(&graph).await.unwrap_err();
    let message = cause(&fault, &database.address());
    assert_eq!(message, "all 8 connections have been in use for 0.3 s");
    held.batch_execute("ROLLBACK").await.unwrap();
    for call in calls {
        assert!(call.await.unwrap().unwrap() > 0);
    }
    assert!(asked(&graph).await.unwrap() > 0);
}

#[tokio::test]
async fn a_call_that_is_given_up_frees_its_connection_and_the_server() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    let graph = Arc::new(hasty(&database.url()));
    index(&graph, &house.wiki()).await;
    let held = lock(database).await;
    for _ in 0..20 {
        let call = tokio::spawn({
            let graph = Arc::clone(&graph);
            async move { asked(&graph).await }
        });
        until(database, WORKING, 1).await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        until(database, WORKING, 0).await;
    }
    drop(held);
    assert!(asked(&graph).await.unwrap() > 0);
}

#[tokio::test]
async fn a_read_only_server_is_searched_and_not_changed() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    index(&house.open(), &house.wiki()).await;
    database.run(&format!("ALTER DATABASE {} SET default_transaction_read_only = on", database.name)).await;
    let graph = house.open();
    assert!(asked(&graph).await.unwrap() > 0);
    let file = "workflows/Acme_Bread_Baking.md";
    let before = house.read(file);
    let changes = PageChanges { overview: Some("New.".into()), ..PageChanges::default() };
    let fault = graph.patch("Workflow/Acme_Bread_Baking", changes, None, true).await.unwrap_err();
    assert!(cause(&fault, &database.address()).starts_with("the server is read-only"), "{fault:?}");
    assert_eq!(house.read(file), before);
    house.write("principles/Acme_New.md", "# Principle: New\n");
    let fault = graph.index(Some(house.wiki()), IndexOptions::default(), &|_, _| {}).await.unwrap_err();
    assert!(cause(&fault, &database.address()).starts_with("the server is read-only"), "{fault:?}");
    assert_eq!(graph.stats().await.unwrap().pages, 5);
}

#[tokio::test]
async fn a_full_disk_leaves_the_pages_and_the_file_as_they_were() {
    let Some(house) = house().await else { return };
    let database = &house.engine.database;
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    // Simulate a full disk: the third write fails.
    database
        .run(
            "CREATE SEQUENCE writes; CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
                IF nextval('writes') > 2 THEN
                    RAISE EXCEPTION 'could not extend file: No space left on device' USING ERRCODE = 'disk_full';
                END IF; RETURN NEW; END $$;
             CREATE TRIGGER full_disk BEFORE INSERT ON gatehouse.page_text FOR EACH ROW EXECUTE FUNCTION full_disk()",
        )
        .await;
    let before = page(&graph, "Workflow/Acme_Bread_Baking").await;
    let options = IndexOptions { clear_existing: true, ..IndexOptions::default() };
    let fault = graph.index(Some(house.wiki()), options, &|_, _| {}).await.unwrap_err();
    assert!(cause(&fault, &database.address()).starts_with("the server's disk is full"), "{fault:?}");
    assert_eq!(page(&graph, "Workflow/Acme_Bread_Baking").await, before);
    let file = house.read("workflows/Acme_Bread_Baking.md");
    let changes = PageChanges { overview: Some("New.".into()), ..PageChanges::default() };
    assert!(graph.patch("Workflow/Acme_Bread_Baking", changes, None, true).await.is_err());
    assert_eq!(house.read("workflows/Acme_Bread_Baking.md"), file);
    database.run("DROP TRIGGER full_disk ON gatehouse.page_text").await;
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (0, 0, 5, 0));
}
