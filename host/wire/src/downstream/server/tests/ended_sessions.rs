//! Sessions that the server ends.

use super::*;

fn counted(connector: &ScriptedConnector) -> [u32; 3] {
    [&connector.attempts, &*connector.calls, &*connector.lists].map(|count| count.load(Ordering::SeqCst))
}

#[tokio::test(start_paused = true)]
async fn a_request_that_was_not_run_is_repeated_in_the_next_session() {
    let (server, connector) = server();
    assert!(call(&server, "work").await.is_ok());
    connector.session.fetch_add(1, Ordering::SeqCst);
    assert!(call(&server, "work").await.is_ok());
    assert_eq!(counted(&connector), [2, 2, 2]);
    pass(1).await;
    assert_eq!(connector.closed.load(Ordering::SeqCst), 1, "the connection of the first session");
}

#[tokio::test(start_paused = true)]
async fn a_call_that_the_server_began_is_not_repeated() {
    let (server, connector) = server();
    let fault = call(&server, "end_session").await.expect_err("it has begun");
    assert_eq!(fault.message, "server 's' ended the session during the call");
    assert!(!fault.retryable && fault.hint.is_some_and(|hint| hint.contains("may have taken effect")));
    assert_eq!(counted(&connector), [1, 1, 1]);
    assert!(call(&server, "work").await.is_ok(), "the next call has the next session");
    assert_eq!(counted(&connector), [2, 2, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_listing_goes_on_in_the_next_session() {
    let (server, connector) = server();
    assert!(call(&server, "work").await.is_ok());
    connector.session.fetch_add(1, Ordering::SeqCst);
    assert!(server.refresh(false).await.is_ok());
    assert_eq!(counted(&connector)[0], 2);
    connector.session.fetch_add(1, Ordering::SeqCst);
    assert!(server.list_again().await);
    assert_eq!(counted(&connector)[0], 3);
    assert!(call(&server, "work").await.is_ok());
    assert_eq!(counted(&connector)[0], 3, "the connection is that of the listing");
}

#[tokio::test(start_paused = true)]
async fn a_request_that_no_session_runs_is_repeated_three_times() {
    let (server, connector) = server();
    assert!(server.listing(&Principal::Local).await.is_ok());
    let before = connector.calls.load(Ordering::SeqCst);
    let fault = call(&server, "refuse_session").await.expect_err("refused");
    assert!(fault.message.contains("it ended the session before it ran the request"), "{fault:?}");
    assert_eq!(connector.calls.load(Ordering::SeqCst) - before, 4);
    assert!(call(&server, "work").await.is_ok());
}
