//! Lifecycle of a server with a scripted connector and a paused clock.

use std::sync::{
    atomic::{AtomicBool, AtomicU32, Ordering},
    mpsc,
};

use async_trait::async_trait;
use futures_util::future::join_all;
use gatehouse_core::{
    Call, CallContext, Catalog, CompiledPreset, ContentPart, Fault, Outcome, Pipeline, Principal, Reply,
    completion::{CompletionRequest, Completions},
    outcome::EmbeddedResource,
    ports::{
        servers::{CircuitState, ServerLogin, ServerTransport},
        tool_index::{
            ChangePolicy, IndexedListing, KnownListing, PendingChange, ToolFilter, ToolSearchRequest,
            ToolSearchResult,
        },
    },
    prompt::FilledPrompt,
    resource::ResourcePage,
    tool::ToolSpec,
};
use serde_json::{Map, Value, json};

use scripted::{FixedClock, MemoryIndex};

use super::*;
use crate::downstream::connection::CallFailure;

mod callers;
mod ended_sessions;
mod listings;
mod scripted;

const URL: &str = "http://localhost";

/// Blocking task that keeps the paused clock still while a thread checks a listing.
type Hold = Arc<Mutex<Option<mpsc::Sender<()>>>>;

#[derive(Default)]
pub(super) struct ScriptedConnector {
    attempts: AtomicU32,
    down: AtomicBool,
    slow: AtomicBool,
    closed: Arc<AtomicU32>,
    calls: Arc<AtomicU32>,
    lists: Arc<AtomicU32>,
    hold: Hold,
    broken_index: Arc<AtomicBool>,
    /// Number of the valid session. Connections have that of their start.
    session: Arc<AtomicU32>,
}

struct ScriptedConnection {
    login: LoginId,
    lists: Arc<AtomicU32>,
    hold: Hold,
    calls: Arc<AtomicU32>,
    closed: Arc<AtomicU32>,
    session: (u32, Arc<AtomicU32>),
    end: watch::Sender<Option<String>>,
}

pub(super) fn server() -> (Arc<DownstreamServer>, Arc<ScriptedConnector>) {
    let logins = Logins::new(std::env::temp_dir().join("gatehouse-no-logins"), Arc::new(FixedClock));
    server_with(ServerLogin::Shared, Arc::new(logins))
}

fn server_with(login: ServerLogin, logins: Arc<Logins>) -> (Arc<DownstreamServer>, Arc<ScriptedConnector>) {
    let connector = Arc::new(ScriptedConnector::default());
    let index = MemoryIndex(Mutex::default(), connector.hold.clone(), connector.broken_index.clone());
    let shared = ServerContext {
        connector: Arc::clone(&connector) as _,
        logins,
        index: Arc::new(index),
        clock: Arc::new(FixedClock),
        connection_timeout: None,
        retries: 3,
        changes: watch::Sender::new(0),
        connected_clients: Arc::default(),
        shown_generation: Mutex::default(),
        runtime: None,
    };
    let definition = ServerDefinition {
        name: "s".into(),
        transport: ServerTransport::Http { url: URL.into(), headers: Vec::new() },
        tags: Vec::new(),
        timeout: Duration::from_secs(30),
        max_timeout: Duration::from_secs(3_600),
        connection_timeout: None,
        preconnect: false,
        idle_timeout: Some(Duration::from_secs(600)),
        on_change: ChangePolicy::Warn,
        login,
        tools: std::collections::BTreeMap::new(),
        secrets: Vec::new(),
        missing: Vec::new(),
    };
    (DownstreamServer::new(definition, Arc::new(shared)), connector)
}

async fn call(server: &Arc<DownstreamServer>, tool: &str) -> Outcome {
    call_in(server, tool, false).await
}

async fn call_in(server: &Arc<DownstreamServer>, tool: &str, isolated: bool) -> Outcome {
    let listed = server.listing(&Principal::Local).await?;
    let offers = vec![gatehouse_core::catalog::SourceListing {
        source: listed.source,
        listing: listed.listing,
        params: Map::new(),
        problem: None,
        pending: None,
    }];
    let catalog =
        Arc::new(Catalog::build(&CompiledPreset::from_sources("p", Vec::new()), offers).expect("a catalog"));
    let pipeline = Arc::new(Pipeline::new(Vec::new()));
    let mut context = CallContext::new(&pipeline, catalog, format!("s__{tool}"));
    context.isolated = isolated;
    Call::new(context, json!({})).run().await
}

#[tokio::test(start_paused = true)]
async fn concurrent_calls_share_one_connection() {
    let (server, connector) = server();
    assert_eq!(server.status().state, ServerState::Configured);
    let calls = join_all((0..8).map(|_| call(&server, "work"))).await;
    assert!(calls.iter().all(Result::is_ok), "{calls:?}");
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 1);
    assert_eq!(connector.calls.load(Ordering::SeqCst), 8);
    let status = server.status();
    assert_eq!((status.state, status.connected_at), (ServerState::Connected, Some(12)));
}

#[tokio::test]
async fn invalid_tools_do_not_affect_the_others() {
    let (server, _) = server();
    let listing = server.listing(&Principal::Local).await.expect("a listing").listing;
    let names: Vec<&str> = listing.tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["work", "die", "refuse", "end_session", "refuse_session"]);
}

#[tokio::test(start_paused = true)]
async fn failed_attempts_open_the_circuit_and_one_success_closes_it() {
    let (server, connector) = server();
    connector.down.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let fault = call(&server, "work").await.expect_err("down");
    assert!(fault.message.contains("cannot reach server 's': it is down"), "{fault}");
    assert_eq!(
        (connector.attempts.load(Ordering::SeqCst), began.elapsed()),
        (3, Duration::from_secs(3)),
        "1 s, then 2 s"
    );
    tokio::time::advance(Duration::from_millis(17_700)).await;
    let fault = call(&server, "work").await.expect_err("open");
    assert!(fault.message.starts_with("circuit breaker open for 's'; next attempt in 12.3 s."), "{fault}");
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 3, "nothing is attempted");
    assert_eq!(server.status().recovery_in_ms, Some(12_300));
    tokio::time::advance(Duration::from_millis(12_300)).await;
    connector.down.store(false, Ordering::SeqCst);
    assert!(call(&server, "work").await.is_ok());
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 4, "exactly one");
    assert_eq!(server.status().circuit, CircuitState::Closed);
}

#[tokio::test(start_paused = true)]
async fn an_attempt_ends_at_its_time_limit() {
    let (server, connector) = server();
    connector.slow.store(true, Ordering::SeqCst);
    let began = Instant::now();
    let fault = call(&server, "work").await.expect_err("slow");
    assert!(fault.message.contains("it did not answer within 30 s"), "{fault}");
    assert_eq!(began.elapsed(), Duration::from_secs(93), "three attempts and the waits between them");
}

async fn pass(seconds: u64) {
    tokio::time::sleep_until(Instant::now() + Duration::from_secs(seconds)).await;
}

#[tokio::test(start_paused = true)]
async fn an_idle_server_stops_and_the_next_call_starts_it_again() {
    let (server, connector) = server();
    assert!(call(&server, "work").await.is_ok());
    pass(599).await;
    assert!(call(&server, "work").await.is_ok());
    pass(599).await;
    assert_eq!(server.status().state, ServerState::Connected, "a call counts");
    pass(2).await;
    assert_eq!(server.status().state, ServerState::Dormant);
    assert_eq!(connector.closed.load(Ordering::SeqCst), 1);
    assert!(server.known().await.expect("an index").is_some(), "its listing is still known");
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 1);
    assert!(call(&server, "work").await.is_ok());
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_was_sent_is_never_sent_again() {
    let (server, connector) = server();
    let fault = call(&server, "die").await.expect_err("dead");
    assert!(fault.message.contains("did not answer: exit status: 3") && !fault.retryable, "{fault}");
    assert_eq!(connector.calls.load(Ordering::SeqCst), 1);
    assert_eq!(server.status().state, ServerState::Failed);
    assert!(call(&server, "work").await.is_ok(), "and the next call starts it again");
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 2);
}

#[tokio::test(start_paused = true)]
async fn error_answers_do_not_open_the_circuit() {
    let (server, _) = server();
    for _ in 0..10 {
        let fault = call(&server, "refuse").await.expect_err("refused");
        assert_eq!(fault.message, "server 's' answered: not today (-32603)");
    }
    assert_eq!(server.status().circuit, CircuitState::Closed);
}

#[tokio::test(start_paused = true)]
async fn an_isolated_call_has_its_own_connection_which_ends_with_it() {
    let (server, connector) = server();
    server.list_isolated().await.expect("listed");
    server.list_isolated().await.expect("known");
    let counted = || (connector.attempts.load(Ordering::SeqCst), connector.closed.load(Ordering::SeqCst));
    assert_eq!(counted(), (1, 1), "a known listing is not requested again");
    assert_eq!(server.status().state, ServerState::Configured, "it does not run");
    for tool in ["work", "refuse", "die"] {
        let before = counted();
        let outcome = call_in(&server, tool, true).await;
        assert_eq!(outcome.is_ok(), tool == "work", "{outcome:?}");
        assert_eq!(counted(), (before.0 + 1, before.1 + 1));
    }
    assert_eq!(server.status().state, ServerState::Configured, "one that dies says nothing of another");
    assert!(call(&server, "work").await.is_ok());
    let many = join_all((0..20).map(|_| call_in(&server, "work", true))).await;
    assert!(many.iter().all(Result::is_ok), "{many:?}");
    assert_eq!(counted(), (25, 24), "the one that all share is still there");
}

#[tokio::test(start_paused = true)]
async fn isolated_calls_obey_the_circuit_breaker() {
    let (server, connector) = server();
    server.list_isolated().await.expect("listed");
    connector.down.store(true, Ordering::SeqCst);
    for _ in 0..3 {
        let fault = call_in(&server, "work", true).await.expect_err("down");
        assert!(fault.message.contains("cannot reach server 's': it is down"), "{fault}");
    }
    let fault = call_in(&server, "work", true).await.expect_err("open");
    assert!(fault.message.starts_with("circuit breaker open for 's';"), "{fault}");
    assert_eq!(connector.attempts.load(Ordering::SeqCst), 4, "one to list, three that failed");
    tokio::time::advance(Duration::from_secs(31)).await;
    connector.down.store(false, Ordering::SeqCst);
    connector.slow.store(true, Ordering::SeqCst);
    let mut probe = Box::pin(call_in(&server, "work", true));
    assert!(tokio::time::timeout(Duration::from_millis(100), &mut probe).await.is_err());
    let fault = call_in(&server, "work", true).await.expect_err("probing");
    assert!(
        fault.message.contains("'s'; another call is trying to connect. Last error: it is down"),
        "{fault}"
    );
    let given_up = tokio::time::timeout(Duration::from_secs(1), probe).await;
    assert!(given_up.is_err(), "{given_up:?}");
    connector.slow.store(false, Ordering::SeqCst);
    assert!(call_in(&server, "work", true).await.is_ok(), "an attempt that is given up decides nothing");
}
