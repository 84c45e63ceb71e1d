//! Failures of Neo4j: not started, stopped, unresponsive, locked, newer schema. Calls fail with a clear message and
//! recover with the server.

use std::{sync::atomic::Ordering, time::Duration};

use gatehouse_core::{
    FaultKind,
    http::Secret,
    ports::{KnowledgeGraph as _, knowledge::PageChanges},
};
use gatehouse_stores::{WeaviateNeo4jConfig, WikiKnowledge, WikiRoots};

use super::{
    WeaviateNeo4j, house, impatient, in_the_end,
    proxy::{Proxy, Way},
    seen,
};
use crate::support::{House, counts, index, page};

fn through(house: &House<WeaviateNeo4j>, proxy: &Proxy) -> WikiKnowledge {
    house.engine.graph(WikiRoots::Any, |config| {
        impatient(config);
        config.neo4j_uri = format!("bolt://{}", proxy.address);
    })
}

#[tokio::test]
async fn a_server_that_starts_late_is_found() {
    let Some(house) = house().await else { return };
    let proxy = Proxy::closed(house.engine.database.bolt).await;
    let graph = through(&house, &proxy);
    let start =
        format!("knowledge engine 'neo4j' at bolt://{}/{}: ", proxy.address, house.engine.database.name);
    let faults = [
        graph.page("x").await.unwrap_err(),
        graph.search("x", &Default::default(), 5).await.unwrap_err(),
        graph.index(Some(house.wiki()), Default::default(), &|_, _| {}).await.unwrap_err(),
        graph.health().await.unwrap_err(),
    ];
    for fault in faults {
        assert_eq!((fault.kind, fault.retryable), (FaultKind::Unavailable, true));
        assert!(
            fault.message.starts_with(&start) && fault.message.contains("connection refused"),
            "{}",
            fault.message
        );
        assert!(fault.hint.unwrap().contains("NEO4J_URI"));
    }
    proxy.open().await;
    in_the_end(async || graph.page("x").await).await;
    assert_eq!(counts(&index(&graph, &house.wiki()).await), (5, 0, 0, 0));
}

#[tokio::test]
async fn an_open_circuit_breaker_sends_no_request() {
    let Some(house) = house().await else { return };
    let proxy = Proxy::to(house.engine.database.bolt).await;
    let graph = house.engine.graph(WikiRoots::Any, |config| {
        impatient(config);
        config.neo4j_uri = format!("bolt://{}", proxy.address);
        config.timing.first_pause = Duration::from_secs(3600);
        config.timing.longest_pause = Duration::from_secs(3600);
    });
    proxy.make(Way::Swallows);
    assert!(graph.page("x").await.unwrap_err().message.contains("no answer within 700ms"));
    let before = proxy.connections.load(Ordering::SeqCst);
    let fault = graph.page("x").await.unwrap_err();
    assert!(fault.message.contains("; next try in 3600 s"), "{}", fault.message);
    assert_eq!(proxy.connections.load(Ordering::SeqCst), before);
}

#[tokio::test]
async fn connections_that_were_cut_or_fell_silent_are_made_anew() {
    let Some(house) = house().await else { return };
    let proxy = Proxy::to(house.engine.database.bolt).await;
    let graph = through(&house, &proxy);
    index(&graph, &house.wiki()).await;
    proxy.close().await;
    assert!(graph.page("Rest Tip").await.is_err());
    proxy.open().await;
    in_the_end(async || graph.page("Rest Tip").await).await;
    proxy.make(Way::Swallows);
    let fault = graph.page("Rest Tip").await.unwrap_err();
    assert!(fault.message.contains("no answer within"), "{}", fault.message);
    proxy.make(Way::Open);
    in_the_end(async || graph.page("Rest Tip").await).await;
    assert_eq!(in_the_end(async || seen(&graph).await).await, (5, None));
}

#[tokio::test]
async fn a_wrong_password_is_reported_and_never_shown() {
    let Some(house) = house().await else { return };
    let wrong = |config: &mut WeaviateNeo4jConfig| config.neo4j_password = Secret::new("not-the-password");
    let graph = house.engine.graph(WikiRoots::Any, wrong);
    for fault in [graph.page("x").await.unwrap_err(), graph.page("x").await.unwrap_err()] {
        assert!(fault.message.contains("login failed"), "{}", fault.message);
        assert!(!format!("{fault:?}").contains("not-the-password"));
    }
    let fault = house.engine.graph(WikiRoots::Any, wrong).health().await.unwrap_err();
    assert_eq!((fault.kind, fault.retryable), (FaultKind::Unavailable, false));
    assert!(fault.hint.unwrap().contains("NEO4J_PASSWORD"));
}

#[tokio::test]
async fn an_edit_that_cannot_be_committed_leaves_page_and_file_as_they_were() {
    let Some(house) = house().await else { return };
    let proxy = Proxy::to(house.engine.database.bolt).await;
    let graph = through(&house, &proxy);
    index(&graph, &house.wiki()).await;
    let file = "workflows/Acme_Bread_Baking.md";
    let (before, stored) = (house.read(file), page(&graph, "Bread_Baking").await);
    let edit = PageChanges { overview: Some("Loaves.".into()), ..PageChanges::default() };
    proxy.make(Way::CutsCommits);
    let fault = graph.patch("Workflow/Acme_Bread_Baking", edit.clone(), None, true).await.unwrap_err();
    assert_eq!(fault.kind, FaultKind::Unavailable, "{fault:?}");
    assert_eq!(house.read(file), before);
    proxy.make(Way::Open);
    in_the_end(async || graph.page("Bread_Baking").await).await;
    assert_eq!(page(&graph, "Bread_Baking").await, stored);
    let edited =
        in_the_end(async || graph.patch("Workflow/Acme_Bread_Baking", edit.clone(), None, true).await).await;
    assert_eq!((edited.changed, house.read(file) == before), (vec!["overview".to_owned()], false));
}

#[tokio::test]
async fn hosts_that_write_at_the_same_time_come_one_after_the_other() {
    let Some(house) = house().await else { return };
    let graphs: Vec<_> = (0..4).map(|_| std::sync::Arc::new(house.open())).collect();
    let wiki = house.wiki();
    let runs: Vec<_> = graphs
        .iter()
        .map(|graph| {
            let (graph, wiki) = (std::sync::Arc::clone(graph), wiki.clone());
            tokio::spawn(async move { index(&graph, &wiki).await })
        })
        .collect();
    let mut added = 0;
    for run in runs {
        let report = run.await.unwrap();
        added += report.added;
        assert_eq!(report.added + report.unchanged, 5, "{report:?}");
    }
    assert_eq!(added, 5);
    for graph in graphs {
        assert!(graph.wait_for_vectors(Duration::from_secs(20)).await);
        assert_eq!(seen(&graph).await.unwrap(), (5, None));
    }
}

#[tokio::test]
async fn newer_and_older_graphs_are_refused_and_not_touched() {
    let Some(house) = house().await else { return };
    index(&house.open(), &house.wiki()).await;
    for (version, reason) in [(999, "version 999 is newer than 101"), (2, "version 2 is from before")] {
        house.engine.database.cypher(&format!("MATCH (s:WikiState) SET s.schema = {version}"));
        let graph = house.open();
        let faults = [
            graph.page("x").await.unwrap_err(),
            graph.search("x", &Default::default(), 5).await.unwrap_err(),
            graph.index(Some(house.wiki()), Default::default(), &|_, _| {}).await.unwrap_err(),
            graph.health().await.unwrap_err(),
        ];
        for fault in faults {
            assert!(fault.message.contains(reason) && !fault.retryable, "{}", fault.message);
        }
    }
}

#[tokio::test]
async fn links_wait_for_pages_that_go_and_come_back() {
    let Some(house) = house().await else { return };
    let graph = house.open();
    index(&graph, &house.wiki()).await;
    let file = house.wiki().join("heuristics/Acme_Rest_Tip.md");
    let text = std::fs::read(&file).unwrap();
    let before = graph.neighbors("Workflow/Acme_Bread_Baking").await.unwrap();
    std::fs::remove_file(&file).unwrap();
    let report = index(&graph, &house.wiki()).await;
    assert_eq!((report.removed, report.unresolved_links.len()), (1, 3));
    assert_eq!(graph.neighbors("Heuristic/Acme_Rest_Tip").await.unwrap(), []);
    std::fs::write(&file, text).unwrap();
    assert_eq!(index(&graph, &house.wiki()).await.unresolved_links.len(), 1);
    assert_eq!(graph.neighbors("Workflow/Acme_Bread_Baking").await.unwrap(), before);
}
