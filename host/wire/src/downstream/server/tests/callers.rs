//! Servers with a login and a connection for each principal.

use gatehouse_core::{Caller, Source as _, catalog::SourceListing, http::Secret};
use tempfile::TempDir;

use super::*;

/// Calls of the test with two principals.
const CALLS: usize = 100_000;

fn own_logins() -> (TempDir, Arc<Logins>) {
    let folder = tempfile::tempdir().expect("a folder");
    let logins = Arc::new(Logins::new(folder.path().join("logins"), Arc::new(FixedClock)));
    (folder, logins)
}

async fn sign_in(logins: &Logins, name: &str) {
    let id = LoginId::from_principal("s", &Principal::Named(name.into()));
    logins.store_token(&id, URL, &Secret::new(name.replace(':', "-"))).await.expect("a login");
}

async fn catalog(server: &Arc<DownstreamServer>) -> Arc<Catalog> {
    let listing = server.list(&Map::new()).await.expect("a listing");
    let (source, params) = (Arc::clone(server) as _, Map::new());
    let offers = vec![SourceListing { source, listing, params, problem: None, pending: None }];
    Arc::new(Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), offers).expect("a catalog"))
}

async fn call_as(catalog: &Arc<Catalog>, caller: &Arc<Caller>, tool: &str) -> Outcome {
    let pipeline = Arc::new(Pipeline::new(Vec::new()));
    let mut context = CallContext::new(&pipeline, Arc::clone(catalog), format!("s__{tool}"));
    context.caller = Arc::clone(caller);
    Call::new(context, json!({})).run().await
}

fn text(outcome: Outcome) -> String {
    let Ok(Reply { content, .. }) = outcome else { panic!("{outcome:?}") };
    let [ContentPart::Text(text)] = &*content else { panic!("{content:?}") };
    text.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn interleaved_calls_of_two_people_never_swap_connections() {
    let (_folder, logins) = own_logins();
    let (server, connector) = server_with(ServerLogin::Caller, Arc::clone(&logins));
    let people = ["key:ann", "key:bob"].map(Caller::named);
    for caller in &people {
        sign_in(&logins, caller.principal.as_str()).await;
    }
    text(call_as(&catalog(&server).await, &people[0], "sign_in").await);
    let catalog = catalog(&server).await;
    let callers = (0..8).map(|n| {
        let (catalog, caller) = (Arc::clone(&catalog), Arc::clone(&people[n % 2]));
        tokio::spawn(async move {
            for _ in 0..CALLS / 8 {
                assert_eq!(text(call_as(&catalog, &caller, "work").await), caller.principal.as_str());
            }
        })
    });
    for caller in join_all(callers).await {
        caller.expect("its own connection, every time");
    }
    assert_eq!(connector.calls.load(Ordering::SeqCst) as usize, CALLS);
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 2, "a connection each");
    assert_eq!(connector.lists.load(Ordering::SeqCst), 1, "the second uses the listing of the first");
}

#[tokio::test]
async fn a_caller_without_a_login_is_refused_and_nobody_elses_is_used() {
    let (_folder, logins) = own_logins();
    let (server, connector) = server_with(ServerLogin::Caller, Arc::clone(&logins));
    sign_in(&logins, "key:ann").await;
    let (ann, bob) = (Caller::named("key:ann"), Caller::named("key:bob"));
    let before = catalog(&server).await;
    let names: Vec<&str> = before.names().collect();
    assert_eq!(names, ["s__sign_in"], "the server lists its tools only to people whom it knows");
    let refused = call_as(&before, &bob, "sign_in").await.expect_err("no login").in_one_line();
    let advice =
        "server 's' requires your own login. Ask the operator to run: gatehouse servers login s --as key:bob";
    assert_eq!(refused, advice);
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 0);
    assert!(text(call_as(&before, &ann, "sign_in").await).starts_with("Signed in to server 's'"));
    let catalog = catalog(&server).await;
    assert_eq!(text(call_as(&catalog, &ann, "work").await), "key:ann");
    let refused = call_as(&catalog, &bob, "work").await.expect_err("no login").in_one_line();
    assert_eq!(refused, advice);
    assert_eq!(server.status().state, ServerState::Connected);
    sign_in(&logins, "key:bob").await;
    let late = text(call_as(&before, &bob, "sign_in").await);
    assert!(late.starts_with("Signed in to server 's'"), "his catalog still has the tool: {late}");
    assert_eq!(text(call_as(&catalog, &bob, "work").await), "key:bob", "at once");
    // The local user manages the host: its login is the shared one.
    assert_eq!(text(call_as(&catalog, &Caller::local(), "work").await), "done");
}

#[tokio::test]
async fn a_server_that_is_removed_closes_the_connections_of_all() {
    let (_folder, logins) = own_logins();
    let (server, connector) = server_with(ServerLogin::Caller, Arc::clone(&logins));
    for name in ["key:ann", "key:bob"] {
        sign_in(&logins, name).await;
        let own = server.signed_in(&Principal::Named(name.into())).await.expect("a login");
        own.connection().await.expect("a connection");
    }
    server.close().await;
    assert_eq!(connector.closed.load(Ordering::SeqCst), 2);
    let closed = server.signed_in(&Principal::Named("key:ann".into())).await.map(drop).expect_err("closed");
    assert!(closed.message.contains("was removed or redefined"), "{closed}");
}

#[tokio::test(start_paused = true)]
async fn one_persons_failing_login_does_not_stop_the_other() {
    let (_folder, logins) = own_logins();
    let (server, connector) = server_with(ServerLogin::Caller, Arc::clone(&logins));
    let [ann, bob] = ["key:ann", "key:bob"].map(Caller::named);
    for caller in [&ann, &bob] {
        sign_in(&logins, caller.principal.as_str()).await;
    }
    text(call_as(&catalog(&server).await, &ann, "sign_in").await);
    let catalog = catalog(&server).await;
    connector.down.store(true, Ordering::SeqCst);
    for _ in 0..4 {
        assert!(call_as(&catalog, &bob, "work").await.is_err());
    }
    let open = call_as(&catalog, &bob, "work").await.expect_err("open");
    assert!(open.message.starts_with("circuit breaker open for 's'"), "{open}");
    assert_eq!(text(call_as(&catalog, &ann, "work").await), "key:ann", "her connection is another");
}
