//! Timing of listings: the first does not block clients, and reported changes cause another.

use gatehouse_core::Source as _;

use super::*;

async fn list_now(
    server: &Arc<DownstreamServer>,
) -> Result<Arc<Listing>, gatehouse_core::source::PendingListing> {
    server.list_now(&Map::new()).await.expect("an index")
}

#[tokio::test(start_paused = true)]
async fn a_first_listing_does_not_block_callers_and_is_announced() {
    let (server, connector) = server();
    connector.slow.store(true, Ordering::SeqCst);
    let mut changes = server.shared.changes.subscribe();
    let began = Instant::now();
    let pending = list_now(&server).await.expect_err("nothing is known");
    assert_eq!((began.elapsed(), pending.until), (Duration::ZERO, Some(began + Duration::from_secs(5))));
    assert_eq!(pending.reason, "server 's' is still starting");
    // All callers share the attempt, which outlasts their wait.
    pass(20).await;
    assert!(
        list_now(&server)
            .await
            .expect_err("still starting")
            .until
            .is_some_and(|until| until < Instant::now())
    );
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 1);
    connector.slow.store(false, Ordering::SeqCst);
    changes.changed().await.expect("the listing is announced");
    assert_eq!(list_now(&server).await.expect("a listing").tools.len(), 5);
    assert_eq!(server.status().state, ServerState::Connected);
}

#[tokio::test(start_paused = true)]
async fn a_failed_first_listing_is_retried_while_a_client_needs_it() {
    let (server, connector) = server();
    connector.down.store(true, Ordering::SeqCst);
    let mut changes = server.shared.changes.subscribe();
    let pending = list_now(&server).await.expect_err("down");
    changes.changed().await.expect("the failure is announced");
    let failed = list_now(&server).await.expect_err("down");
    assert!(failed.until.is_none() && failed.reason.contains("it is down"), "{failed:?}");
    drop(failed);
    connector.down.store(false, Ordering::SeqCst);
    changes.changed().await.expect("a later attempt is announced");
    assert!(list_now(&server).await.is_ok());
    drop(pending);

    let (server, connector) = super::server();
    connector.down.store(true, Ordering::SeqCst);
    drop(list_now(&server).await.expect_err("down"));
    pass(3_600).await;
    let attempts = connector.attempts.load(Ordering::SeqCst);
    pass(3_600).await;
    assert_eq!(connector.attempts.load(Ordering::SeqCst), attempts, "no client needs it any more");
}

#[tokio::test(start_paused = true)]
async fn a_server_stops_after_its_first_listing_for_a_gate() {
    let (server, connector) = server();
    let listed = join_all((0..8).map(|_| server.wait_until_listed())).await;
    assert!(listed.iter().all(Result::is_ok), "{listed:?}");
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 1, "all share it");
    pass(1).await;
    assert_eq!(connector.closed.load(Ordering::SeqCst), 1);
    assert_eq!(server.status().state, ServerState::Dormant);
}

#[tokio::test(start_paused = true)]
async fn a_flood_of_changes_causes_few_listings() {
    let (server, connector) = server();
    server.ensure_listed().await.expect("listed");
    let lists = || connector.lists.load(Ordering::SeqCst);
    let began = Instant::now();
    while began.elapsed() < Duration::from_secs(60) {
        for _ in 0..1_000 {
            server.lists_changed();
        }
        pass(1).await;
    }
    assert!(lists() <= 10, "{} listings", lists());
    // The last change is listed, and a later one is listed immediately.
    pass(200).await;
    let before = lists();
    server.lists_changed();
    pass(1).await;
    assert_eq!(lists(), before + 1);
}

#[tokio::test(start_paused = true)]
async fn an_index_failure_is_not_a_server_failure() {
    let (server, connector) = server();
    connector.broken_index.store(true, Ordering::SeqCst);
    for _ in 0..10 {
        let fault = call(&server, "work").await.expect_err("nothing is known of it");
        assert_eq!(fault.message, "the index is full");
        server.list_isolated().await.expect_err("the same isolated");
    }
    let status = server.status();
    assert_eq!((status.state, status.circuit), (ServerState::Connected, CircuitState::Closed));
    assert_eq!(
        connector.attempts.load(Ordering::SeqCst),
        11,
        "one shared, and one for each isolated listing"
    );
    connector.broken_index.store(false, Ordering::SeqCst);
    assert!(call(&server, "work").await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn omitted_tools_are_reported_by_refreshes_and_listings() {
    let (server, _) = server();
    let report = server.refresh(false).await.expect("a first listing");
    let [(name, omitted)] = report.omitted.as_slice() else { panic!("{report:?}") };
    assert_eq!((name.as_str(), omitted.count), ("s", 3));
    for part in
        ["tool 'work' is listed twice", "'wrong name' has hidden characters", "'no_object': its input schema"]
    {
        assert!(omitted.to_string().contains(part), "{omitted}");
    }
    let again = server.refresh(true).await.expect("a second listing");
    assert_eq!(again.omitted, report.omitted);
    let known = server.known().await.expect("an index").expect("a listing");
    assert_eq!(known.listing.omitted, *omitted);
}
